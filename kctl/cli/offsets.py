"""Where to start reading: the grammar of `-o`.

    POSITION := start | end | N | -N | @TIME       aliases: beginning earliest oldest; latest newest
    TIME     := 13 digits (ms) | 9-10 digits (s) | YYYY-MM-DD | RFC 3339 | -DURATION (ago)

Knows the words only; `start_offsets.py` asks the brokers. Shown by tests/unit/cli/test_offsets.py.
"""

import re
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from kctl.cli.durations import parse_duration_ms

LARGEST_OFFSET = 2**63 - 1
LONGEST_TEXT = 64

_START = ("start", "beginning", "earliest", "oldest")
_END = ("end", "latest", "newest")
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_EPOCH_MS = re.compile(r"[0-9]{13}")
_EPOCH_S = re.compile(r"[0-9]{9,10}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII)
_EXAMPLES = "write start, end, 42, -10 (the last 10), @2024-05-01, @2024-05-01T12:00:00Z or @-1h"


class Edge(Enum):
    """One of the two ends of a partition."""

    START = "start"
    END = "end"


class Absolute(NamedTuple):
    """That offset."""

    offset: int


class Last(NamedTuple):
    """So many offsets before the end, in each partition."""

    back: int


class AtTime(NamedTuple):
    """The first record not older than that instant (milliseconds since the epoch)."""

    at_ms: int


Position = Edge | Absolute | Last | AtTime


def parse_position(text: str, wall_ms: int) -> Position:
    """Return where to start.

    Args: wall_ms: the present in milliseconds since the epoch, for `@-1h`.
    Raises: ValueError: saying what is wrong and how to write it.
    """
    word = text.strip()
    if len(word) > LONGEST_TEXT:
        raise ValueError(f"an offset of {len(word)} characters is too long: {_EXAMPLES}")
    if word.lower() in _START:
        return Edge.START
    if word.lower() in _END:
        return Edge.END
    if word.startswith("@"):
        return AtTime(_parse_time(word[1:], wall_ms))
    if _NUMBER.fullmatch(word):
        number = int(word)
        if abs(number) > LARGEST_OFFSET:
            raise ValueError(f"{word} is larger than any offset")
        return Last(-number) if word.startswith("-") else Absolute(number)
    raise ValueError(f"{text!r} is not an offset: {_EXAMPLES}")


def _parse_time(word: str, wall_ms: int) -> int:
    if _EPOCH_MS.fullmatch(word):
        return int(word)
    if _EPOCH_S.fullmatch(word):
        return int(word) * 1000
    if word.startswith("-"):
        return max(0, wall_ms - parse_duration_ms(word[1:]))
    if _ISO.fullmatch(word):
        try:
            instant = datetime.fromisoformat(word.upper())
        except ValueError as e:
            raise ValueError(f"'@{word}': {e}") from None
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        return max(0, (instant - datetime.fromtimestamp(0, UTC)) // _MILLISECOND)
    raise ValueError(f"'@{word}' is not a time: write 13 digits of ms, 10 of s, a date, RFC 3339 or @-1h")


_MILLISECOND = datetime.resolution * 1000
