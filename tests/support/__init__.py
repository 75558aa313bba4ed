"""Helpers of several tiers: real brokers, wrong peers, and scenarios that run on every cluster. No tests."""
