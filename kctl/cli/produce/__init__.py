"""kctl produce: the command, the run, and what could not be delivered."""
