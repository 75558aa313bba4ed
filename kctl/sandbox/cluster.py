"""Shared state of all nodes: topics, leaders, groups, and producer IDs. Does no I/O."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from zlib import crc32

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import IllegalStateError
from kctl.client.topic_names import is_topic_name
from kctl.sandbox.access.authorizer import Authorizer
from kctl.sandbox.access.client_quotas import ClientQuotas
from kctl.sandbox.access.scram_users import ScramUsers
from kctl.sandbox.cleaner import Cleaner
from kctl.sandbox.configs import MIN_INSYNC_REPLICAS, Kind, ResourceConfigs
from kctl.sandbox.faults import NodeFaults
from kctl.sandbox.fetch_sessions import FetchSessions
from kctl.sandbox.groups.coordinator import Groups
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.node_state import NodeState
from kctl.sandbox.partition import NO_LEADER, Partition
from kctl.sandbox.quorum import Quorum
from kctl.sandbox.quotas import Quotas
from kctl.sandbox.reassignments import Reassignments
from kctl.sandbox.replication import Replication
from kctl.sandbox.runtime import Scheduler
from kctl.sandbox.settings import ClusterSettings, InvalidSetting, topic_settings
from kctl.sandbox.share_sessions import ShareSessions
from kctl.sandbox.telemetry import Telemetry
from kctl.sandbox.transactions.coordinator import Transactions
from kctl.sandbox.uuids import stable_uuid

MAX_PARTITIONS = 10_000
"""Maximum number of partitions of a topic. Limits the memory that a request can allocate."""


class TopicRefused(Exception):
    """Rejected topic; `code` is sent to the client."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class ClusterNode:
    """A broker, and the state of its clients."""

    __slots__ = (
        "faults",
        "fetch_sessions",
        "host",
        "node_id",
        "port",
        "quotas",
        "rack",
        "share_sessions",
        "state",
        "telemetry",
    )

    def __init__(
        self, node_id: int, host: str, port: int, rack: str | None = None, fetch_session_slots: int = 1_000
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.faults = NodeFaults()
        self.fetch_sessions = FetchSessions(node_id, fetch_session_slots)
        self.share_sessions = ShareSessions()
        self.telemetry = Telemetry(node_id)
        self.quotas = Quotas()
        self.state = NodeState()

    @property
    def is_running(self) -> bool:
        return not self.faults.is_down


class Topic(NamedTuple):
    name: str
    topic_id: bytes
    properties: dict[str, str]
    partitions: dict[int, Partition]


class Cluster:
    def __init__(self, nodes: list[ClusterNode], settings: ClusterSettings | None = None) -> None:
        if not nodes:
            raise ValueError("a cluster needs at least one broker")
        self.settings = settings or ClusterSettings()
        self.nodes = {node.node_id: node for node in nodes}
        self.topics: dict[str, Topic] = {}
        self._topics_by_id: dict[bytes, str] = {}
        self._topics_made = 0
        self.next_producer_id = 1_000
        self._scheduler: Scheduler | None = None
        self.unfinished_bytes = 0
        """Size of incomplete frames of all connections."""
        self.configs = ResourceConfigs()
        self.configs.replace(Kind.BROKER, "", {MIN_INSYNC_REPLICAS: str(self.settings.min_insync_replicas)})
        self.authorizer = Authorizer(self.settings)
        self.scram_users = ScramUsers()
        self.client_quotas = ClientQuotas()
        self.cleaner = Cleaner(self)
        self.groups = Groups(self)
        self.transactions = Transactions(self)
        self.quorum = Quorum(self)
        self.replication = Replication(self)
        self.reassignments = Reassignments(self)

    @property
    def scheduler(self) -> Scheduler:
        """Source of time. Raises IllegalStateError before `run_on`."""
        if self._scheduler is None:
            raise IllegalStateError("the sandbox is neither served on sockets nor attached to a simulation")
        return self._scheduler

    def run_on(self, scheduler: Scheduler) -> None:
        if self._scheduler is not None:
            raise IllegalStateError("the sandbox is already served or attached")
        self._scheduler = scheduler
        for node in self.nodes.values():
            node.fetch_sessions.run_on(scheduler.now_ms)

    @property
    def forwarding_id(self) -> int:
        """Node ID that Metadata and DescribeCluster show as the controller. In KRaft, it is a broker that forwards
        requests.

        The sandbox uses the last registered node without a fault, which is seldom the quorum leader.
        """
        live = [each.node_id for each in self.nodes.values() if each.state.is_listed and not each.faults.active]
        return live[-1] if live else next(iter(self.nodes))

    # --- topics -------------------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        properties: dict[str, str] | None = None,
        *,
        assignment: Sequence[Sequence[int]] | None = None,
        topic_id: bytes | None = None,
        validate_only: bool = False,
    ) -> Topic:
        """Create a topic and return it. A count of -1 uses the cluster's default.

        Args:
            assignment: node IDs of each partition, leader first. Overrides both counts.
            topic_id: ID of the topic. None generates one.
        """
        count = self.settings.num_partitions if partitions == -1 else partitions
        replicas = self.settings.default_replication_factor if replication_factor == -1 else replication_factor
        if assignment is not None:
            self._check_assignment(assignment)
            count, replicas = len(assignment), len(assignment[0])
        properties = dict(properties or {})
        self._check_new_topic(name, count, replicas)
        try:
            settings = topic_settings(properties, self.settings)
        except InvalidSetting as error:
            raise TopicRefused(ErrorCode.INVALID_CONFIG, str(error)) from error
        is_late = self.settings.replication_delay_ms > 0 and name != OFFSETS_TOPIC
        made = {
            index: Partition(
                name,
                index,
                self._replicas(index, replicas) if assignment is None else tuple(assignment[index]),
                PartitionLog(settings),
                is_late=is_late,
            )
            for index in range(count)
        }
        topic = Topic(name, topic_id or self._new_topic_id(name), properties, made)
        if not validate_only:
            for partition in made.values():
                self._look_after(partition)
            self._topics_made += name != OFFSETS_TOPIC  # internal topics must not shift user partitions
            self.topics[name] = topic
            self._topics_by_id[topic.topic_id] = name
        return topic

    def _look_after(self, partition: Partition) -> None:
        self.replication.follow(partition)
        self.cleaner.follow(partition)
        if partition.topic_name == OFFSETS_TOPIC:
            partition.when_led = partial(self.groups.log_moved, partition.index)

    def add_partitions(
        self, name: str, count: int, assignment: Sequence[Sequence[int]] | None = None, *, validate_only: bool = False
    ) -> None:
        """Increase the partition count of a topic to `count`.

        Args:
            assignment: node IDs of each new partition, leader first.
        """
        topic = self.topics.get(name)
        if topic is None:
            raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic {name!r} does not exist.")
        had = len(topic.partitions)
        if not had < count <= MAX_PARTITIONS:
            text = f"The topic {name} currently has {had} partition(s); {count} would not be an increase."
            raise TopicRefused(ErrorCode.INVALID_PARTITIONS, text)
        if assignment is not None:
            self._check_assignment(assignment)
            if len(assignment) != count - had:
                text = f"{count - had} new partitions have {len(assignment)} replica assignments"
                raise TopicRefused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        if validate_only:
            return
        first = topic.partitions[0]
        for index in range(had, count):
            replicas = self._replicas(index, len(first.replicas))
            made = Partition(
                name,
                index,
                replicas if assignment is None else tuple(assignment[index - had]),
                PartitionLog(first.log.settings),
                is_late=self.settings.replication_delay_ms > 0,
            )
            topic.partitions[index] = made
            self._look_after(made)

    def configure_topic(self, name: str, properties: dict[str, str]) -> None:
        topic = self.topics[name]
        settings = topic_settings(properties, self.settings)
        topic.properties.clear()
        topic.properties.update(properties)
        for partition in topic.partitions.values():
            partition.log.settings = settings
            partition.log.wake()
            partition.log.when_stored()

    def _check_new_topic(self, name: str, count: int, replicas: int) -> None:
        if not is_topic_name(name):
            raise TopicRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name[:260]!r} is not a valid topic name")
        if name in self.topics:
            raise TopicRefused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if not 1 <= count <= MAX_PARTITIONS:
            raise TopicRefused(
                ErrorCode.INVALID_PARTITIONS, f"invalid number of partitions {count}: use 1 to {MAX_PARTITIONS}"
            )
        if not 1 <= replicas <= len(self.nodes):
            text = f"invalid replication factor {replicas}: the cluster has {len(self.nodes)} brokers"
            raise TopicRefused(ErrorCode.INVALID_REPLICATION_FACTOR, text)

    def _check_assignment(self, assignment: Sequence[Sequence[int]]) -> None:
        for replicas in assignment:
            wrong = sorted(set(replicas) - set(self.nodes))
            if not replicas or len(replicas) != len(assignment[0]) or len(set(replicas)) < len(replicas) or wrong:
                shown = [list(one) for one in assignment]
                text = (
                    f"invalid replicas {shown}: use the same number of brokers of {list(self.nodes)} for all partitions"
                )
                raise TopicRefused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)

    def _replicas(self, index: int, count: int) -> tuple[int, ...]:
        ids = list(self.nodes)
        first = self._topics_made + index
        return tuple(ids[(first + step) % len(ids)] for step in range(count))

    def _new_topic_id(self, name: str) -> bytes:
        return stable_uuid(f"{self.settings.cluster_id}/{self._topics_made}/{name}")

    def delete_topic(self, name: str) -> None:
        topic = self.topics.pop(name)
        del self._topics_by_id[topic.topic_id]
        self.groups.forget_topic(name)
        if name == OFFSETS_TOPIC:
            self.groups.forget_all()
        self.reassignments.forget_topic(name)
        self.transactions.offsets.forget(lambda _, topic: topic == name)
        for partition in topic.partitions.values():
            partition.log.wake()

    def topic_of_id(self, topic_id: bytes) -> Topic | None:
        name = self._topics_by_id.get(topic_id)
        return None if name is None else self.topics[name]

    def partition(self, topic: str, index: int) -> Partition | None:
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(index)

    def move_leader(self, topic: str, index: int, node_id: int, end_offset: int | None = None) -> None:
        """Elect another leader of a partition, with a new leader epoch; see `Partition.elect`."""
        node = self.nodes[node_id]
        partition = self.topics[topic].partitions[index]
        partition.elect(node.node_id, end_offset)
        self.replication.look(partition)

    def elect_late(self, topic: str, index: int, node_id: int, delay_ms: int) -> None:
        """Remove the leader of a partition, and elect `node_id` after `delay_ms`."""
        node = self.nodes[node_id]
        partition = self.topics[topic].partitions[index]
        partition.elect(NO_LEADER)
        epoch = partition.leader_epoch

        def elect() -> None:
            if partition.leader_epoch == epoch:
                partition.elect(node.node_id)
                self.replication.look(partition)

        self.scheduler.call_later(delay_ms, elect)

    # --- coordinators and producers -----------------------------------------------------------------------------------

    def coordinator_of(self, key: str) -> ClusterNode:
        ids = list(self.nodes)
        return self.nodes[ids[crc32(key.encode()) % len(ids)]]

    def new_producer_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id - 1
