"""Bounds: start and end offset for each partition, resolved from `-o`.

Reading stops when the position reaches the end, even if compaction or transaction markers leave no record there.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Consumer, OffsetLookup, WaitKind, WaitReason
from kctl.grammar.offsets import START, Absolute, Anchor, AtTime, Position, Range, Relative

ASKED = WaitReason(WaitKind.NOT_STARTED, "the offset lookup has just started")
Offsets = dict[TopicPartition, int]


class Bounds(NamedTuple):
    """Half-open range of offsets. `end` is None if reading has no end."""

    start: int
    end: int | None = None


class BoundsLookup:
    """Lookup of the bounds of partitions. The bounds of a partition are available when its leader has responded.

    A start outside the log is moved to the nearest offset, with a note. An end may be after the last record; then
    reading waits for more records, except with `exit_at_end`.

    Args:
        exit_at_end: end each partition at its end offset at startup, or before.
        without_start: partitions whose start the group determines.
        finds_open: find open transactions at the end offsets.
    Attributes:
        empty: partitions without records in their range.
        open_at: offset by partition at which an open transaction blocks reading.
    """

    def __init__(
        self,
        consumer: Consumer,
        ranges: Mapping[TopicPartition, Range],
        note: Callable[[str], None],
        *,
        exit_at_end: bool = False,
        without_start: Container[TopicPartition] = (),
        finds_open: bool = False,
    ) -> None:
        self.empty: set[TopicPartition] = set()
        self.open_at: dict[TopicPartition, int] = {}
        self._ranges = dict(ranges)
        self.looked_up = tuple(ranges)
        self._note = note
        self._exit_at_end = exit_at_end
        self._without_start = without_start
        self._seen_results = 0
        self._stored: Offsets = {}
        positions = {
            tp: [wanted.end] if tp in without_start else [wanted.end, wanted.start] for tp, wanted in ranges.items()
        }
        stored = [tp for tp, of in positions.items() if any(_counts_from(p, Anchor.STORED) for p in of)]
        if stored:
            committed = consumer.committed(stored)
            self._stored = {tp: each.offset for tp, each in committed.items() if each is not None}
        start, needs_end = consumer.look_up_offsets, exit_at_end
        # Asked before the ends that isolation.level lets us see: what is written meanwhile is no open transaction.
        self._log_ends = consumer.look_up_offsets(
            dict.fromkeys(ranges if finds_open else (), LATEST_TIMESTAMP), log_end=True
        )
        self._beginnings = start(dict.fromkeys(ranges, EARLIEST_TIMESTAMP))
        have_ends = [tp for tp in ranges if needs_end or any(p not in (None, START) for p in positions[tp])]
        self._ends = start(dict.fromkeys(have_ends, LATEST_TIMESTAMP))
        self._at_times = [(asked, start(asked)) for asked in _questions(positions)]

    @property
    def pending(self) -> list[TopicPartition]:
        """Return the partitions whose bounds were not popped yet."""
        return list(self._ranges)

    def forget(self, topic_partition: TopicPartition) -> None:
        self._ranges.pop(topic_partition, None)

    def waiting(self) -> dict[TopicPartition, WaitReason]:
        """Return the reason why each partition has no bounds yet."""
        reasons: dict[TopicPartition, WaitReason] = {}
        for lookup in self._lookups:
            reasons |= lookup.waiting
        return {tp: reasons.get(tp, ASKED) for tp in self._ranges}

    def pop_known(self) -> dict[TopicPartition, Bounds]:
        """Return the bounds that became known since the last call.

        Raises: KafkaError: a partition is missing or cannot be read.
        """
        results = sum(len(lookup.found) + len(lookup.failed) for lookup in self._lookups)
        if results == self._seen_results and results:
            return {}
        self._seen_results = results
        for lookup in self._lookups:
            for error in lookup.failed.values():
                raise error
        missing = {tp for lookup in self._lookups for tp in lookup.pending}
        known = [tp for tp in self._ranges if tp not in missing]
        return {tp: self._bounds(tp, self._ranges.pop(tp)) for tp in known}

    def cancel(self) -> None:
        self._ranges.clear()
        for lookup in self._lookups:
            lookup.cancel()

    @property
    def _lookups(self) -> list[OffsetLookup]:
        return [self._beginnings, self._log_ends, self._ends, *(lookup for _, lookup in self._at_times)]

    def _bounds(self, tp: TopicPartition, wanted: Range) -> Bounds:
        end = None if wanted.end is None else self._offset(tp, wanted.end)
        if self._exit_at_end:
            if self._beginning(tp) >= self._end(tp):
                self.empty.add(tp)
            if tp in self._log_ends.found and found_offset(self._log_ends, tp) > self._end(tp):
                self.open_at[tp] = self._end(tp)
            end = self._end(tp) if end is None else min(end, self._end(tp))
        return Bounds(0 if tp in self._without_start else self._start(tp, wanted.start), end)

    def _beginning(self, tp: TopicPartition) -> int:
        return found_offset(self._beginnings, tp)

    def _end(self, tp: TopicPartition) -> int:
        return found_offset(self._ends, tp)

    def _offset(self, tp: TopicPartition, position: Position) -> int:
        if isinstance(position, Absolute):
            return position.offset
        if isinstance(position, AtTime):
            lookup = next(lookup for asked, lookup in self._at_times if asked.get(tp) == position.at_ms)
            hit = lookup.found[tp]
            return self._end(tp) if hit is None else hit.offset
        if position.anchor is Anchor.END:
            return max(self._beginning(tp), self._end(tp) + position.shift)
        if position.anchor is Anchor.START:
            return self._beginning(tp) + position.shift
        return max(0, self._stored.get(tp, self._beginning(tp)) + position.shift)

    def _start(self, tp: TopicPartition, position: Position) -> int:
        first = self._beginning(tp)
        if position == START:
            return first
        if _counts_from(position, Anchor.STORED) and tp not in self._stored:
            self._note(f"the group has no committed offset for {tp}: starting at offset {first}")
        wanted, end = self._offset(tp, position), self._end(tp)
        start = min(max(first, wanted), end)
        if start != wanted and (isinstance(position, Absolute) or _counts_from(position, Anchor.STORED)):
            has = f"first offset {first}, last offset {end - 1}" if first < end else "the partition is empty"
            self._note(f"{tp} has no offset {wanted} ({has}): starting at offset {start}")
        return start


def found_offset(lookup: OffsetLookup, tp: TopicPartition) -> int:
    """Return the offset that the lookup found; 0 if the broker has no offset."""
    found = lookup.found[tp]
    return 0 if found is None else found.offset


def _counts_from(position: Position | None, anchor: Anchor) -> bool:
    return isinstance(position, Relative) and position.anchor is anchor


def _questions(positions: Mapping[TopicPartition, Iterable[Position | None]]) -> list[dict[TopicPartition, int]]:
    """Return lookups by timestamp, each with at most one timestamp for a partition."""
    questions: list[dict[TopicPartition, int]] = []
    for tp, wanted in positions.items():
        for at, at_ms in enumerate(dict.fromkeys(each.at_ms for each in wanted if isinstance(each, AtTime))):
            if at == len(questions):
                questions.append({})
            questions[at][tp] = at_ms
    return questions
