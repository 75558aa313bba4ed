"""Output of `kctl why` and `kctl doctor`. `kctl.why` finds the problems."""
