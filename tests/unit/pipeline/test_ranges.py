"""Ranges are cut without a gap; places resolve; planning asks a cluster and is within what the partitions have."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.pipeline.ranges import Cut, OffsetRange, RangeBound, cut_ranges

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange("t", number, 10, 10 + size, "id", 99) for number, size in enumerate(sizes)]


def covered(found: list[OffsetRange]) -> dict[int, list[int]]:
    """The offsets of each partition, in the order of the ranges."""
    offsets: dict[int, list[int]] = {}
    for each in found:
        offsets.setdefault(each.partition, []).extend(range(each.start_offset, each.end_offset))
    return offsets


def cuts() -> Iterator[tuple[tuple[int, ...], Cut]]:
    for sizes in ((100,), (100, 1, 0, 37), (3, 3), (1,)):
        for at_least in (0, 1, 4, 7, 50):
            for at_most in (0, 1, 10, 1000):
                yield sizes, Cut(at_least, at_most)


@pytest.mark.parametrize(("sizes", "cut"), list(cuts()))
def test_pieces_cover_the_whole_once(sizes: tuple[int, ...], cut: Cut) -> None:
    whole = ranges(*sizes)
    found = cut_ranges(whole, cut)
    assert covered(found) == covered([each for each in whole if each.size])
    assert all(each.size > 0 and each.topic_id == "id" and each.log_end == 99 for each in found)
    assert len(found) >= min(cut.min_partitions, sum(sizes))
    if cut.max_records:
        assert max(each.size for each in found) <= cut.max_records


def test_larger_ranges_are_cut_into_more_pieces() -> None:
    found = cut_ranges(ranges(90, 10), Cut(min_partitions=10))
    assert [each.partition for each in found] == [0] * 9 + [1]


def test_nothing_is_cut_into_nothing() -> None:
    assert cut_ranges(ranges(0, 0), Cut(10, 10)) == []


def test_a_place_for_all_or_for_each() -> None:
    assert RangeBound(EARLIEST).of_each([T0, T1]) == {T0: EARLIEST, T1: EARLIEST}
    assert RangeBound(None, ((T0, 5), (T1, LATEST))).of_each([T0, T1]) == {T0: 5, T1: LATEST}
    with pytest.raises(ConfigError, match="startingOffsets lacks t-1: set an offset for each"):
        RangeBound(None, ((T0, 5),), option="startingOffsets").of_each([T0, T1])
    with pytest.raises(ConfigError, match="endingOffsets has t-1, which the query does not read"):
        RangeBound(None, ((T0, 5), (T1, 5)), option="endingOffsets").of_each([T0])


def test_a_range_shows_itself() -> None:
    assert str(OffsetRange("t", 3, 5, 8)) == "t-3 [5, 8)"
    assert OffsetRange("t", 3, 5, 8).size == 3
