"""One program a client, each asking a faulty peer for its topics again and again and printing how each try ended."""
