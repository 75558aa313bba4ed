"""Fetching: requests to brokers, and reports about partitions without records."""
