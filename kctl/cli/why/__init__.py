"""`kctl why` and `kctl doctor`: the findings of `kctl.why` for people and for machines."""
