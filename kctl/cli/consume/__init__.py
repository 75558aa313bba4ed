"""kctl consume: the command, what was asked, and the ways of reading."""
