"""The command line: one file for each command, and shared parts. Knows the client; the client knows nothing of it."""
