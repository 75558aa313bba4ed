"""Entire commands with hostile brokers: mutated, reordered, or oversized responses."""
