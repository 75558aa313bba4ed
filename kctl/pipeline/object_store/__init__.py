"""Exports in object stores: S3, Google Cloud Storage, Azure. The import of obstore (extra `lakes`) is deferred."""
