"""Exports into tables of Iceberg and Delta: `table_files.py` writes, `iceberg.py` and `delta.py` commit."""
