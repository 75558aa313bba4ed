"""The consumer group.

application_side.py       listener, commits and changes of assignment          application
events.py                 the events that are about the group                  both
coordinator_client.py     coordinator, membership and commits together         network
membership.py             one member: what both protocols have in common       network
states.py                 their transition tables                              network
classic_membership.py     JoinGroup, SyncGroup, Heartbeat                      network
classic_generation.py     what one generation consists of                      network
consumer_membership.py    ConsumerGroupHeartbeat (KIP-848)                     network
reconciliation.py         target, reported and applied partitions of a member  network
heartbeat_contents.py     what a heartbeat reports                             network
topic_ids.py              names of topics that are known by id                 network
timers.py                 heartbeats, session, pauses between polls, back-off  network
leave.py                  the request that ends a membership                   network
commits.py                OffsetCommit, in order                               network
committed_offsets.py      OffsetFetch                                          network
"""
