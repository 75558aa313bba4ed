"""Package of `kctl consume`."""
