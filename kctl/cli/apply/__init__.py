"""Package of `kctl apply`."""
