"""Decoding of keys and values into columns: `plan` on the driver, `record_decoding` in tasks."""
