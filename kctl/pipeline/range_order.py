"""The order in which an export begins its ranges, and which of them count when not all are done."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from kctl.client.cluster import TopicPartition
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.ranges import OffsetRange


def interleaved(ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield the ranges so that neighbours are of different partitions, which other brokers may lead."""
    by_partition: dict[TopicPartition, list[OffsetRange]] = {}
    for each in ranges:
        by_partition.setdefault(each.topic_partition, []).append(each)
    turns = chain.from_iterable(zip_longest(*by_partition.values()))
    return (each for each in turns if each is not None)


def without_holes(ranges: Sequence[OffsetRange], done: Mapping[int, ExportedRange]) -> list[ExportedRange]:
    """Return what is done of each partition before the first of its ranges that is not: the next run begins there.

    Args: done: by position in `ranges`, whose order within a partition is that of their offsets.
    """
    kept: list[ExportedRange] = []
    broken: set[TopicPartition] = set()
    for position, each in enumerate(ranges):
        if position not in done:
            broken.add(each.topic_partition)
        elif each.topic_partition not in broken:
            kept.append(done[position])
    return kept
