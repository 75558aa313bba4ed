"""Keys and values as columns: a transform between the rows of a range and whatever writes or shows them.

`plan` resolves the schemas to read by on the driver; `record_decoding` runs in tasks. Knows neither Spark nor files.
"""
