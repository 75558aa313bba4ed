"""Package of `kctl profile`."""
