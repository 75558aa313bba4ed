"""Integers in text of brokers, tables and files. Python raises for more than 4,300 digits."""

LONGEST_INTEGER = 19
"""Number of digits of the largest offset."""


def integer_in(text: str) -> int | None:
    """Return the integer of up to 19 decimal digits, or None for other texts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_INTEGER else None
