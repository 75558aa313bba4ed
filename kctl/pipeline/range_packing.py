"""Packing of ranges into tasks: a part of a large partition, or many small ranges.

Most tasks fetch their ranges together with one consumer (`range_fetch`). Tasks of `mirror` and `replay` read their
ranges one after another, because the start is known only after the transactional.id has fenced earlier attempts. Files,
positions, transactions and results stay separate for each range.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from kctl.pipeline.ranges import Cut, OffsetRange

T = TypeVar("T")
RANGE_BYTES: Final = 64 * 1024 * 1024
"""Default size of the log that one task reads, in bytes, approximately."""
MOST_RANGES: Final = 256
"""Maximum number of ranges in a task. Limits the repeated work if a worker dies, and the assignment of a consumer."""
TASKS_EACH: Final = 4
"""Minimum number of tasks for each parallel slot before ranges share a task, so that few cores are idle at the end."""


class Packing(NamedTuple):
    """Limits for packing ranges.

    Attributes:
        least_tasks: number of tasks below which ranges do not share a task.
        most_size: maximum total size of a task, in the unit of `size_of`. A single range may be larger.
    """

    least_tasks: int
    most_size: float
    most_ranges: int = MOST_RANGES


def pack(
    items: Sequence[T], packing: Packing, size_of: Callable[[T], float], partition_of: Callable[[T], object]
) -> list[tuple[T, ...]]:
    """Return the items of each task in the given order.

    A task never has two items of one partition, because a consumer reads a partition at one position.
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
    return pack(ranges, packing, size_of, lambda each: each.topic_partition)


def task_packing(at_once: int, range_bytes: float = RANGE_BYTES) -> Packing:
    return Packing(TASKS_EACH * at_once, range_bytes)


def cut_to(range_bytes: float, bytes_each: float) -> Cut:
    """Return the cut into ranges of about `range_bytes` bytes.

    Args:
        bytes_each: bytes for each offset.
    """
    return Cut(max_records=max(1, round(range_bytes / max(1.0, bytes_each))))
