"""Durations as users write them, by the name under which commands know them; kctl/client/durations.py owns them."""

from kctl.client.durations import LONGEST_MS, LONGEST_TEXT, UNITS_MS, parse_duration_ms, show_duration

__all__ = ["LONGEST_MS", "LONGEST_TEXT", "UNITS_MS", "parse_duration_ms", "show_duration"]
