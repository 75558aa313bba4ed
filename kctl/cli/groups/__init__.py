"""Package of `kctl groups`."""
