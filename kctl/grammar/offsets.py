"""What to read of each partition: the values behind `-o`, how they are written, and how later ones go over earlier.

Knows neither the grammar (`offset_grammar.py`) nor brokers (`bounds.py`).
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

MS_DIGITS = 13
"""Digits of an instant in milliseconds; ten are seconds."""
_MILLISECOND = datetime.resolution * 1000
_EPOCH = datetime.fromtimestamp(0, UTC)


class Anchor(Enum):
    """What a relative position counts from."""

    START = "start"
    END = "end"
    STORED = "stored"
    """The group's committed offset."""


class Relative(NamedTuple):
    """A number of offsets after (or, negative, before) an anchor, in each partition."""

    anchor: Anchor
    shift: int = 0

    def __str__(self) -> str:
        return self.anchor.value + (f"{self.shift:+d}" if self.shift else "")


class Absolute(NamedTuple):
    """That offset."""

    offset: int

    def __str__(self) -> str:
        return str(self.offset)


class AtTime(NamedTuple):
    """The first record not older than that instant (milliseconds since the epoch)."""

    at_ms: int

    def __str__(self) -> str:
        if self.at_ms < 10**MS_DIGITS:
            return f"@{self.at_ms:0{MS_DIGITS}d}"
        return f"@{(_EPOCH + self.at_ms * _MILLISECOND).isoformat()}"


Position = Relative | Absolute | AtTime
START, END = Relative(Anchor.START), Relative(Anchor.END)


class Range(NamedTuple):
    """From a position on up to, and without, another one; None: without an end."""

    start: Position = START
    end: Position | None = None


PartitionSpan = tuple[int, int]
"""The first and the last of some partitions."""


class OffsetSpec(NamedTuple):
    """One `-o`: which bounds it sets, in which partitions.

    Attributes:
        spans: the partitions it is about; empty: all.
        start: None leaves the start as it is.
        end: None leaves the end as it is, or takes it away with `is_open`.
        is_open: it was written with a colon and nothing behind it.
    """

    spans: tuple[PartitionSpan, ...] = ()
    start: Position | None = None
    end: Position | None = None
    is_open: bool = False

    def __str__(self) -> str:
        numbers = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.spans)
        start = "" if self.start is None else str(self.start)
        colon = ":" if self.is_open or self.end is not None else ""
        return f"{numbers}={start}{colon}{self.end or ''}" if numbers else f"{start}{colon}{self.end or ''}"

    def is_about(self, partition: int) -> bool:
        return not self.spans or any(first <= partition <= last for first, last in self.spans)

    def over(self, before: Range) -> Range:
        """Return what becomes of an earlier range: each bound that is written here replaces the one there."""
        end = before.end if self.end is None and not self.is_open else self.end
        return Range(before.start if self.start is None else self.start, end)


def range_of(specs: Iterable[OffsetSpec], partition: int, default: Range | None = None) -> Range:
    """Return what is to be read of a partition number; the later of two specs wins."""
    found = default or Range()
    for spec in specs:
        if spec.is_about(partition):
            found = spec.over(found)
    return found
