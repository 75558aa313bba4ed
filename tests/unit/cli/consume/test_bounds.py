"""Where reading starts and ends in each partition, by what a consumer answers."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

import pytest

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.events import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, LookupNews
from kctl.client.consumer.lookups import OffsetLookup
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.requests.list_offsets import OffsetAndTimestamp
from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.offsets import range_of

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class Answers:
    """A topic with three partitions: 5 to 9, 0 to 1, and none at 3; the group has read 7 of the first, and 9 of none.

    Records are as old as their offsets say, ten milliseconds each.
    """

    BEGINNINGS: ClassVar = {T0: 5, T1: 0, T2: 3}
    ENDS: ClassVar = {T0: 10, T1: 2, T2: 3}
    COMMITTED: ClassVar[dict[TopicPartition, int | None]] = {T0: 7, T1: None, T2: 1}

    def __init__(self) -> None:
        self.silent: set[TopicPartition] = set()
        """Leaders that have not responded."""
        self.asked_times: list[dict[TopicPartition, int]] = []

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata | None]:
        return {tp: None if (at := self.COMMITTED[tp]) is None else OffsetAndMetadata(at) for tp in partitions}

    def look_up_offsets(self, asked: Mapping[TopicPartition, int], *, log_end: bool = False) -> OffsetLookup:
        if any(at_ms >= 0 for at_ms in asked.values()):
            self.asked_times.append(dict(asked))
        lookup = OffsetLookup(asked, lambda: None)
        for tp, at_ms in asked.items():
            if tp not in self.silent:
                lookup.on_news(LookupNews(1, tp, self._answer(tp, at_ms)))
        return lookup

    def _answer(self, tp: TopicPartition, at_ms: int) -> OffsetAndTimestamp | None:
        if at_ms in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
            return OffsetAndTimestamp((self.BEGINNINGS if at_ms == EARLIEST_TIMESTAMP else self.ENDS)[tp], -1)
        offset = max(self.BEGINNINGS[tp], -(-at_ms // 10))
        return OffsetAndTimestamp(offset, 10 * offset) if offset < self.ENDS[tp] else None


def _bounds(*texts: str, exit_at_end: bool = False, notes: list[str] | None = None) -> list[tuple[int, int | None]]:
    specs = [parse_offset(text, 0) for text in texts]
    ranges = {tp: range_of(specs, tp.partition) for tp in (T0, T1, T2)}
    note = (lambda _: None) if notes is None else notes.append
    found = BoundsLookup(cast(Consumer, Answers()), ranges, note, exit_at_end=exit_at_end).pop_known()
    assert list(found) == [T0, T1, T2]
    return [(each.start, each.end) for each in found.values()]


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("start", [5, 0, 3]),
        ("start+1", [6, 1, 3]),
        ("end", [10, 2, 3]),
        ("7", [7, 2, 3]),
        ("1", [5, 1, 3]),
        ("-1", [9, 1, 3]),
        ("-100", [5, 0, 3]),
        ("stored", [7, 0, 3]),
        ("stored-1", [6, 0, 3]),
        ("stored+9", [10, 2, 3]),
        ("@0000000000065", [7, 2, 3]),
        ("0=7", [7, 0, 3]),
    ],
)
def test_starts(text: str, starts: list[int]) -> None:
    assert _bounds(text) == [(start, None) for start in starts]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (":end", [10, 2, 3]),
        (":end-1", [9, 1, 3]),
        (":-100", [5, 0, 3]),
        (":+1", [6, 1, 4]),
        (":7", [7, 7, 7]),
        (":stored", [7, 0, 1]),
        ("@:0000000000065", [7, 2, 3]),
    ],
)
def test_ends(text: str, ends: list[int]) -> None:
    assert _bounds(text) == list(zip([5, 0, 3], ends, strict=True))


def test_exit_at_end_ends_no_later_than_what_is_there() -> None:
    assert _bounds(exit_at_end=True) == [(5, 10), (0, 2), (3, 3)]
    assert _bounds(":7", exit_at_end=True) == [(5, 7), (0, 2), (3, 3)]


def test_two_instants_a_partition_are_asked_for_together_over_partitions() -> None:
    consumer = Answers()
    specs = [parse_offset("@0000000000060:0000000000080", 0), parse_offset("1=@0000000000000", 0)]
    ranges = {tp: range_of(specs, tp.partition) for tp in (T0, T1)}
    found = BoundsLookup(cast(Consumer, consumer), ranges, lambda _: None).pop_known()
    assert found == {T0: Bounds(6, 8), T1: Bounds(0, 2)}
    assert len(consumer.asked_times) == 2


def test_a_start_that_is_moved_is_told() -> None:
    notes: list[str] = []
    _bounds("1", notes=notes)
    assert notes == [
        "t-0 has no offset 1 (first offset 5, last offset 9): starting at offset 5",
        "t-2 has no offset 1 (the partition is empty): starting at offset 3",
    ]


def test_stored_bounds_note_partitions_without_a_usable_offset() -> None:
    notes: list[str] = []
    _bounds("stored", notes=notes)
    assert notes == [
        "the group has no committed offset for t-1: starting at offset 0",
        "t-2 has no offset 1 (the partition is empty): starting at offset 3",
    ]


def test_silent_leader_delays_no_other_partition() -> None:
    consumer = Answers()
    consumer.silent = {T1}
    ranges = {tp: range_of([parse_offset("0:end", 0)], tp.partition) for tp in (T0, T1, T2)}
    lookup = BoundsLookup(cast(Consumer, consumer), ranges, lambda _: None)
    assert lookup.pop_known() == {T0: Bounds(5, 10), T2: Bounds(3, 3)}
    assert lookup.pop_known() == {}
    assert lookup.pending == list(lookup.waiting()) == [T1]


def test_partition_that_does_not_exist_is_an_error() -> None:
    consumer = Answers()
    consumer.silent = {T0}
    lookup = BoundsLookup(cast(Consumer, consumer), {T0: range_of([], 0)}, lambda _: None)
    error = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "t-0")
    lookup._beginnings.on_news(LookupNews(1, T0, error))
    with pytest.raises(type(error)):
        lookup.pop_known()
