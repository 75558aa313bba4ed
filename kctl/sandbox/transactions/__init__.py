"""Transactions of a sandbox. Source: KIP-98, KIP-360, KIP-890.

coordinator.py is the entry point.
"""
