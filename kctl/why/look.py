"""Look: responses of read-only requests at one time. Looks: one or two of them, with shared queries. Does no I/O."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kctl.client.admin import (
    CONFIG_SOURCES,
    EligibleLeaders,
    EpochEnd,
    GroupDescription,
    KeySample,
    LogDir,
    MemberDescription,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OpenTransaction,
    QuorumDescription,
    RecordShape,
    TransactionDescription,
)
from kctl.client.clock import duration_text
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError, KafkaTimeoutError
from kctl.client.quotas import QuotaEntity
from kctl.why.probing import Probed

LEAST_SILENCE_MS = 500
"""Minimum wait before a broker counts as silent, in ms, because remote or busy brokers may be slow."""
FUTURE_MS = 3_600_000
"""Kafka's default of message.timestamp.after.max.ms, in ms. Differences of clocks are smaller."""
LEAST_FREE_PERCENT = 10
THROTTLE_RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
THROTTLE_LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


class Gap(NamedTuple):
    """Missing response.

    Attributes:
        request: Kafka's name of the API.
        of: subject of the request.
        error: None without a request, because time or request budget was used up, and for a response that is empty.
        right: permission that is missing, or that may be missing if the error is None.
    """

    request: str
    of: str
    error: KafkaError | None
    reason: str
    right: str | None = None


class Silence(NamedTuple):
    """Reason why a broker is silent.

    Attributes:
        phase: connection phase that was not completed.
    """

    reason: str
    error: KafkaError
    phase: str

    @property
    def is_certain(self) -> bool:
        """True if the broker is silent and not only slow: the error is no timeout, or the wait was long enough."""
        return not isinstance(self.error, KafkaTimeoutError) or self.error.elapsed_ms >= LEAST_SILENCE_MS


class ConfigValue(NamedTuple):
    value: str
    source: int

    @property
    def is_set(self) -> bool:
        return self.value != "" and CONFIG_SOURCES.get(self.source) != "DEFAULT_CONFIG"

    @property
    def is_default_of_brokers(self) -> bool:
        """True if the cluster-wide default of brokers sets the value."""
        return CONFIG_SOURCES.get(self.source) == "DYNAMIC_DEFAULT_BROKER_CONFIG"


class GroupLook(NamedTuple):
    """Group and its committed offsets. An offset is None if the group has not committed one."""

    description: GroupDescription
    committed: Mapping[TopicPartition, OffsetAndMetadata | None]

    @property
    def owners(self) -> dict[TopicPartition, MemberDescription]:
        return {tp: member for member in self.description.members for tp in member.assignment or ()}

    @property
    def partitions(self) -> list[TopicPartition]:
        return sorted({*self.committed, *self.owners})

    @property
    def topics(self) -> list[str]:
        subscribed = {topic for member in self.description.members for topic in member.subscribed_topics or ()}
        return sorted({tp.topic for tp in self.partitions} | subscribed)


class ExpiringOffsets(NamedTuple):
    """Records before `until_offset`, at least `age_ms` old, which retention deletes at `retention_ms`."""

    until_offset: int
    age_ms: int
    retention_ms: int


class OldKeys(NamedTuple):
    """Sample of the oldest records of a compacted log.

    Attributes:
        size_bytes: size of the log.
        age_ms: minimum age of the sampled records.
    """

    start_offset: int
    sample: KeySample
    size_bytes: int
    age_ms: int


class Glimpse(NamedTuple):
    """State of groups and transactions at one time between two looks."""

    wall_ms: int
    groups: Mapping[str, GroupDescription]
    transactions: Mapping[str, TransactionDescription] = MappingProxyType({})


class Look(NamedTuple):
    """State of a cluster at one time.

    Attributes:
        wall_ms: start time, by the clock of this machine.
        nodes, fenced: registered and fenced brokers.
        log_dirs: directories by broker, with `has_brokers`. Unless a disk is filling, replicas only of compacted
            topics.
        missing_topics: errors of group topics that cannot be described.
        starts, ends, stable_ends: log starts, log ends, and last stable offsets. For topics that are not selected, read
            by a group, or compacted: only partitions with open transactions, and `ends` if looks are compared.
        newest: record with the largest timestamp. Its offset is -1 without records. Other topics have only future
            timestamps.
        markers_from: first offset from which a partition has only transaction markers, for small lags.
        epoch_ends: ends of past leader epochs in the current log, for epochs in which a group committed or of the first
            look.
        expiring: records that retention deletes next, of partitions with lag.
        next_times: timestamps of the next records of groups, by partition and offset, if retention is near.
        shapes: next record of stuck groups, or the error of its batch, by partition and committed offset.
        shapes_before: previous records, by partition and committed offset.
        old_keys: keys of the oldest records of compacted topics, with `has_brokers`.
        open_transactions: transactions that hold back a last stable offset.
        transactions: descriptions by transactional.id, with `has_brokers`.
        quorum_at_ms: arrival time of `quorum`, by the clock of this machine. None means `wall_ms`.
        quotas: client quotas, if a group has members.
        eligible: eligible leaders, of topics with a partition without leader.
        responding: brokers that returned metadata.
        newest_leaders: partitions with the newest leader epoch of all brokers, if looks are compared, and of topics
            with an error.
        behind: partitions for which a broker reports an older epoch than the earlier look, by broker.
        probed: result of the probe, with `has_brokers`.
        paused_ms: throttle time of this client by broker.
        moving: partitions in reassignment, read if a throttle is set. None if unknown.
    """

    wall_ms: int
    nodes: tuple[Node, ...] = ()
    fenced: tuple[Node, ...] = ()
    topics: Mapping[str, Mapping[int, PartitionInfo]] = MappingProxyType({})
    missing_topics: Mapping[str, KafkaError] = MappingProxyType({})
    groups: Mapping[str, GroupLook] = MappingProxyType({})
    starts: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    ends: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    stable_ends: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    newest: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    markers_from: Mapping[TopicPartition, int] = MappingProxyType({})
    epoch_ends: Mapping[tuple[TopicPartition, int], EpochEnd] = MappingProxyType({})
    expiring: Mapping[TopicPartition, ExpiringOffsets] = MappingProxyType({})
    next_times: Mapping[tuple[TopicPartition, int], int] = MappingProxyType({})
    shapes: Mapping[tuple[TopicPartition, int], RecordShape | KafkaError] = MappingProxyType({})
    shapes_before: Mapping[tuple[TopicPartition, int], tuple[RecordShape, ...]] = MappingProxyType({})
    old_keys: Mapping[TopicPartition, OldKeys] = MappingProxyType({})
    open_transactions: tuple[OpenTransaction, ...] = ()
    transactions: Mapping[str, TransactionDescription] = MappingProxyType({})
    features: Mapping[str, int] = MappingProxyType({})
    topic_configs: Mapping[str, Mapping[str, ConfigValue]] = MappingProxyType({})
    broker_configs: Mapping[int, Mapping[str, ConfigValue]] = MappingProxyType({})
    log_dirs: Mapping[int, list[LogDir]] = MappingProxyType({})
    quorum: QuorumDescription | None = None
    quorum_at_ms: int | None = None
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = MappingProxyType({})
    eligible: Mapping[TopicPartition, EligibleLeaders] = MappingProxyType({})
    responding: tuple[int, ...] = ()
    newest_leaders: Mapping[TopicPartition, PartitionInfo] = MappingProxyType({})
    behind: Mapping[int, Mapping[TopicPartition, PartitionInfo]] = MappingProxyType({})
    silent: Mapping[int, Silence] = MappingProxyType({})
    probed: Probed = Probed()
    paused_ms: Mapping[str, int] = MappingProxyType({})
    moving: frozenset[TopicPartition] | None = None
    gaps: tuple[Gap, ...] = ()
    requests: int = 0

    @property
    def partitions(self) -> dict[TopicPartition, PartitionInfo]:
        return {TopicPartition(topic, number): info for topic, of in self.topics.items() for number, info in of.items()}

    def leaderless(self) -> dict[str, list[PartitionInfo]]:
        """Return the partitions whose leader is not a registered broker, by topic."""
        registered = {node.node_id for node in (*self.nodes, *self.fenced)}
        found = {
            name: [info for info in of.values() if info.leader_id not in registered] for name, of in self.topics.items()
        }
        return {name: infos for name, infos in found.items() if infos}

    def partition(self, tp: TopicPartition) -> PartitionInfo | None:
        """Return a partition or None, without building all `partitions`."""
        return self.topics.get(tp.topic, {}).get(tp.partition)

    def next_offset(self, group: GroupLook, tp: TopicPartition) -> int | None:
        """Return the offset at which a group continues: committed offset or log start. Return None without a commit."""
        committed, start = group.committed.get(tp), self.starts.get(tp)
        return None if committed is None else max(committed.offset, start.offset if start is not None else 0)

    def next_time_ms(self, group: GroupLook, tp: TopicPartition) -> int | None:
        """Return the timestamp of a group's next record in a partition, or None if it is unknown."""
        at = self.next_offset(group, tp)
        return None if at is None else self.next_times.get((tp, at))

    @property
    def throttled_brokers(self) -> list[int]:
        return sorted(each for each, of in self.broker_configs.items() if set_configs(of, THROTTLE_RATES))

    @property
    def throttled_topics(self) -> list[str]:
        return sorted(each for each, of in self.topic_configs.items() if set_configs(of, THROTTLE_LISTS))

    @property
    def compacted_topics(self) -> set[str]:
        """Topics whose cleanup.policy includes `compact`."""
        policies = {topic: configs.get("cleanup.policy") for topic, configs in self.topic_configs.items()}
        return {topic for topic, policy in policies.items() if policy is not None and "compact" in policy.value}

    def node_names(self) -> dict[int, str]:
        """Return a dict from broker ID to `2 (host:port)`."""
        return {node.node_id: f"{node.node_id} ({node.host}:{node.port})" for node in (*self.fenced, *self.nodes)}

    def uncommitted_partitions(self, group: GroupLook) -> list[TopicPartition]:
        """Return the partitions without a committed offset, of topics that have one in another partition."""
        committed = {tp for tp, offset in group.committed.items() if offset is not None}
        topics = dict.fromkeys(tp.topic for tp in group.committed if tp in committed)
        every = (TopicPartition(topic, number) for topic in topics for number in self.topics.get(topic, ()))
        return [tp for tp in every if tp not in committed]


def set_configs(configs: Mapping[str, ConfigValue], names: tuple[str, ...]) -> dict[str, ConfigValue]:
    """Return the configs with these names that are set."""
    return {name: configs[name] for name in names if name in configs and configs[name].is_set}


# --- shared queries ---------------------------------------------------------------------------------------------------

STABLE, RECONCILING = "Stable", "Reconciling"
"""States of a group without a rebalance, and of a group whose members move to a new assignment."""
LEFT_FOR_NOW = -2
"""Epoch of a static member that left temporarily (KIP-848). Its group stays in `RECONCILING`."""


class Looks(NamedTuple):
    """Current look and, with --watch, an earlier look and the glimpses between both."""

    now: Look
    before: Look | None = None
    between: tuple[Glimpse, ...] = ()

    @property
    def apart_ms(self) -> int:
        """Time between the looks, or 0 without an earlier look."""
        return 0 if self.before is None else max(0, self.now.wall_ms - self.before.wall_ms)

    @property
    def apart(self) -> str:
        return duration_text(self.apart_ms)

    def lag(self, group: GroupLook, tp: TopicPartition) -> int | None:
        """Return the lag of a group in offsets, without deleted records and trailing markers, or None if unknown."""
        at, end = self.now.next_offset(group, tp), self.now.ends.get(tp)
        if at is None or end is None:
            return None
        return 0 if at >= self.now.markers_from.get(tp, end.offset) else end.offset - at

    def arrived(self, tp: TopicPartition) -> int:
        """Return the number of offsets that arrived between the looks, or 0 if unknown."""
        before = None if self.before is None else self.before.ends.get(tp)
        end = self.now.ends.get(tp)
        return 0 if before is None or end is None else max(0, end.offset - before.offset)

    def both(self, group_id: str) -> tuple[GroupLook, GroupLook] | None:
        """Return the group in the earlier and in the current look, or None if one of them lacks it."""
        before = None if self.before is None else self.before.groups.get(group_id)
        now = self.now.groups.get(group_id)
        return None if before is None or now is None else (before, now)

    def history(self, group_id: str) -> list[GroupDescription]:
        """Return all descriptions of a group, the oldest first, or an empty list if a look lacks it."""
        both = self.both(group_id)
        if both is None:
            return []
        between = [each.groups[group_id] for each in self.between if group_id in each.groups]
        return [both[0].description, *between, both[1].description]


def has_left_for_now(member: MemberDescription) -> bool:
    """Return whether a static member left but keeps its partitions until its session timeout."""
    return member.group_instance_id is not None and member.epoch == LEFT_FOR_NOW


def is_settled(group: GroupDescription) -> bool:
    """Return whether a group is not rebalancing: it is stable, or waits only for static members."""
    if group.state != RECONCILING:
        return group.state == STABLE
    rest = [member for member in group.members if not has_left_for_now(member)]
    return len(rest) < len(group.members) and all(member.epoch == group.epoch for member in rest)


def frozen_partitions(looks: Looks, group_id: str) -> dict[TopicPartition, MemberDescription]:
    """Return the partitions with lag on which a settled group made no progress, with their members.

    Excludes partitions whose next record waits for a transaction.
    """
    both = looks.both(group_id)
    if both is None or not all(is_settled(group.description) for group in both):
        return {}
    before, now = both
    owners_before, owners = before.owners, now.owners
    found: dict[TopicPartition, MemberDescription] = {}
    for tp, member in owners.items():
        old, new, stable = before.committed.get(tp), now.committed.get(tp), looks.now.stable_ends.get(tp)
        was = owners_before.get(tp)
        if old is None or new is None or was is None or was.member_id != member.member_id:
            continue
        end_before = looks.before.ends.get(tp) if looks.before is not None else None
        waited = end_before is not None and end_before.offset > old.offset
        can_read = stable is not None and stable.offset > new.offset and bool(looks.lag(now, tp))
        if old.offset == new.offset and waited and can_read:
            found[tp] = member
    return found


def is_filling(found: LogDir) -> bool:
    return found.total_bytes > 0 and found.usable_bytes * 100 < found.total_bytes * LEAST_FREE_PERCENT


def in_sync_missing(info: PartitionInfo) -> list[int]:
    return [node_id for node_id in info.replicas if node_id not in info.isr]
