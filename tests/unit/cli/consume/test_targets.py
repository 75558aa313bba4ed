"""What a reading reads: its partitions, their ends, and where each continues."""

from typing import cast

from kctl.cli.consume.bounds import ASKED, Bounds, BoundsLookup
from kctl.cli.consume.targets import FOREVER, Targets
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import FetchedChunk, WaitReason

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class Lookup:
    """A look-up whose bounds become known when the test says so."""

    def __init__(self, *partitions: TopicPartition) -> None:
        self.pending = list(partitions)
        self.looked_up = partitions
        self.known: dict[TopicPartition, Bounds] = {}
        self.empty: set[TopicPartition] = set()
        self.open_at: dict[TopicPartition, int] = {}

    def pop_known(self) -> dict[TopicPartition, Bounds]:
        known, self.known = self.known, {}
        self.pending = [tp for tp in self.pending if tp not in known]
        return known

    def waiting(self) -> dict[TopicPartition, WaitReason]:
        return dict.fromkeys(self.pending, ASKED)

    def forget(self, tp: TopicPartition) -> None:
        self.pending = [each for each in self.pending if each != tp]


def _chunk(tp: TopicPartition, next_offset: int, high_watermark: int) -> FetchedChunk:
    return FetchedChunk(tp, 0, 0, next_offset, b"", high_watermark=high_watermark)


def test_partition_without_anything_to_read_is_left_out() -> None:
    targets = Targets()
    assert targets.set({T0: Bounds(3, 7), T1: Bounds(5, 5), T2: Bounds(2)}) == {T0: 3, T2: 2}
    assert (targets.ends, targets.is_bounded) == ({T0: 7}, False)
    assert (targets.end_of(T0), targets.end_of(T2)) == (7, FOREVER)
    assert list(targets.seen) == [T0, T1, T2]


def test_bounded_targets_are_reached_with_the_last_end() -> None:
    targets = Targets()
    targets.set({T0: Bounds(0, 2), T1: Bounds(0, 3)})
    for tp in (T0, T1):
        assert not targets.are_reached
        del targets.ends[tp]
    assert targets.are_reached


def test_set_again_forgets_the_ends_of_before_and_add_keeps_them() -> None:
    targets = Targets()
    targets.set({T0: Bounds(0, 2)})
    targets.add({T1: Bounds(0, 3)})
    assert targets.ends == {T0: 2, T1: 3}
    targets.set({T2: Bounds(0, 4)})
    assert targets.ends == {T2: 4}


def test_nothing_is_reached_while_bounds_are_looked_up() -> None:
    targets, lookup = Targets(), Lookup(T0, T1)
    targets.is_bounded = True
    targets.add_lookup(cast(BoundsLookup, lookup))
    assert targets.waiting() == {T0: ASKED, T1: ASKED}
    lookup.known = {T0: Bounds(0, 0)}
    assert targets.pop_known() == {T0: Bounds(0, 0)}
    assert not targets.are_reached
    lookup.known = {T1: Bounds(0, 0)}
    targets.pop_known()
    assert (targets.are_reached, targets.waiting()) == (True, {})


def test_finished_lookup_still_tells_what_is_empty_or_hidden() -> None:
    targets, lookup = Targets(), Lookup(T0)
    targets.add_lookup(cast(BoundsLookup, lookup))
    lookup.known, lookup.empty, lookup.open_at = {T0: Bounds(0, 0)}, {T0}, {T0: 4}
    targets.pop_known()
    assert (targets.are_all_empty, targets.open_at) == (True, {T0: 4})


def test_position_that_jumps_is_a_lost_offset_once() -> None:
    targets = Targets()
    targets.set({T0: Bounds(3)})
    assert targets.lost_offset(T0, 3) is None
    assert targets.lost_offset(T0, 9) == 3
    assert targets.lost_offset(T0, 9) is None
    assert targets.lost_offset(T1, 5) is None


def test_lag_counts_what_is_left_before_the_high_watermarks() -> None:
    targets = Targets()
    targets.set({T0: Bounds(0), T1: Bounds(0)})
    assert targets.lag is None
    targets.advance(_chunk(T0, 4, 10))
    targets.advance(_chunk(T1, 4, 4))
    assert targets.lag == 6


def test_revoked_partition_is_forgotten_with_its_lookup() -> None:
    targets, lookup = Targets(), Lookup(T1)
    targets.set({T0: Bounds(0, 5)})
    targets.advance(_chunk(T0, 4, 10))
    targets.add_lookup(cast(BoundsLookup, lookup))
    targets.forget([T0])
    assert (targets.ends, targets.lag, targets.expected) == ({}, None, {})
    assert not targets.are_reached
    targets.forget([T1])
    assert targets.are_reached
