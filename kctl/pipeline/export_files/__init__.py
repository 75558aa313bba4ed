"""An export on disk: its folder and manifests, the files of a range, and its records read back.

`folder.py` says what is part of an export and how a round comes in, `range_files.py` writes, `exported_records.py`
reads, `json_lines.py` is the one form that is not Parquet's. What is here knows neither Spark nor Kafka; `folder.py` is
all that a plan needs, and imports no pyarrow. Shown by tests/unit/pipeline/export_files.
"""
