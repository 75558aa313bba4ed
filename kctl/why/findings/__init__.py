"""Findings: a module for each family, with pure functions from looks to findings."""
