"""Package of `kctl partitions`."""
