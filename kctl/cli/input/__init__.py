"""Input of `kctl produce`: conversion of bytes to records."""
