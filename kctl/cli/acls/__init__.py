"""Package of `kctl acls`."""
