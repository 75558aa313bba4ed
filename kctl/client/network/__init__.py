"""Connections to the nodes of a client, and their requests. Each step has a timeout and events."""
