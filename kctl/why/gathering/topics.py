"""Topics as a part of a look: partitions as each broker has them, and the configs that findings need."""

from collections.abc import Mapping, Sequence

from kctl.client.admin import ConfigEntry, ConfigResource, MetadataView, ResourceType, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import PartitionInfo
from kctl.client.errors import BrokerError, KafkaError, KafkaTimeoutError, ProtocolError, RequestBudgetError
from kctl.why.gathering.asker import PATIENCE_S, Asker
from kctl.why.gathering.selection import Selection
from kctl.why.look import ConfigValue, Gap, Look

OFFSETS_TOPIC = "__consumer_offsets"
MOST_LEADERLESS = 100
"""Topics without a leader of which is read who may lead."""
TOPIC_CONFIGS = frozenset(
    {
        "cleanup.policy",
        "compression.type",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.format.version",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "unclean.leader.election.enable",
    }
)
BROKER_CONFIGS = frozenset(
    {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "auto.leader.rebalance.enable",
    }
)
"""The configs that are kept of a response; all others are dropped unread, those marked sensitive always."""


def with_views(asker: Asker, look: Look, selection: Selection, before: Look | None) -> Look:
    """Add each broker's own metadata, of the topics that are known so far; one that does not respond is silent.

    One that was silent in an earlier look is asked again, and waited for no longer than `PATIENCE_S`.
    Raises: KafkaError: the client itself is refused the metadata, without which no broker can be asked.
    """
    names: list[str] | None = None
    if selection.topics is not None:
        known = () if before is None or not selection.has_brokers else before.topics
        names = sorted({*selection.topics, *known})
    again = [node.node_id for node in asker.nodes if node.node_id in asker.silent]
    results = _views(asker, asker.alive, names, asker.share_s())
    for node_id, failure in results.failed.items():
        if isinstance(failure, RequestBudgetError | BrokerError) or not asker.admin.has_requests_left:
            asker.gap("Metadata", f"broker {node_id}", failure)
        else:
            asker.unanswered(node_id, "Metadata", failure)
    late = _views(asker, again, names, min(asker.share_s(), PATIENCE_S))  # silent in an earlier look
    for node_id in late.done:
        del asker.silent[node_id]
    for node_id, failure in late.failed.items():
        if not asker.silent[node_id].is_certain and isinstance(failure, KafkaTimeoutError):
            asker.unanswered(node_id, "Metadata", failure)
    return look._replace(views=results.done | late.done)


def _views(
    asker: Asker, node_ids: Sequence[int], names: Sequence[str] | None, timeout_s: float
) -> Results[int, MetadataView]:
    try:
        return asker.admin.metadata_views(node_ids, names, timeout=timeout_s)
    except KafkaError as error:
        if isinstance(error, KafkaTimeoutError) and isinstance(error.cause, BrokerError | ProtocolError):
            raise error.cause from error  # the client's own metadata was refused, and without it no broker is asked
        return Results({}, dict.fromkeys(node_ids, error))


def with_topics(asker: Asker, look: Look, selection: Selection) -> Look:
    """Add the selected topics and those of the groups. Raises: KafkaError: a selected one does not exist."""
    if selection.topics is None:
        listed = asker.ask(
            "Metadata", "all topics", lambda s: asker.admin.list_topics(include_internal=True, timeout=s)
        )
        return look._replace(topics=_newest(look, {name: each.partitions for name, each in (listed or {}).items()}))
    names = sorted({*selection.topics, *(topic for group in look.groups.values() for topic in group.topics)})
    if any(_lacks_coordinator(gap) for gap in asker.gaps):
        names.append(OFFSETS_TOPIC)
    if not names:
        return look
    results = asker.ask("Metadata", "topics", lambda s: asker.admin.describe_topics(names, timeout=s))
    if results is None:
        return look
    for name in selection.topics:
        if name in results.failed:
            raise results.failed[name]
    topics: dict[str, Mapping[int, PartitionInfo]] = {name: each.partitions for name, each in results.done.items()}
    return look._replace(topics=_newest(look, topics), missing_topics=results.failed)


def _lacks_coordinator(gap: Gap) -> bool:
    error = gap.error.cause if isinstance(gap.error, KafkaTimeoutError) else gap.error
    is_about_groups = gap.request in ("DescribeGroups", "OffsetFetch")
    return is_about_groups and isinstance(error, BrokerError) and error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def _newest(look: Look, topics: Mapping[str, Mapping[int, PartitionInfo]]) -> dict[str, Mapping[int, PartitionInfo]]:
    """Return the partitions as the broker with the newest leader has them: the one that was asked may be behind."""
    newest = {name: dict(partitions) for name, partitions in topics.items()}
    for view in look.views.values():
        for topic in view.topics.values():
            partitions = newest.get(topic.name, {})
            for number, info in topic.partitions.items():
                if number in partitions and info.leader_epoch > partitions[number].leader_epoch:
                    partitions[number] = info
    return dict(newest)


def with_eligible_leaders(asker: Asker, look: Look) -> Look:
    """Add who may lead the partitions of topics that have one without a leader; brokers before 4.0 do not know it."""
    topics = sorted({tp.topic for tp, info in look.partitions.items() if info.leader_id < 0})[:MOST_LEADERLESS]
    found = asker.quietly(lambda: asker.admin.eligible_leaders(topics, timeout=asker.share_s())) if topics else None
    return look if found is None else look._replace(eligible=found.done)


def with_configs(asker: Asker, look: Look, selection: Selection, before: Look | None) -> Look:
    """Add the configs of topics and brokers, and the moves where one of them has a throttle; from `before` if any."""
    if before is not None:
        return look._replace(
            topic_configs=before.topic_configs, broker_configs=before.broker_configs, moving=before.moving
        )
    topics = [ConfigResource(ResourceType.TOPIC, name) for name in look.topics]
    brokers = []
    if selection.has_brokers:
        brokers = [ConfigResource(ResourceType.BROKER, str(node_id)) for node_id in asker.alive]
    if not topics and not brokers:
        return look
    resources = [*topics, *brokers]
    found = asker.each("DescribeConfigs", "configs", lambda s: asker.admin.describe_configs(resources, timeout=s))
    look = look._replace(
        topic_configs={each.name: _kept(found[each], TOPIC_CONFIGS) for each in topics if each in found},
        broker_configs={int(each.name): _kept(found[each], BROKER_CONFIGS) for each in brokers if each in found},
    )
    if not look.throttled_brokers and not look.throttled_topics:
        return look
    moves = asker.ask(
        "ListPartitionReassignments", "the cluster", lambda s: asker.admin.list_partition_reassignments(timeout=s)
    )
    return look._replace(moving=None if moves is None else frozenset(moves))


def _kept(configs: Mapping[str, ConfigEntry], names: frozenset[str]) -> dict[str, ConfigValue]:
    return {
        name: ConfigValue(entry.value, entry.source)
        for name, entry in configs.items()
        if name in names and entry.value is not None and not entry.is_sensitive
    }
