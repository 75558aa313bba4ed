"""Part of a look about topics: partitions as reported by each broker, and configs."""

from collections.abc import Mapping, Sequence
from itertools import chain

from kctl.client.admin import ConfigEntry, ConfigResource, MetadataView, ResourceType, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_EPOCH, PartitionInfo, TopicPartition
from kctl.client.errors import BrokerError, KafkaError, KafkaTimeoutError, ProtocolError, RequestBudgetError
from kctl.client.wording import counted
from kctl.grammar.integers import integer_in
from kctl.why.gathering.asker import PATIENCE_S, Asker
from kctl.why.gathering.selection import Selection
from kctl.why.look import ConfigValue, Gap, Look

OFFSETS_TOPIC = "__consumer_offsets"
MOST_VIEWS = 8
"""Number of brokers that report topics in parallel. With 200,000 partitions, each response has 9 MB."""
MOST_DOUBTED = 100
"""Maximum number of topics with an error that are read from further brokers."""
MOST_NAMED = 50_000
"""Maximum number of topics to read, because members may subscribe to any number of names. Further topics are a gap."""
MOST_LEADERLESS = 100
"""Maximum number of topics without leader for which eligible leaders are read."""
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
"""Names of configs to keep. Other and sensitive configs are dropped."""


def with_views(asker: Asker, look: Look, selection: Selection, before: Look | None) -> Look:
    """Add the brokers that respond. To compare looks, also add the leaders that each broker reports.

    Brokers that were silent in an earlier look get another request, with a timeout of `PATIENCE_S`.
    Raises: KafkaError: the metadata request of the client itself is rejected.
    """
    again = [node.node_id for node in asker.nodes if node.node_id in asker.silent]
    leaders = Leaders(before)
    has_many = len(asker.nodes) > MOST_VIEWS
    names = _compared_topics(selection, before)
    first_names = [] if has_many else names
    _take_views(asker, leaders, asker.alive, first_names, asker.share_s())
    late = _views(asker, again, first_names, min(asker.share_s(), PATIENCE_S))
    for node_id, view in late.done.items():
        del asker.silent[node_id]
        leaders.take(node_id, view)
    for node_id, failure in late.failed.items():
        if not asker.silent[node_id].is_certain and isinstance(failure, KafkaTimeoutError):
            asker.unanswered(node_id, "Metadata", failure)
    responding = tuple(leaders.behind)
    if has_many and names != []:
        for at in range(0, len(responding), MOST_VIEWS):
            if not asker.can_ask("Metadata", "leaders by broker"):
                break
            _take_views(asker, leaders, responding[at : at + MOST_VIEWS], names, asker.share_s())
    return look._replace(responding=responding, newest_leaders=leaders.newest, behind=leaders.behind)


def _compared_topics(selection: Selection, before: Look | None) -> list[str] | None:
    if not selection.is_compared:
        return []
    if selection.topics is None:
        return None
    known = () if before is None or not selection.has_brokers else before.topics
    return sorted({*selection.topics, *known})


class Leaders:
    """Leaders that brokers report: the newest ones, and outdated reports."""

    def __init__(self, before: Look | None) -> None:
        self.newest: dict[TopicPartition, PartitionInfo] = {}
        self.behind: dict[int, dict[TopicPartition, PartitionInfo]] = {}
        self._epochs: dict[TopicPartition, int] = {}
        """Newest epochs of the earlier look."""
        for tp, info in () if before is None else chain(before.partitions.items(), before.newest_leaders.items()):
            self._epochs[tp] = max(info.leader_epoch, self._epochs.get(tp, NO_EPOCH))

    def take(self, node_id: int, view: MetadataView) -> None:
        behind = self.behind.setdefault(node_id, {})
        for topic in view.topics.values():
            for number, info in topic.partitions.items():
                tp = TopicPartition(topic.name, number)
                known = self.newest.get(tp)
                is_own = info.leader_id == node_id  # in-sync replicas change without a new epoch
                if known is None or (info.leader_epoch, is_own) > (known.leader_epoch, False):
                    self.newest[tp] = info
                if 0 <= info.leader_epoch < self._epochs.get(tp, NO_EPOCH):
                    behind[tp] = info


def _take_views(
    asker: Asker, leaders: Leaders, node_ids: Sequence[int], names: Sequence[str] | None, timeout_s: float
) -> None:
    results = _views(asker, node_ids, names, timeout_s)
    for node_id, view in results.done.items():
        leaders.take(node_id, view)
    for node_id, failure in results.failed.items():
        if isinstance(failure, RequestBudgetError | BrokerError) or not asker.admin.has_requests_left:
            asker.gap("Metadata", f"broker {node_id}", failure)
        else:
            asker.unanswered(node_id, "Metadata", failure)


def _views(
    asker: Asker, node_ids: Sequence[int], names: Sequence[str] | None, timeout_s: float
) -> Results[int, MetadataView]:
    try:
        return asker.admin.metadata_views(node_ids, names, timeout=timeout_s)
    except KafkaError as error:
        if isinstance(error, KafkaTimeoutError) and isinstance(error.cause, BrokerError | ProtocolError):
            raise error.cause from error  # the metadata request of the client was rejected, so no broker can be reached
        return Results({}, dict.fromkeys(node_ids, error))


def with_topics(asker: Asker, look: Look, selection: Selection) -> Look:
    """Add the selected topics and the topics of groups.

    Raises: KafkaError: a selected topic does not exist.
    """
    if selection.topics is None:
        listed = asker.ask(
            "Metadata", "all topics", lambda s: asker.admin.list_topics(include_internal=True, timeout=s)
        )
        return look._replace(
            topics=_newest(look.newest_leaders, {name: each.partitions for name, each in (listed or {}).items()})
        )
    first = [*selection.topics, *([OFFSETS_TOPIC] if any(map(_lacks_coordinator, asker.gaps)) else [])]
    names = list(dict.fromkeys([*first, *sorted({name for each in look.groups.values() for name in each.topics})]))
    if not names:
        return look
    if len(names) > MOST_NAMED:
        further = counted(len(names) - MOST_NAMED, "more topic")
        asker.gaps.append(Gap("Metadata", further, None, f"kctl checks at most {MOST_NAMED:,} topics"))
        del names[MOST_NAMED:]
    results = asker.ask("Metadata", "topics", lambda s: asker.admin.describe_topics(names, timeout=s))
    if results is None:
        return look
    for name in selection.topics:
        if name in results.failed:
            raise results.failed[name]
    topics: dict[str, Mapping[int, PartitionInfo]] = {name: each.partitions for name, each in results.done.items()}
    return look._replace(topics=_newest(look.newest_leaders, topics), missing_topics=results.failed)


def _lacks_coordinator(gap: Gap) -> bool:
    error = gap.error.cause if isinstance(gap.error, KafkaTimeoutError) else gap.error
    is_about_groups = gap.request in ("DescribeGroups", "OffsetFetch")
    return is_about_groups and isinstance(error, BrokerError) and error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def _newest(
    leaders: Mapping[TopicPartition, PartitionInfo], topics: Mapping[str, Mapping[int, PartitionInfo]]
) -> dict[str, Mapping[int, PartitionInfo]]:
    """Return the partitions with the newest leaders, because the broker that reported the topics may be outdated."""
    newest = {name: dict(partitions) for name, partitions in topics.items()}
    for tp, info in leaders.items():
        partitions = newest.get(tp.topic, {})
        if tp.partition in partitions and info.leader_epoch >= partitions[tp.partition].leader_epoch:
            partitions[tp.partition] = info
    return dict(newest)


def with_checked_leaders(asker: Asker, look: Look) -> Look:
    """Replace partitions with a potential finding if another broker has newer metadata."""
    compared = {tp.topic for tp in look.newest_leaders}
    leaderless = {name: infos for name, infos in look.leaderless().items() if name not in compared}
    doubted = [info for infos in leaderless.values() for info in infos]
    doubted += [info for topic in look.topics if topic not in compared for info in _under_min_isr(look, topic)]
    names = list(dict.fromkeys(info.topic for info in doubted))[:MOST_DOUBTED]
    if not names or not asker.can_ask("Metadata", "leaders by broker"):
        return look
    leaders = Leaders(None)
    leaders.newest = {TopicPartition(name, at): info for name in names for at, info in look.topics[name].items()}
    leading = {info.leader_id for info in doubted}
    first = sorted(asker.alive, key=lambda node_id: node_id not in leading)[:MOST_VIEWS]
    _take_views(asker, leaders, first, names, asker.share_s())
    newest = {**look.newest_leaders, **leaders.newest}
    return look._replace(topics=_newest(leaders.newest, look.topics), newest_leaders=newest)


def _under_min_isr(look: Look, topic: str) -> list[PartitionInfo]:
    config = look.topic_configs.get(topic, {}).get("min.insync.replicas")
    least = (None if config is None else integer_in(config.value)) or 0
    return [info for info in look.topics[topic].values() if len(info.isr) < least]


def with_eligible_leaders(asker: Asker, look: Look) -> Look:
    """Add eligible leaders of topics that have a partition without leader. Brokers before 4.0 have none."""
    topics = sorted(look.leaderless())[:MOST_LEADERLESS]
    found = asker.quietly(lambda: asker.admin.eligible_leaders(topics, timeout=asker.share_s())) if topics else None
    return look if found is None else look._replace(eligible=found.done)


def with_configs(asker: Asker, look: Look, selection: Selection, before: Look | None) -> Look:
    """Add configs and, if a throttle is set, ongoing reassignments. If `before` is given, copy them from it."""
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
    wanted = sorted(TOPIC_CONFIGS | BROKER_CONFIGS)
    found = asker.each(
        "DescribeConfigs", "configs", lambda s: asker.admin.describe_configs(resources, keys=wanted, timeout=s)
    )
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
