"""Group coordinators: the classic protocol, the consumer protocol of KIP-848, and the offsets groups commit.

coordinator.py is the front: which groups there are, who coordinates them, what they committed. classic.py and
consumer.py are one group each, with their literal tables in classic_table.py and reconciliation.py; a classic group has
its members in classic_roster.py, their timeouts in classic_sessions.py and its rebalance in classic_rebalance.py;
assignors.py shares partitions out; timers.py keeps every limit on the cluster's scheduler. Nothing here knows a
connection: answers that have to wait go through outbox.py.
"""
