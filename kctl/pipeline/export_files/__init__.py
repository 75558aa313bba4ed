"""An export on disk: its folder and manifests, the files of a range, and its records read back.

`manifests.py` says what is part of an export, `folder.py` who owns it and how a round comes in, `range_files.py`
writes, `exported_records.py` reads, `json_lines.py` is the one form that is not Parquet's. What is here knows neither
Spark nor Kafka; `manifests.py` and `folder.py` are all that a plan needs, and import no pyarrow.
"""
