"""What one task of a job is given: a part of a large partition, or many small ranges.

What a task costs by itself is then paid for some megabytes, not for each partition. Most tasks read their ranges with
one consumer that fetches them together (`range_fetch`); those of `mirror` and `replay` read one after the other, for
where one begins is known only when the transactional.id of its partition has fenced earlier attempts. What comes of
each is still its own: files, positions, transactions and results are those of a range.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from kctl.pipeline.ranges import Cut, OffsetRange

T = TypeVar("T")
RANGE_BYTES: Final = 64 * 1024 * 1024
"""About how many bytes, as they lie in the log, one task of a job reads, where nothing else is asked for."""
MOST_RANGES: Final = 256
"""Ranges of one task: what a worker that died has to write again, and what one consumer has assigned."""
TASKS_EACH: Final = 4
"""Tasks for each that runs at once, before ranges share one: the last ones then leave no core idle for long."""


class Packing(NamedTuple):
    """How far ranges are put together.

    Attributes:
        least_tasks: with fewer tasks than this no two ranges share one.
        most_size: of all ranges of a task together, unless a single one is larger; in what `size_of` counts.
        most_ranges: of a task.
    """

    least_tasks: int
    most_size: float
    most_ranges: int = MOST_RANGES


def pack(
    items: Sequence[T], packing: Packing, size_of: Callable[[T], float], partition_of: Callable[[T], object]
) -> list[tuple[T, ...]]:
    """Return the items of each task, in the order given, which those of a partition so keep.

    No task has two items of one partition: a consumer reads a partition at one place.
    """
    most_ranges = min(packing.most_ranges, max(1, len(items) // max(1, packing.least_tasks)))
    tasks: list[tuple[T, ...]] = []
    taken: list[T] = []
    partitions: set[object] = set()
    taken_size = 0.0
    for each in items:
        size, partition = size_of(each), partition_of(each)
        is_full = len(taken) >= most_ranges or taken_size + size > packing.most_size or partition in partitions
        if taken and is_full:
            tasks.append(tuple(taken))
            taken, partitions, taken_size = [], set(), 0.0
        taken.append(each)
        partitions.add(partition)
        taken_size += size
    return [*tasks, tuple(taken)] if taken else tasks


def pack_ranges(
    ranges: Sequence[OffsetRange], packing: Packing, size_of: Callable[[OffsetRange], float]
) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each task, as `pack` does."""
    return pack(ranges, packing, size_of, lambda each: each.topic_partition)


def task_packing(at_once: int, range_bytes: float = RANGE_BYTES) -> Packing:
    """Return how far ranges of a job share tasks. Args: at_once: tasks that run at once. range_bytes: of one task."""
    return Packing(TASKS_EACH * at_once, range_bytes)


def cut_to(range_bytes: float, bytes_each: float) -> Cut:
    """Return how large partitions are cut: into ranges of about that many bytes, by the bytes of an offset."""
    return Cut(max_records=max(1, round(range_bytes / max(1.0, bytes_each))))
