"""Seeded simulation of whole clients: a plan of faults and clients, a run in virtual time, a history, a checker.

`python -m tests.sim` is its command line. A failing seed is replayed by one command and shrunk to few faults; what
was shrunk is kept in tests/sim/corpus and run by `make sim`.
"""
