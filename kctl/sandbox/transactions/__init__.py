"""Transactions of a sandbox. Source: KIP-98, KIP-360, KIP-890.

coordinator.py is the entry point, transaction.py the state of one transactional ID, markers.py its markers,
group_offsets.py its committed offsets, and verification.py the check before an append.
"""
