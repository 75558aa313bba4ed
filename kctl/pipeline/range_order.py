"""Order in which an export starts its ranges, and the ranges that can be committed if some are not done."""

from collections.abc import Container, Iterator, Sequence
from itertools import chain, zip_longest

from kctl.client.cluster import TopicPartition
from kctl.pipeline.ranges import OffsetRange


def interleaved(ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield the ranges in an order that alternates between partitions, because different brokers may lead them."""
    by_partition: dict[TopicPartition, list[OffsetRange]] = {}
    for each in ranges:
        by_partition.setdefault(each.topic_partition, []).append(each)
    turns = chain.from_iterable(zip_longest(*by_partition.values()))
    return (each for each in turns if each is not None)


def without_holes(ranges: Sequence[OffsetRange], done: Container[int]) -> list[int]:
    """Return the indexes of the done ranges that precede the first unfinished range of their partition.

    Args:
        ranges: in offset order within each partition.
        done: indexes of ranges that are done.
    """
    kept: list[int] = []
    broken: set[TopicPartition] = set()
    for position, each in enumerate(ranges):
        if position not in done:
            broken.add(each.topic_partition)
        elif each.topic_partition not in broken:
            kept.append(position)
    return kept
