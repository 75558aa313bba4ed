"""Exports in object stores: S3, Google Cloud Storage, Azure. Imports obstore late, from the extra `lakes`."""
