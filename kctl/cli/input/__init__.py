"""Input of `kctl produce`: conversion of bytes to records. Errors show the place in the input."""
