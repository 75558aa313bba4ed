"""How ranges share tasks: few tasks for many small ranges, and none shared where there are few or they are large."""

from kctl.pipeline.range_packing import MOST_RANGES, Packing, pack_ranges
from kctl.pipeline.ranges import OffsetRange


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange("t", partition, 100, 100 + size) for partition, size in enumerate(sizes)]


def sizes(tasks: list[tuple[OffsetRange, ...]]) -> list[list[int]]:
    return [[each.size for each in task] for task in tasks]


def packed(given: list[OffsetRange], packing: Packing) -> list[tuple[OffsetRange, ...]]:
    tasks = pack_ranges(given, packing, lambda each: each.size)
    assert [each for task in tasks for each in task] == given, "each range once, in the order given"
    return tasks


def test_ten_thousand_small_partitions_are_few_tasks() -> None:
    tasks = packed(ranges(*[10] * 10_000), Packing(8, 1_000_000))
    assert len(tasks) == -(-10_000 // MOST_RANGES) == 40


def test_few_ranges_share_no_task() -> None:
    assert sizes(packed(ranges(*[1] * 7), Packing(8, 1000))) == [[1]] * 7
    assert sizes(packed(ranges(*[1] * 15), Packing(8, 1000))) == [[1]] * 15
    assert len(packed(ranges(*[1] * 16), Packing(8, 1000))) == 8
    assert packed([], Packing(8, 1000)) == []


def test_at_least_the_tasks_that_are_asked_for() -> None:
    for count in range(1, 100):
        assert len(packed(ranges(*[1] * count), Packing(20, 1000))) >= min(count, 20)


def test_a_task_has_no_more_than_its_size_but_for_a_single_range() -> None:
    given = ranges(60, 30, 20, 500, 10, 10)
    assert sizes(packed(given, Packing(1, 100))) == [[60, 30], [20], [500], [10, 10]]


def test_ranges_of_one_partition_are_in_tasks_of_their_own() -> None:
    first, second = OffsetRange("t", 0, 0, 10), OffsetRange("t", 0, 10, 20)
    other = OffsetRange("u", 0, 0, 10)
    assert packed([first, other, second], Packing(1, 1000)) == [(first, other), (second,)]
