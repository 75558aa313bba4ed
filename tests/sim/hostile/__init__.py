"""Conversations of whole commands with brokers that answer anything: mutated, shuffled, or much of it."""
