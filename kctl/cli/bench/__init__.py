"""Package of `kctl bench`."""
