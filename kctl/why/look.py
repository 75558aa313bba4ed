"""Look: what read-only requests reported of a cluster at one time, as values. Knows neither requests nor findings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kctl.client.admin import (
    CONFIG_SOURCES,
    EpochEnd,
    GroupDescription,
    KeySample,
    LogDir,
    MemberDescription,
    MetadataView,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OpenTransaction,
    QuorumDescription,
    RecordShape,
    TransactionDescription,
)
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.why.probing import Probed

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
    """Why a broker counts as silent, in words and as the error that it was."""

    reason: str
    error: KafkaError


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


class Expiring(NamedTuple):
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
    """Groups as they were for a moment between two looks."""

    wall_ms: int
    groups: Mapping[str, GroupDescription]


class Look(NamedTuple):
    """One look.

    Attributes:
        wall_ms: when it began, by the clock of this machine.
        topics: partitions by topic and number.
        missing_topics: topics of the groups that cannot be described, with the reason.
        starts, ends, stable_ends: offsets; `stable_ends` are the ends for readers of committed records.
        newest: the record with the largest timestamp; offset -1 where there is none.
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
        views: the metadata of topics and brokers as each broker reports it.
        silent: brokers that did not respond, with the reason.
        probed: what the probe found, with `has_brokers`.
        paused_ms: how long brokers asked this client to pause, by broker.
        moving: partitions that are being moved, looked up where a throttle is set; None where they are not known.
        gaps: what was not answered.
        requests: how many requests were sent.
    """

    wall_ms: int
    nodes: tuple[Node, ...] = ()
    controller_id: int = -1
    topics: Mapping[str, Mapping[int, PartitionInfo]] = MappingProxyType({})
    missing_topics: Mapping[str, KafkaError] = MappingProxyType({})
    groups: Mapping[str, GroupLook] = MappingProxyType({})
    starts: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    ends: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    stable_ends: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    newest: Mapping[TopicPartition, OffsetAndTimestamp] = MappingProxyType({})
    epoch_ends: Mapping[tuple[TopicPartition, int], EpochEnd] = MappingProxyType({})
    expiring: Mapping[TopicPartition, Expiring] = MappingProxyType({})
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
    views: Mapping[int, MetadataView] = MappingProxyType({})
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

    def node_name(self, node_id: int) -> str:
        """Return `2 (host:port)` of a broker, or its id alone where the cluster does not have it."""
        node = next((node for node in self.nodes if node.node_id == node_id), None)
        return str(node_id) if node is None else f"{node_id} ({node.host}:{node.port})"


def _is_any_set(configs: Mapping[str, ConfigValue], names: tuple[str, ...]) -> bool:
    return any(configs[name].is_set for name in names if name in configs)
