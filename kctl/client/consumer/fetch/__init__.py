"""Fetching: what is read from which broker, and the reports about partitions without records."""
