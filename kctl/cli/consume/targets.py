"""Targets: start, end and position of each partition of a reading."""

from collections.abc import Iterable, Mapping

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import FetchedChunk, WaitReason

FOREVER = 2**63 - 1


class Targets:
    """Start, end and position of each partition.

    Attributes:
        ends: end offsets of partitions that have not reached them.
        is_bounded: whether the reading ends when `ends` is empty.
        expected: next offset of each partition.
        cut: partitions with a truncated log, which end at the new end of the log.
    """

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.is_bounded = False
        self.expected: dict[TopicPartition, int] = {}
        self.seen: dict[TopicPartition, None] = {}
        self.cut: set[TopicPartition] = set()
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._lookups: list[BoundsLookup] = []
        """Lookups of partitions to read when their bounds are known."""
        self._all_lookups: list[BoundsLookup] = []

    def set(self, bounds: Mapping[TopicPartition, Bounds]) -> dict[TopicPartition, int]:
        """Replace the ends. Return the start offsets of partitions that have records to read."""
        self.is_bounded = bool(bounds) and all(each.end is not None for each in bounds.values())
        self.ends = {}
        self.seen |= dict.fromkeys(bounds)
        return self.add(bounds)

    def add(self, bounds: Mapping[TopicPartition, Bounds]) -> dict[TopicPartition, int]:
        """Add partitions. Return the start offsets of those that have records to read."""
        wanted = {tp: each for tp, each in bounds.items() if each.end is None or each.start < each.end}
        self.ends |= {tp: each.end for tp, each in wanted.items() if each.end is not None}
        starts = {tp: each.start for tp, each in wanted.items()}
        self.expected |= starts
        return starts

    # --- bounds that are looked up ----------------------------------------------------------------------------------

    def add_lookup(self, lookup: BoundsLookup) -> None:
        self._lookups.append(lookup)
        self._all_lookups.append(lookup)

    def pop_known(self) -> dict[TopicPartition, Bounds]:
        """Return the bounds that became known since the last call.

        Raises: KafkaError: a partition is missing or cannot be read.
        """
        found: dict[TopicPartition, Bounds] = {}
        for lookup in self._lookups:
            found |= lookup.pop_known()
        self._drop_finished()
        return found

    def _drop_finished(self) -> None:
        self._lookups = [lookup for lookup in self._lookups if lookup.pending]

    def waiting(self) -> dict[TopicPartition, WaitReason]:
        """Return the reasons for missing bounds."""
        reasons: dict[TopicPartition, WaitReason] = {}
        for lookup in self._lookups:
            reasons |= lookup.waiting()
        return reasons

    @property
    def open_at(self) -> dict[TopicPartition, int]:
        return {tp: offset for lookup in self._all_lookups for tp, offset in lookup.open_at.items()}

    @property
    def are_all_empty(self) -> bool:
        return all(tp in lookup.empty for lookup in self._all_lookups for tp in lookup.looked_up)

    # --- progress ---------------------------------------------------------------------------------------------------

    @property
    def are_reached(self) -> bool:
        return self.is_bounded and not self.ends and not self._lookups

    def end_of(self, tp: TopicPartition) -> int:
        return self.ends.get(tp, FOREVER)

    def advance(self, chunk: FetchedChunk) -> None:
        self.expected[chunk.topic_partition] = chunk.next_offset
        self._high_watermarks[chunk.topic_partition] = chunk.high_watermark

    def lost_offset(self, tp: TopicPartition, offset: int) -> int | None:
        """Move a partition to `offset`. Return the expected offset if it differs, otherwise None."""
        expected = self.expected.get(tp, offset)
        if offset == expected:
            return None
        self.expected[tp] = offset
        return expected

    @property
    def lag(self) -> int | None:
        """Return the number of offsets up to the high watermarks, or None before the first chunk."""
        marks = self._high_watermarks
        return sum(max(0, mark - self.expected.get(tp, mark)) for tp, mark in marks.items()) if marks else None

    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Drop partitions that the group took away from this member."""
        for tp in topic_partitions:
            self.cut.discard(tp)
            for offsets in (self.ends, self.expected, self._high_watermarks):
                offsets.pop(tp, None)
            for lookup in self._lookups:
                lookup.forget(tp)
        self._drop_finished()
