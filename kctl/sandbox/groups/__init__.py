"""Group coordinators: the classic protocol, the consumer protocol of KIP-848, and committed offsets.

coordinator.py is the entry point. classic.py and consumer.py implement one group each, with the tables in
classic_table.py and reconciliation.py. Responses that have to wait go through outbox.py, and timers.py has all
timeouts.
"""
