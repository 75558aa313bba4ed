"""An export on disk: directory, manifests, files of ranges, and reading of exported records.

`manifests.py` has the list of an export's files, `folder.py` ownership and commits, `range_files.py` writing,
`exported_records.py` reading, and `json_lines.py` the format without Parquet. The package depends on neither Spark nor
Kafka. Plans need only `manifests.py` and `folder.py`, which do not import pyarrow.
"""
