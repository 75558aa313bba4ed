"""Package of `kctl probe`."""
