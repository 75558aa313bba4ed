"""Fetching of records, and reports about partitions that return no records."""
