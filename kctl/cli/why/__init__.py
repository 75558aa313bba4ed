"""`kctl why` and `kctl doctor`: output of the findings of `kctl.why`."""
