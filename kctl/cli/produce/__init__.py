"""kctl produce: the command, the run, and the undelivered records."""
