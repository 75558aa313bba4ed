"""What `kctl probe` shows: the live frame, the report, JSON objects and their differences."""
