"""Connections and requests: from a list of nodes to responses, each step with a timeout and events."""
