"""Which partitions to read (`-p 0,2-4`) and where to start in each: the words of the user, answered by the brokers.

Shown by tests/unit/cli/test_partitions.py and tests/cli/test_produce_consume.py.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.offsets import Absolute, Edge, Last, Position
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer

MOST_PARTITIONS = 100_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)

Offsets = dict[TopicPartition, int]


def parse_partitions(texts: Iterable[str]) -> list[int]:
    """Return the partition numbers of `0,2-4`, in order and each once.

    Raises: ValueError: naming what is no number or range.
    """
    numbers: dict[int, None] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a partition: write 0, 0,2 or 2-4")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MOST_PARTITIONS:
            raise ValueError(f"{part!r} is not a range of partitions")
        numbers |= dict.fromkeys(range(first, last + 1))
    return sorted(numbers)


def choose_partitions(consumer: Consumer, topics: Sequence[str], wanted: Sequence[int]) -> list[TopicPartition]:
    """Return the partitions to read: the wanted ones of each topic, or all when none is named.

    Raises: CommandError: a topic lacks a wanted partition. BrokerError: no such topic, or not allowed.
    """
    chosen: list[TopicPartition] = []
    for topic in dict.fromkeys(topics):
        existing = [info.partition for info in consumer.partitions_for(topic)]
        missing = [number for number in wanted if number not in existing]
        if missing:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"topic {topic} has no partition {', '.join(map(str, missing))}",
                f"it has {len(existing)}, numbered from 0",
            )
        chosen.extend(TopicPartition(topic, number) for number in wanted or existing)
    return chosen


def find_starts(
    consumer: Consumer, partitions: Sequence[TopicPartition], position: Position, note: Callable[[str], None]
) -> Offsets:
    """Return the offset to start at in each partition.

    An offset that a partition does not have is moved to the nearest that it has, and `note` is told: the other
    partitions may well have it.
    """
    if position is Edge.START:
        return consumer.beginning_offsets(partitions)
    ends = consumer.end_offsets(partitions)
    if position is Edge.END:
        return ends
    if isinstance(position, Absolute | Last):
        return _within(consumer.beginning_offsets(partitions), ends, position, note)
    found = consumer.offsets_for_times(dict.fromkeys(partitions, position.at_ms))
    return {tp: ends[tp] if hit is None else hit.offset for tp, hit in found.items()}


def _within(
    beginnings: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    position: Absolute | Last,
    note: Callable[[str], None],
) -> Offsets:
    starts: Offsets = {}
    for tp, end in ends.items():
        if isinstance(position, Last):
            starts[tp] = max(beginnings[tp], end - position.back)
            continue
        starts[tp] = min(max(beginnings[tp], position.offset), end)
        if starts[tp] != position.offset:
            has = f"only {beginnings[tp]} to {end - 1}" if beginnings[tp] < end else "it is empty"
            note(f"{tp} has no offset {position.offset}, {has}; starting at {starts[tp]}")
    return starts
