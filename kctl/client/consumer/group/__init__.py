"""Consumer group.

application_side.py       listener, commits, and assignment changes            application
events.py                 events about the group                               both
coordinator_client.py     coordinator, membership, and commits together        network
membership.py             common part of both protocols                        network
states.py                 transition tables                                    network
classic_membership.py     JoinGroup, SyncGroup, Heartbeat                      network
classic_rebalance.py      one rebalance                                        network
classic_generation.py     requests and contents of a generation                network
consumer_membership.py    ConsumerGroupHeartbeat (KIP-848)                     network
reconciliation.py         target, reported, and applied partitions             network
heartbeat_contents.py     contents of KIP-848 heartbeats                       network
topic_ids.py              names of topics by id                                network
timers.py                 heartbeats, session, poll interval, backoff          network
leave.py                  request that ends a membership                       network
commits.py                OffsetCommit                                         network
commit_callbacks.py       callbacks of commit_async                            application
committed_offsets.py      OffsetFetch                                          network
"""
