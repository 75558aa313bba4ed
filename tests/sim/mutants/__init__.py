"""Bugs planted in the client, each to be found by the seeded simulation: they test the tests."""
