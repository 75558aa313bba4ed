"""Group coordinators: the classic protocol, the consumer protocol of KIP-848, and committed offsets.

coordinator.py is the entry point. outbox.py sends responses that must wait.
"""
