"""Consumer group: the classic protocol (classic_*.py) and KIP-848 (consumer_membership.py, reconciliation.py).

Modules belong to the network thread, except application_side.py and commit_callbacks.py (application thread) and
events.py (both).
"""
