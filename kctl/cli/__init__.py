"""The command line: one file a command, shared parts beside them. Knows the client; the client knows nothing of it."""
