"""Segments of a log, the units of cleanup. Source: segment.bytes, segment.ms, max.compaction.lag.ms."""

from collections.abc import Iterable, Iterator

from kctl.sandbox.batches import BatchHeader
from kctl.sandbox.settings import TopicSettings

_FURTHEST_OFFSET = 2**31 - 1
"""Maximum distance of an offset from the first one of its segment, because Kafka stores distances in 32 bits."""


class Segment:
    """Segment of a log.

    Attributes:
        first_timestamp_ms: max timestamp of the first batch, or -1 without batches.
        greatest_timestamp_ms: greatest timestamp of all records, or the time of creation without batches.
    """

    __slots__ = ("base_offset", "first_timestamp_ms", "greatest_timestamp_ms", "size_bytes")

    def __init__(self, base_offset: int, made_at_ms: int) -> None:
        self.base_offset = base_offset
        self.size_bytes = 0
        self.first_timestamp_ms = -1
        self.greatest_timestamp_ms = made_at_ms

    def add(self, header: BatchHeader, size_bytes: int) -> None:
        newest_ms = header.max_timestamp_ms
        if self.first_timestamp_ms < 0:
            self.first_timestamp_ms = self.greatest_timestamp_ms = newest_ms
        self.greatest_timestamp_ms = max(self.greatest_timestamp_ms, newest_ms)
        self.size_bytes += size_bytes


class Segments:
    """Ordered segments of one log. The last one is active: it is neither compacted nor deleted."""

    def __init__(self) -> None:
        self._all: list[Segment] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._all)

    @property
    def active_offset(self) -> int:
        return self._all[-1].base_offset if self._all else 0

    def place(self, header: BatchHeader, size_bytes: int, wall_ms: int, settings: TopicSettings) -> None:
        """Add the next batch. Start a new segment if the active one is full or old."""
        if not self._all or self._is_over(header, size_bytes, settings):
            self._all.append(Segment(header.base_offset, wall_ms))
        self._all[-1].add(header, size_bytes)

    def _is_over(self, header: BatchHeader, size_bytes: int, settings: TopicSettings) -> bool:
        active = self._all[-1]
        is_old = (
            active.first_timestamp_ms >= 0 and header.max_timestamp_ms - active.first_timestamp_ms > settings.roll_ms
        )
        return active.size_bytes > 0 and (
            active.size_bytes + size_bytes > settings.segment_bytes
            or is_old
            or header.last_offset - active.base_offset > _FURTHEST_OFFSET
        )

    def merged(self, until_offset: int, size_bytes: int) -> list[int]:
        """Return the base offsets of the segments after compaction.

        Segments below `until_offset` are merged into segments of at most `size_bytes`.
        """
        bounds: list[int] = []
        group_bytes = 0
        for segment in self._all:
            group_bytes += segment.size_bytes
            if not bounds or segment.base_offset >= until_offset or group_bytes > size_bytes:
                bounds.append(segment.base_offset)
                group_bytes = segment.size_bytes
        return bounds

    def roll(self, end_offset: int, wall_ms: int) -> None:
        self._all.append(Segment(end_offset, wall_ms))

    def keep(self, batches: Iterable[tuple[BatchHeader, bytes]], bounds: list[int]) -> None:
        ages = {one.base_offset: one.greatest_timestamp_ms for one in self._all}
        made = [Segment(bound, ages.get(bound, 0)) for bound in bounds]
        number = 0
        for header, data in batches:
            while number + 1 < len(made) and header.base_offset >= made[number + 1].base_offset:
                number += 1
            made[number].add(header, len(data))
        self._all = made
