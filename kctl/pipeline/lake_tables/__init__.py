"""Exports into Iceberg and Delta tables: `table_files.py` writes files, `iceberg.py` and `delta.py` commit them."""
