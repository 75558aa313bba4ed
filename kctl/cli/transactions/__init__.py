"""Package of `kctl transactions`."""
