"""Completion in shells: scripts made from the tree of commands, and the look-up of names behind them.

The scripts know commands, options and their words by heart and start no process for them. Names of topics, groups and
profiles come from `kctl __complete` (lookup.py), within a limit or not at all.
"""
