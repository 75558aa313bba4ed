"""The words of `kctl produce`'s options: headers, rates, delimiters. Shown by tests/unit/cli/test_produce.py."""

import re
from typing import TYPE_CHECKING

from kctl.cli.formats.escapes import parse_literal

if TYPE_CHECKING:
    from kctl.client.records import Header

_RATE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)/(ms|s|m|h)", re.ASCII)
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def parse_header(text: str) -> "Header":
    """Return name and value of `name=value`; `name=` has an empty value, `name` alone has null.

    Raises: ValueError: `name:value`, as some tools write it, and a header without a name.
    """
    name, equals, value = text.partition("=")
    if not equals and ":" in text:
        name, _, value = text.partition(":")
        raise ValueError(f"{text!r} has no =: write {name}={value} (-H NAME alone is a header with a null value)")
    if not name:
        raise ValueError(f"{text!r} has no name: write NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape") if equals else None


def parse_rate(text: str) -> float:
    """Return the records a second of a rate such as `500/s`, `2.5/s` or `30/m`.

    Raises: ValueError: it has no unit, or would never send anything.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        hint = f"; write {text}/s for records a second" if text.strip().isdecimal() else ""
        raise ValueError(f"{text!r} is not a rate: write it like 500/s, 2.5/s or 30/m{hint}")
    rate = float(match[1]) * 1000 / _UNITS_MS[match[2]]
    if not rate:
        raise ValueError(f"{text!r} would never send anything")
    return rate


def parse_delimiter(text: str) -> bytes:
    """Return the bytes that stand between two things.

    Raises: ValueError: an unknown escape, or nothing.
    """
    delimiter = parse_literal(text)
    if not delimiter:
        raise ValueError("an empty text separates nothing")
    return delimiter
