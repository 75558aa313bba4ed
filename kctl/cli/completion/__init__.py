"""Shell completion: scripts generated from the command tree, and names from `kctl __complete` (lookup.py)."""
