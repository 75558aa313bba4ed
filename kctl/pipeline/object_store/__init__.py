"""Exports in object stores: S3, Google Cloud Storage, Azure."""
