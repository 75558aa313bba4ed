"""An export on disk.

`manifests.py` has the list of an export's files, `folder.py` ownership and commits, `range_files.py` writing,
`exported_records.py` reading. Plans import only `manifests.py` and `folder.py`, which need no pyarrow.
"""
