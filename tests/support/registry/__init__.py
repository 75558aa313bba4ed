"""A schema registry for tests, with faults."""
