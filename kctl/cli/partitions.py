"""Which partitions to read: topics by name or pattern, and `-p 0,2-4`, answered by the brokers.

Shown by tests/unit/cli/test_partitions.py and tests/cli/test_produce_consume.py.
"""

import re
from collections.abc import Iterable, Sequence

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.offsets import OffsetSpec
from kctl.cli.topic_words import TopicWords
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer

MOST_PARTITIONS = 100_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


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


def choose_partitions(
    consumer: Consumer,
    topics: TopicWords,
    wanted: Sequence[int],
    specs: Sequence[OffsetSpec] = (),
    *,
    may_be_none: bool = False,
) -> list[TopicPartition]:
    """Return the partitions to read: the wanted ones of each topic, or all when none is named.

    Args:
        specs: each is about at least one of them, or it was a mistake.
        may_be_none: patterns need not match anything yet.
    Raises:
        CommandError: a topic lacks a wanted partition, a spec is about none, or no topic matches.
        BrokerError: no such topic, or not allowed.
    """
    found = {topic: consumer.partitions_for(topic) for topic in topics.names}
    if topics.patterns:
        there = consumer.list_topics()
        found |= {topic: there[topic] for topic in topics.chosen_of(there) if topic not in found}
    if not found and not may_be_none:
        raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"no topic matches {topics}", "kctl topics list shows them")
    chosen: list[TopicPartition] = []
    for topic, infos in found.items():
        existing = [info.partition for info in infos]
        missing = [number for number in wanted if number not in existing]
        if missing:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"topic {topic} has no partition {', '.join(map(str, missing))}",
                f"it has {len(existing)}, numbered from 0",
            )
        chosen.extend(TopicPartition(topic, number) for number in wanted or existing)
    for spec in specs:
        if chosen and not any(spec.is_about(tp.partition) for tp in chosen):
            raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"-o {spec}: no partition that is read has such a number")
    return chosen
