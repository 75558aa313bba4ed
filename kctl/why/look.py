"""Look: what read-only requests reported of a cluster at one time, as values.

Looks: one or two of them at the same subjects, with the questions that several findings ask. Pure: knows no requests.
"""

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
"""A broker that is far away, or has much to do, takes that long to accept a connection and answer."""
FUTURE_MS = 3_600_000
"""Kafka's default of message.timestamp.after.max.ms: clocks differ by less."""
LEAST_FREE_PERCENT = 10
THROTTLE_RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
THROTTLE_LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


class Gap(NamedTuple):
    """A request that was not answered: Kafka's name of the API, what it was about, and why.

    `error` is None where it was not sent, because the time or the budget of requests was spent.
    """

    request: str
    of: str
    error: KafkaError | None
    reason: str


class Silence(NamedTuple):
    """Why a broker counts as silent, in words and as the error that it was, and the phase that was not completed."""

    reason: str
    error: KafkaError
    phase: str

    @property
    def is_certain(self) -> bool:
        """Whether it was waited for long enough to be a finding; else it may only be slow."""
        return not isinstance(self.error, KafkaTimeoutError) or self.error.elapsed_ms >= LEAST_SILENCE_MS


class ConfigValue(NamedTuple):
    """A config value and where it was set, a key of `CONFIG_SOURCES`."""

    value: str
    source: int

    @property
    def is_set(self) -> bool:
        """Whether somebody has set it, to more than nothing."""
        return self.value != "" and CONFIG_SOURCES.get(self.source) != "DEFAULT_CONFIG"


class GroupLook(NamedTuple):
    """A group and what it has committed; None of a partition: nothing."""

    description: GroupDescription
    committed: Mapping[TopicPartition, OffsetAndMetadata | None]

    @property
    def owners(self) -> dict[TopicPartition, MemberDescription]:
        """The member that each partition is assigned to."""
        return {tp: member for member in self.description.members for tp in member.assignment or ()}

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that it has committed or that a member has."""
        return sorted({*self.committed, *self.owners})

    @property
    def topics(self) -> list[str]:
        """The topics of these partitions, and those to which a member subscribes."""
        subscribed = {topic for member in self.description.members for topic in member.subscribed_topics or ()}
        return sorted({tp.topic for tp in self.partitions} | subscribed)


class ExpiringOffsets(NamedTuple):
    """Records of a partition before `until_offset` are at least `age_ms` old, and are deleted at `retention_ms`."""

    until_offset: int
    age_ms: int
    retention_ms: int


class OldKeys(NamedTuple):
    """The oldest records of a log that is to be compacted, all of them at least `age_ms` old; and its size."""

    start_offset: int
    sample: KeySample
    size_bytes: int
    age_ms: int


class Glimpse(NamedTuple):
    """Groups and transactions as they were for a moment between two looks."""

    wall_ms: int
    groups: Mapping[str, GroupDescription]
    transactions: Mapping[str, TransactionDescription] = MappingProxyType({})


class Look(NamedTuple):
    """One look.

    Attributes:
        wall_ms: when it began, by the clock of this machine.
        nodes, fenced: the brokers that take part, and those of which the controller hears no heartbeats.
        topics: partitions by topic and number.
        log_dirs: by broker, with `has_brokers`: with the replicas of compacted topics alone unless the disk is filling.
        missing_topics: topics of the groups that cannot be described, with the reason.
        starts, ends, stable_ends: offsets; `stable_ends` are the ends for readers of committed records. Of topics that
            were not named, that no group reads and that are not compacted, only those of partitions whose readers wait
            for a transaction, and `ends` if looks are compared.
        newest: the record with the largest timestamp; offset -1 where there is none. Of these topics only timestamps
            of the future.
        markers_from: of partitions that a group has almost read to the end, or of short ones without a committed
            offset, the first offset of a group from which on there are no records, but only markers of transactions.
        epoch_ends: by partition and leader epoch, where that epoch ends in the log of the present leader: of epochs
            that are over, in which a group has read or which led in the first look.
        expiring: of partitions that a group has not read to the end, what retention deletes next.
        next_times: the timestamps of the next record of a group, where retention is near.
        shapes, shapes_before: of partitions on which a group stands still: the next record, or why it cannot be read;
            and records in front of it.
        old_keys: of compacted topics, the keys of the oldest records, with `has_brokers`.
        open_transactions: those that hold a last stable offset back.
        transactions: by transactional.id, with `has_brokers`.
        features: the levels of the cluster.
        quorum_at_ms: when `quorum` arrived, by the clock of this machine; None: with the look.
        quotas: of clients, where a group has members.
        eligible: of topics with a partition without a leader, who may lead it.
        responding: brokers that have sent their metadata.
        newest_leaders: partitions as the broker with the newest leader epoch reports them: if looks are compared, and
            of topics that have an error.
        behind: if there is an earlier look, by broker the partitions of which it reports an older epoch than that look.
        silent: brokers that did not respond, with the reason.
        probed: what the probe found, with `has_brokers`.
        paused_ms: how long brokers asked this client to pause, by broker.
        moving: partitions that are being moved, looked up where a throttle is set; None where they are not known.
        gaps: what was not answered.
        requests: how many requests were sent.
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
    next_times: Mapping[TopicPartition, int] = MappingProxyType({})
    shapes: Mapping[TopicPartition, RecordShape | KafkaError] = MappingProxyType({})
    shapes_before: Mapping[TopicPartition, tuple[RecordShape, ...]] = MappingProxyType({})
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
        """Every partition."""
        return {TopicPartition(topic, number): info for topic, of in self.topics.items() for number, info in of.items()}

    def groups_of(self, tp: TopicPartition) -> list[str]:
        """Return the groups that have committed an offset of a partition."""
        return [group_id for group_id, group in self.groups.items() if group.committed.get(tp) is not None]

    @property
    def throttled_brokers(self) -> list[int]:
        """Brokers on which a rate of replication throttles is set."""
        return sorted(each for each, of in self.broker_configs.items() if _is_any_set(of, THROTTLE_RATES))

    @property
    def throttled_topics(self) -> list[str]:
        """Topics on which a list of throttled replicas is set."""
        return sorted(each for each, of in self.topic_configs.items() if _is_any_set(of, THROTTLE_LISTS))

    @property
    def compacted_topics(self) -> set[str]:
        """Topics whose cleanup.policy has `compact`."""
        policies = {topic: configs.get("cleanup.policy") for topic, configs in self.topic_configs.items()}
        return {topic for topic, policy in policies.items() if policy is not None and "compact" in policy.value}

    def node_names(self) -> dict[int, str]:
        """Return `2 (host:port)` by the id of each broker."""
        return {node.node_id: f"{node.node_id} ({node.host}:{node.port})" for node in (*self.fenced, *self.nodes)}

    def uncommitted_partitions(self, group: GroupLook) -> list[TopicPartition]:
        """Return the partitions without a committed offset, of topics that have one."""
        committed = {tp for tp, offset in group.committed.items() if offset is not None}
        topics = dict.fromkeys(tp.topic for tp in group.committed if tp in committed)
        every = (TopicPartition(topic, number) for topic in topics for number in self.topics.get(topic, ()))
        return [tp for tp in every if tp not in committed]


def _is_any_set(configs: Mapping[str, ConfigValue], names: tuple[str, ...]) -> bool:
    return any(configs[name].is_set for name in names if name in configs)


# --- questions of several findings ------------------------------------------------------------------------------------

STABLE, RECONCILING = "Stable", "Reconciling"
"""The states of a group that does not rebalance, and of one whose members are on their way to a new assignment."""
LEFT_FOR_NOW = -2
"""The epoch of a static member that has closed and is expected back (KIP-848); its group stays in `RECONCILING`."""


class Looks(NamedTuple):
    """The present look and, with --watch, an earlier one, and glimpses at groups and transactions between them."""

    now: Look
    before: Look | None = None
    between: tuple[Glimpse, ...] = ()

    @property
    def apart_ms(self) -> int:
        """The time between the two looks."""
        return 0 if self.before is None else max(0, self.now.wall_ms - self.before.wall_ms)

    @property
    def apart(self) -> str:
        return duration_text(self.apart_ms)

    def lag(self, group: GroupLook, tp: TopicPartition) -> int | None:
        """Return how many offsets of a partition wait for a group, 0 where no record is among them; None: not known."""
        committed, end = group.committed.get(tp), self.now.ends.get(tp)
        if committed is None or end is None:
            return None
        markers_from = self.now.markers_from.get(tp, end.offset)
        return 0 if committed.offset >= markers_from else end.offset - committed.offset

    def arrived(self, tp: TopicPartition) -> int:
        """Return how many records came between the looks."""
        before = None if self.before is None else self.before.ends.get(tp)
        end = self.now.ends.get(tp)
        return 0 if before is None or end is None else max(0, end.offset - before.offset)

    def both(self, group_id: str) -> tuple[GroupLook, GroupLook] | None:
        """Return a group as it was in both looks, or None."""
        before = None if self.before is None else self.before.groups.get(group_id)
        now = self.now.groups.get(group_id)
        return None if before is None or now is None else (before, now)

    def history(self, group_id: str) -> list[GroupDescription]:
        """Return a group each time that it was seen, the first first."""
        both = self.both(group_id)
        if both is None:
            return []
        between = [each.groups[group_id] for each in self.between if group_id in each.groups]
        return [both[0].description, *between, both[1].description]


def has_left_for_now(member: MemberDescription) -> bool:
    """Return whether a static member has closed and keeps its partitions until its session timeout."""
    return member.group_instance_id is not None and member.epoch == LEFT_FOR_NOW


def is_settled(group: GroupDescription) -> bool:
    """Return whether a group does not rebalance: it is stable, or waits for static members alone."""
    if group.state != RECONCILING:
        return group.state == STABLE
    left = [member for member in group.members if has_left_for_now(member)]
    return bool(left) and all(member in left or member.epoch == group.epoch for member in group.members)


def frozen_partitions(looks: Looks, group_id: str) -> dict[TopicPartition, MemberDescription]:
    """Return the partitions on which a settled group did not move although records wait, with their owners.

    Not those at which a reader of committed records has to wait for a transaction.
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
    """Return whether the disk of a directory has little free space."""
    return found.total_bytes > 0 and found.usable_bytes * 100 < found.total_bytes * LEAST_FREE_PERCENT


def in_sync_missing(info: PartitionInfo) -> list[int]:
    """Return the replicas that are not in sync."""
    return [node_id for node_id in info.replicas if node_id not in info.isr]
