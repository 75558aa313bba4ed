"""Seeded simulation of whole producers, in the frame of tests/sim/chaos: its own plan, world, applications and rules.

`python -m tests.sim run --producer --seeds 0:100`; a seed is called `producer:17` by replay, shrink and diff.
"""
