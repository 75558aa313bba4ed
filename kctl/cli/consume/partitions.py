"""Partitions to read, from topics, patterns and `-p`, validated with the brokers."""

from collections.abc import Sequence

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import BrokerError
from kctl.client.wording import listed
from kctl.grammar.offsets import OffsetSpec
from kctl.grammar.topics import TopicWords


def choose_partitions(
    consumer: Consumer,
    topics: TopicWords,
    wanted: Sequence[int],
    specs: Sequence[OffsetSpec] = (),
    *,
    may_be_none: bool = False,
    timeout_s: float | None = None,
) -> list[TopicPartition]:
    """Return the partitions `wanted` of each topic; all partitions if `wanted` is empty.

    Args:
        may_be_none: patterns need not match a topic yet.
        timeout_s: timeout of each query, if it is not default.api.timeout.ms.
    Raises:
        CommandError: a partition is missing, a spec selects no partition, or no topic matches.
        BrokerError: a topic does not exist or is not authorized.
    """
    found = {topic: partitions_of(consumer, topic, timeout_s) for topic in topics.names}
    if topics.patterns:
        there = consumer.list_topics(timeout_s)
        found |= {topic: there[topic] for topic in topics.chosen_of(there) if topic not in found}
    if not found and not may_be_none:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE, f"no topic matches {topics}", "list topics with: kctl topics list"
        )
    chosen: list[TopicPartition] = []
    for topic, infos in found.items():
        existing = [info.partition for info in infos]
        missing = [number for number in wanted if number not in existing]
        if missing:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"topic {topic} has no partition {listed(missing)}",
                f"use a partition from 0 to {len(existing) - 1}",
            )
        chosen.extend(TopicPartition(topic, number) for number in wanted or existing)
    for spec in specs:
        if chosen and not any(spec.is_about(tp.partition) for tp in chosen):
            raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"-o {spec} does not match any partition to read")
    return chosen


def partitions_of(consumer: Consumer, topic: str, timeout_s: float | None = None) -> list[PartitionInfo]:
    """Return the partitions of a topic.

    Raises: BrokerError: the topic does not exist; the hint suggests a similar name or a pattern.
    """
    try:
        return consumer.partitions_for(topic, timeout_s)
    except BrokerError as e:
        from kctl.cli.nearest_names import suggest_topics  # wanted for mistakes alone

        suggest_topics(consumer, {topic: e})
        if "*" in topic:
            e.hint = f"write patterns as '/{topic.replace('.*', '*').replace('*', '.*')}/'"
        raise
