"""kctl probe: the command, the run and its verdict."""
