"""Targets of a reading: the partitions, and the start, the end, and the position of each."""

from collections.abc import Iterable, Mapping

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import FetchedChunk, WaitReason

FOREVER = 2**63 - 1


class Targets:
    """The targets of one reading.

    Attributes:
        ends: of the partitions that are not read to their end yet: that end.
        is_bounded: the reading ends with the last of them.
        expected: where each partition continues, unless its offsets are reset.
        seen: partitions that were ever to be read.
        cut: partitions whose log was truncated while they were read to an end that may be gone: they end where it ends.
    """

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.is_bounded = False
        self.expected: dict[TopicPartition, int] = {}
        self.seen: dict[TopicPartition, None] = {}
        self.cut: set[TopicPartition] = set()
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._lookups: list[BoundsLookup] = []
        """Of partitions that are to be read as soon as their bounds are known."""
        self._all_lookups: list[BoundsLookup] = []

    def set(self, bounds: Mapping[TopicPartition, Bounds]) -> dict[TopicPartition, int]:
        """Replace the ends; return the starts of the partitions that have records to read."""
        self.is_bounded = bool(bounds) and all(each.end is not None for each in bounds.values())
        self.ends = {}
        self.seen |= dict.fromkeys(bounds)
        return self.add(bounds)

    def add(self, bounds: Mapping[TopicPartition, Bounds]) -> dict[TopicPartition, int]:
        """Add partitions; return where to start in those that have anything to read."""
        wanted = {tp: each for tp, each in bounds.items() if each.end is None or each.start < each.end}
        self.ends |= {tp: each.end for tp, each in wanted.items() if each.end is not None}
        starts = {tp: each.start for tp, each in wanted.items()}
        self.expected |= starts
        return starts

    # --- bounds that are looked up ----------------------------------------------------------------------------------

    def add_lookup(self, lookup: BoundsLookup) -> None:
        """Wait for the bounds of further partitions."""
        self._lookups.append(lookup)
        self._all_lookups.append(lookup)

    def pop_known(self) -> dict[TopicPartition, Bounds]:
        """Return the bounds that have become known since the last time.

        Raises: KafkaError: a partition does not exist, or must not be read.
        """
        found: dict[TopicPartition, Bounds] = {}
        for lookup in self._lookups:
            found |= lookup.pop_known()
        self._drop_finished()
        return found

    def _drop_finished(self) -> None:
        self._lookups = [lookup for lookup in self._lookups if lookup.pending]

    def waiting(self) -> dict[TopicPartition, WaitReason]:
        """Return why bounds are not known yet."""
        reasons: dict[TopicPartition, WaitReason] = {}
        for lookup in self._lookups:
            reasons |= lookup.waiting()
        return reasons

    @property
    def open_at(self) -> dict[TopicPartition, int]:
        """Offset of an open transaction that hides the records after it."""
        return {tp: offset for lookup in self._all_lookups for tp, offset in lookup.open_at.items()}

    @property
    def are_all_empty(self) -> bool:
        """Whether every partition whose bounds were looked up holds nothing."""
        return all(tp in lookup.empty for lookup in self._all_lookups for tp in lookup.looked_up)

    # --- progress ---------------------------------------------------------------------------------------------------

    @property
    def are_reached(self) -> bool:
        """Whether every partition is read to its end."""
        return self.is_bounded and not self.ends and not self._lookups

    def end_of(self, tp: TopicPartition) -> int:
        """Return where the partition ends; FOREVER where it does not."""
        return self.ends.get(tp, FOREVER)

    def advance(self, chunk: FetchedChunk) -> None:
        """Continue a partition behind a chunk."""
        self.expected[chunk.topic_partition] = chunk.next_offset
        self._high_watermarks[chunk.topic_partition] = chunk.high_watermark

    def lost_offset(self, tp: TopicPartition, offset: int) -> int | None:
        """Continue a partition at `offset`; return where it was to continue, if that is another offset."""
        expected = self.expected.get(tp, offset)
        if offset == expected:
            return None
        self.expected[tp] = offset
        return expected

    @property
    def lag(self) -> int | None:
        """How many offsets are left before the high watermarks; None before the first chunk."""
        marks = self._high_watermarks
        return sum(max(0, mark - self.expected.get(tp, mark)) for tp, mark in marks.items()) if marks else None

    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that another member of the group reads from now on."""
        for tp in topic_partitions:
            self.cut.discard(tp)
            for offsets in (self.ends, self.expected, self._high_watermarks):
                offsets.pop(tp, None)
            for lookup in self._lookups:
                lookup.forget(tp)
        self._drop_finished()
