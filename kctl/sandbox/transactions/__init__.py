"""Transactions of a sandbox: `coordinator.py` has all, `transaction.py` one, `markers.py` how they end in the logs,
`group_offsets.py` what they commit for groups, `verification.py` what a leader asks before it appends.

Source: KIP-98, KIP-360, KIP-890. Shown by tests/unit/sandbox/transactions and
tests/conformance/test_sandbox_transactions_against_kafka.py.
"""
