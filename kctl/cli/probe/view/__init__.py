"""Output of `kctl probe`: live frame, reports and JSON objects."""
