"""Bounds: where reading starts and ends in each partition, found by asking the brokers what the words of `-o` mean.

An end is the offset before which reading stops: it holds for the position, so that compaction and transaction markers
before it cannot keep a reading from ending.
Shown by tests/unit/cli/test_bounds.py and tests/cli/test_consume_ranges.py.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kctl.cli.words.offsets import START, Absolute, Anchor, AtTime, Position, Range, Relative
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer

Offsets = dict[TopicPartition, int]


class Bounds(NamedTuple):
    """From an offset on, up to and without another one; None: without an end."""

    start: int
    end: int | None = None


def find_bounds(
    consumer: Consumer,
    ranges: Mapping[TopicPartition, Range],
    note: Callable[[str], None],
    *,
    exit_at_end: bool = False,
    needs_starts: bool = True,
) -> dict[TopicPartition, Bounds]:
    """Return the bounds of each partition; "end" is what it is now.

    A start that a partition does not have is moved to the nearest that it has, and `note` is told: the other partitions
    may well have it. An end may lie after what is there: it is waited for, save with `exit_at_end`.

    Args:
        ranges: what to read of which partition.
        exit_at_end: no end is later than what is the end now.
        needs_starts: False: only the ends are wanted, for somebody else says where to start.
    """
    found = _Found(consumer, ranges, exit_at_end=exit_at_end, needs_starts=needs_starts)
    bounds: dict[TopicPartition, Bounds] = {}
    for tp, wanted in ranges.items():
        end = None if wanted.end is None else found.offset(tp, wanted.end)
        if exit_at_end:
            end = found.ends[tp] if end is None else min(end, found.ends[tp])
        bounds[tp] = Bounds(found.start(tp, wanted.start, note) if needs_starts else 0, end)
    return bounds


class _Found:
    """What the brokers answered; each question is asked once for all partitions that need the answer."""

    def __init__(
        self, consumer: Consumer, ranges: Mapping[TopicPartition, Range], *, exit_at_end: bool, needs_starts: bool
    ) -> None:
        positions = {tp: [wanted.end] + [wanted.start] * needs_starts for tp, wanted in ranges.items()}
        self.beginnings = consumer.beginning_offsets(ranges)
        self.ends = consumer.end_offsets(
            [tp for tp in ranges if exit_at_end or any(p not in (None, START) for p in positions[tp])]
        )
        self._stored: Offsets = {}
        stored = [tp for tp, of in positions.items() if any(_counts_from(p, Anchor.STORED) for p in of)]
        if stored:
            committed = consumer.committed(stored)
            self._stored = {tp: each.offset for tp, each in committed.items() if each is not None}
        self._at_times: dict[tuple[TopicPartition, int], int] = {}
        for asked in _questions(positions):
            for tp, hit in consumer.offsets_for_times(asked).items():
                self._at_times[tp, asked[tp]] = self.ends[tp] if hit is None else hit.offset

    def offset(self, tp: TopicPartition, position: Position) -> int:
        """Return the offset of a position, never below 0."""
        if isinstance(position, Absolute):
            return position.offset
        if isinstance(position, AtTime):
            return self._at_times[tp, position.at_ms]
        if position.anchor is Anchor.END:
            return max(self.beginnings[tp], self.ends[tp] + position.shift)
        if position.anchor is Anchor.START:
            return self.beginnings[tp] + position.shift
        return max(0, self._stored.get(tp, self.beginnings[tp]) + position.shift)

    def start(self, tp: TopicPartition, position: Position, note: Callable[[str], None]) -> int:
        first = self.beginnings[tp]
        if position == START:
            return first
        if _counts_from(position, Anchor.STORED) and tp not in self._stored:
            note(f"nothing is stored for {tp}; starting at {first}")
        wanted, end = self.offset(tp, position), self.ends[tp]
        start = min(max(first, wanted), end)
        if start != wanted and (isinstance(position, Absolute) or _counts_from(position, Anchor.STORED)):
            has = f"only {first} to {end - 1}" if first < end else "it is empty"
            note(f"{tp} has no offset {wanted}, {has}; starting at {start}")
        return start


def _counts_from(position: Position | None, anchor: Anchor) -> bool:
    return isinstance(position, Relative) and position.anchor is anchor


def _questions(positions: Mapping[TopicPartition, Iterable[Position | None]]) -> list[dict[TopicPartition, int]]:
    """Return the instants to look up; a question has one instant a partition."""
    questions: list[dict[TopicPartition, int]] = []
    for tp, wanted in positions.items():
        for at, at_ms in enumerate(dict.fromkeys(each.at_ms for each in wanted if isinstance(each, AtTime))):
            if at == len(questions):
                questions.append({})
            questions[at][tp] = at_ms
    return questions
