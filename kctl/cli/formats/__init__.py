"""Output formats of records and tables. Pure."""
