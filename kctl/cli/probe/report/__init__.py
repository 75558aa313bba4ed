"""Package of `kctl probe report`."""
