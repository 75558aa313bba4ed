"""Package of `kctl produce`."""
