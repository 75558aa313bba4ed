"""`kctl acls`: rules that allow and deny."""
