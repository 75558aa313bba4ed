"""Transactions of a sandbox: `coordinator.py` has all, `transaction.py` one, `markers.py` how they end in the logs,
`group_offsets.py` what they commit for groups, `verification.py` what a leader asks before it appends.

Source: KIP-98, KIP-360, KIP-890.
"""
