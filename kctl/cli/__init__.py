"""The command line: one module for each command, and shared parts. The client does not depend on it."""
