"""kctl bench: the command, what was asked, the run and its report."""
