"""Decoding of keys and values into columns.

`plan` resolves the readers' schemas on the driver, `record_decoding` decodes in tasks. Depends on neither Spark nor
files.
"""
