"""Values of `-o`: positions, ranges, and their text. The parser is `offset_grammar.py`."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

MS_DIGITS = 13
"""Number of digits of a time in milliseconds."""
_MILLISECOND = datetime.resolution * 1000
_EPOCH = datetime.fromtimestamp(0, UTC)


class Anchor(Enum):
    START = "start"
    END = "end"
    STORED = "stored"
    """Committed offset of the group."""


class Relative(NamedTuple):
    """Position `shift` offsets after an anchor, or before it if negative, in each partition."""

    anchor: Anchor
    shift: int = 0

    def __str__(self) -> str:
        return self.anchor.value + (f"{self.shift:+d}" if self.shift else "")


class Absolute(NamedTuple):
    offset: int

    def __str__(self) -> str:
        return str(self.offset)


class AtTime(NamedTuple):
    """The first record at or after a time (milliseconds since the epoch)."""

    at_ms: int

    def __str__(self) -> str:
        if self.at_ms < 10**MS_DIGITS:
            return f"@{self.at_ms:0{MS_DIGITS}d}"
        return f"@{(_EPOCH + self.at_ms * _MILLISECOND).isoformat()}"


Position = Relative | Absolute | AtTime
START, END = Relative(Anchor.START), Relative(Anchor.END)


class Range(NamedTuple):
    """Range of positions. `end` is exclusive, and None means no end."""

    start: Position = START
    end: Position | None = None


PartitionSpan = tuple[int, int]
"""First and last partition number, both included."""


class OffsetSpec(NamedTuple):
    """Bounds that one `-o` sets, and their partitions.

    Attributes:
        spans: ranges of partition numbers. Empty for all partitions.
        start: None keeps the earlier start.
        end: None keeps the earlier end, or removes it if `is_open`.
        is_open: whether the text ends with a colon.
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
        end = before.end if self.end is None and not self.is_open else self.end
        return Range(before.start if self.start is None else self.start, end)


def range_of(specs: Iterable[OffsetSpec], partition: int, default: Range | None = None) -> Range:
    """Return the range to read from a partition. For each bound, the last spec that sets it applies."""
    found = default or Range()
    for spec in specs:
        if spec.is_about(partition):
            found = spec.over(found)
    return found
