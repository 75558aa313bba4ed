"""Shell completion: scripts generated from the command tree, and names from the cluster.

Scripts contain commands, options and their values. Names of topics, groups and profiles come from `kctl __complete`
(lookup.py).
"""
