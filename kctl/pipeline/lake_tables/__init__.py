"""Exports into Iceberg and Delta tables."""
