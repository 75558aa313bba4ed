"""Connections and requests: from a list of nodes to responses. Each step has a timeout and events."""
