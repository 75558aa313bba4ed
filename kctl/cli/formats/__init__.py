"""Output formats of records and tables, without I/O."""
