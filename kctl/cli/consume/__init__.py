"""kctl consume: the command, its arguments, and the ways of reading."""
