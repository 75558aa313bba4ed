"""Schema decoding and encoding of keys and values for `kctl consume` and `kctl produce`."""
