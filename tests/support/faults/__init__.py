"""Peers that are not what a client hopes for, on real loopback sockets; used by tests and benchmarks."""
