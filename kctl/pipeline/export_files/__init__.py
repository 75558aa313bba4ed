"""An export on disk. Plans import only `manifests.py` and `folder.py`, which need no pyarrow."""
