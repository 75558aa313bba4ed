"""Followers that stand still, leaders that move, crash and lose records: the same on the sandbox and on Kafka.

One story, told to a cluster through raw requests; what a cluster needs for that is `ReplicatedCluster`. Run by
tests/sim/sandbox/test_replication_scenario.py in virtual time and by tests/replication.
Source: KIP-101, KIP-320, KIP-392 and KIP-966.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.api.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.client.protocol.schema import Request, Response
from tests.unit.sandbox.scenario import WALL_MS, batch

R = TypeVar("R", bound=Response)
ALL, LEADER_ONLY = -1, 1
SHORT_MS, LONG_MS = 300, 20_000
RECORDS = batch(b"v")
DAMAGED = RECORDS[:-1] + bytes([RECORDS[-1] ^ 1])
"""Limits that acks=all is given: one that passes, and one that something else ends."""
A, B, STILL = 1, 2, 3
"""The first leader, the second one, and the follower that stands still: parts that nodes of a cluster play."""
_CODES = {int(code): code for code in ErrorCode}


class Line(Protocol):
    """One connection to one node."""

    def send(self, request: Request, version: int) -> None:
        """Send a request."""

    def answer(self, response: type[R], version: int) -> R:
        """Wait for the answer to the oldest request without one."""
        ...


class ReplicatedCluster(Protocol):
    """Three nodes and what the story does to them; A, B and STILL name them."""

    def number(self, node: int) -> int:
        """Return the node.id of the one that plays this part."""
        ...

    def line(self, node: int) -> Line: ...

    def wait_until(self, is_true: Callable[[], bool], what: str) -> None: ...

    def freeze(self, node: int) -> None: ...

    def thaw(self, node: int) -> None: ...

    def crash(self, node: int) -> None:
        """End a node as a crash does; replicas in sync lead what it led, once the cluster has noticed."""

    def start(self, node: int) -> None:
        """Start it again with what it had."""

    def move_leader(self, topic: str, replicas: Sequence[int]) -> None:
        """Let the first of all `replicas`, which is in sync, lead partition 0 of a topic."""

    def elect_uncleanly(self, topic: str, node: int) -> None:
        """Let a node lead partition 0 of a topic, though it is not in sync and nobody else lives."""


class ProduceReport(NamedTuple):
    """How a produce request ended."""

    code: ErrorCode
    offset: int


class Partition:
    """Partition 0 of a topic, asked through any node."""

    def __init__(self, cluster: ReplicatedCluster, name: str, replicas: Sequence[int], min_in_sync: int) -> None:
        self.name = name
        self._cluster = cluster
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=list(map(cluster.number, replicas)))],
            configs=[CreatableTopicConfig(name="min.insync.replicas", value=str(min_in_sync))],
        )
        (made,) = self._call(B, CreateTopicsRequest(topics=[topic]), CreateTopicsResponse, 7).topics
        assert made.error_code == ErrorCode.NONE, made.error_message
        for node in replicas:
            cluster.wait_until(partial(self._is_known_to, node), f"{name} on node {node}")
        cluster.wait_until(lambda: self.produce(A, ALL).code == ErrorCode.NONE, f"the first record of {name}")
        self.epoch = self.now.leader_epoch

    def _call(self, node: int, request: Request, response: type[R], version: int) -> R:
        line = self._cluster.line(node)
        line.send(request, version)
        return line.answer(response, version)

    # --- what is known of it ----------------------------------------------------------------------------------------

    def seen_by(self, node: int) -> MetadataResponsePartition | None:
        """Return what a node says of the partition, if it knows it."""
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=self.name)])
        (topic,) = self._call(node, asked, MetadataResponse, 9).topics
        return topic.partitions[0] if topic.partitions else None

    def _is_known_to(self, node: int) -> bool:
        return self.seen_by(node) is not None

    @property
    def now(self) -> MetadataResponsePartition:
        """What node B, which always lives, says of it."""
        found = self.seen_by(B)
        assert found is not None
        return found

    def wait_for(self, *, leader: int | None = None, in_sync: Sequence[int] | None = None) -> None:
        """Return when it is led and copied so."""

        def is_so() -> bool:
            now, number = self.now, self._cluster.number
            is_led = leader is None or (number(leader) == now.leader_id and self._is_led_by(leader))
            return is_led and (in_sync is None or {*map(number, in_sync)} == {*now.isr_nodes})

        self._cluster.wait_until(is_so, f"{self.name} led by {leader}, in sync {in_sync}")

    def _is_led_by(self, node: int) -> bool:
        """Whether the leader knows that it is: others may know before it."""
        return self.latest(node) != ErrorCode.NOT_LEADER_OR_FOLLOWER

    def wait_for_latest(self, node: int, offset: int) -> None:
        """Return when so much is committed, as the leader knows a moment after it is so."""
        self._cluster.wait_until(lambda: self.latest(node) == offset, f"{offset} committed records of {self.name}")

    def wait_until_short(self, node: int) -> None:
        """Return when the leader itself knows that too few are in sync, which others may know before it.

        It says so before it looks at what it is to append, which is damaged here: so nothing is appended.
        """

        def is_short() -> bool:
            return self.begin_produce(node, ALL, LONG_MS, DAMAGED)().code == ErrorCode.NOT_ENOUGH_REPLICAS

        self._cluster.wait_until(is_short, f"node {node} to find too few in sync for {self.name}")

    # --- requests ---------------------------------------------------------------------------------------------------

    def begin_produce(
        self, node: int, acks: int, limit_ms: int, records: bytes = RECORDS
    ) -> Callable[[], ProduceReport]:
        """Send one record and return what waits for the answer."""
        data = [PartitionProduceData(index=0, records=records)]
        topics = [TopicProduceData(name=self.name, partition_data=data)]
        line = self._cluster.line(node)
        line.send(ProduceRequest(acks=acks, timeout_ms=limit_ms, topic_data=topics), 9)

        def told() -> ProduceReport:
            (part,) = line.answer(ProduceResponse, 9).responses[0].partition_responses
            return ProduceReport(_CODES[part.error_code], part.base_offset)

        return told

    def produce(self, node: int, acks: int, limit_ms: int = LONG_MS) -> ProduceReport:
        """Send one record and return how that ended."""
        return self.begin_produce(node, acks, limit_ms)()

    def let_it_be_copied(self) -> None:
        """Return when node B has all that A has: whoever fetches this partition's record fetches all there is."""
        assert self.produce(A, ALL).code == ErrorCode.NONE

    def latest(self, node: int, timestamp: int = -1) -> int | ErrorCode:
        """The offset behind the last record that consumers may read: the high watermark. Or that of a timestamp."""
        asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self.name, partitions=asked)])
        (found,) = self._call(node, request, ListOffsetsResponse, 7).topics[0].partitions
        return found.offset if found.error_code == ErrorCode.NONE else _CODES[found.error_code]

    def fetch(self, node: int, offset: int, epoch: int = -1, last_epoch: int = -1) -> PartitionData:
        """Read at an offset, of the leader in `epoch`, having read a record of `last_epoch` before it."""
        asked = FetchPartition(
            partition=0,
            fetch_offset=offset,
            current_leader_epoch=epoch,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=1000,
        )
        topics = [FetchTopic(topic=self.name, partitions=[asked])]
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics)
        (found,) = self._call(node, request, FetchResponse, 12).responses[0].partitions
        return found

    def end_of_epoch(self, node: int, epoch: int) -> tuple[int, int]:
        """Return the last epoch up to `epoch` that the leader knows, and where it ends."""
        asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=self.name, partitions=[asked])])
        (found,) = self._call(node, request, OffsetForLeaderEpochResponse, 4).topics[0].partitions
        assert found.error_code == ErrorCode.NONE
        return found.leader_epoch, found.end_offset


def replicas_in_trouble(cluster: ReplicatedCluster, prefix: str) -> None:
    """A follower stands still, leaders move and crash, one is elected that lacks records, and all come back."""
    two = Partition(cluster, f"{prefix}-two", (A, B, STILL), 2)
    three = Partition(cluster, f"{prefix}-three", (A, B, STILL), 3)
    pair = Partition(cluster, f"{prefix}-pair", (A, STILL), 1)
    moved = Partition(cluster, f"{prefix}-moved", (A, B, STILL), 1)
    beside = Partition(cluster, f"{prefix}-beside", (A, B), 1)
    cluster.freeze(STILL)
    for lacking in (
        three,
        pair,
    ):  # Kafka takes a node that stands still out of sync of all, the sandbox where it lacks some
        assert lacking.produce(A, LEADER_ONLY) == ProduceReport(ErrorCode.NONE, 1)
    _in_sync_though_it_copies_nothing(two)
    _a_leader_moves_under_acks_all(cluster, moved, beside)
    _out_of_sync(two, three, pair, moved)
    beside.let_it_be_copied()
    cluster.crash(A)
    cluster.thaw(STILL)
    _a_clean_election(two, moved)
    _an_unclean_election(cluster, pair)
    cluster.start(A)
    _all_are_back(cluster, two, three, pair, moved)


def _in_sync_though_it_copies_nothing(two: Partition) -> None:
    """For a while a follower counts that lacks records: they are not committed, and acks=all waits for it."""
    assert two.produce(A, LEADER_ONLY) == ProduceReport(ErrorCode.NONE, 1)
    assert two.produce(A, ALL, SHORT_MS).code == ErrorCode.REQUEST_TIMED_OUT
    assert len(two.now.isr_nodes) == 3
    assert two.latest(A) == 1
    for offset, code in ((2, ErrorCode.NONE), (3, ErrorCode.NONE), (4, ErrorCode.OFFSET_OUT_OF_RANGE)):
        found = two.fetch(A, offset)
        assert (found.error_code, found.records) == (code, b""), offset
    assert two.fetch(A, 1).high_watermark == 1


def _a_leader_moves_under_acks_all(cluster: ReplicatedCluster, moved: Partition, beside: Partition) -> None:
    """Who waits for acks=all hears it, and whoever still believes in the old leader is told at both."""
    waiting = moved.begin_produce(A, ALL, LONG_MS)
    beside.let_it_be_copied()
    cluster.move_leader(moved.name, (B, A, STILL))
    assert waiting().code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    moved.wait_for(leader=B)
    assert moved.produce(A, LEADER_ONLY).code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    epoch = moved.now.leader_epoch
    assert epoch > moved.epoch
    assert moved.fetch(B, 0, moved.epoch).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert moved.fetch(B, 0, epoch + 1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert moved.fetch(B, 0, epoch).error_code == ErrorCode.NONE
    assert moved.fetch(B, 0, epoch).high_watermark == 1
    assert moved.latest(B) == ErrorCode.OFFSET_NOT_AVAILABLE, "KIP-207: the new leader has more than is committed"
    assert moved.latest(B, WALL_MS) == 0
    assert moved.latest(B, WALL_MS + 1) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert moved.end_of_epoch(B, moved.epoch) == (moved.epoch, 2)


def _out_of_sync(two: Partition, three: Partition, pair: Partition, moved: Partition) -> None:
    """Without the follower all there is is committed, unless too few are in sync: then nothing further is."""
    for partition in (two, three, moved):
        partition.wait_for(in_sync=[A, B])
    pair.wait_for(in_sync=[A])
    two.wait_for_latest(A, 3)
    moved.wait_for_latest(B, 2)
    three.wait_until_short(A)
    assert two.produce(A, ALL) == ProduceReport(ErrorCode.NONE, 3)
    assert three.produce(A, ALL).code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert three.produce(A, LEADER_ONLY) == ProduceReport(ErrorCode.NONE, 2)
    assert three.latest(A) == 1
    assert pair.produce(A, ALL) == ProduceReport(ErrorCode.NONE, 2)
    assert pair.latest(A) == 3


def _a_clean_election(two: Partition, moved: Partition) -> None:
    """A replica in sync leads on: nothing that was acknowledged to acks=all is lost."""
    two.wait_for(leader=B, in_sync=[B, STILL])
    assert two.produce(B, ALL) == ProduceReport(ErrorCode.NONE, 4)
    assert two.latest(B) == 5
    assert two.now.leader_epoch > two.epoch
    assert two.end_of_epoch(B, two.epoch) == (two.epoch, 4)
    moved.wait_for(leader=B, in_sync=[B, STILL])
    moved.wait_for_latest(B, 2)


def _an_unclean_election(cluster: ReplicatedCluster, pair: Partition) -> None:
    """A replica leads that lacks records: they are gone, acknowledged or not, and readers can tell."""
    cluster.elect_uncleanly(pair.name, STILL)
    pair.wait_for(leader=STILL, in_sync=[STILL])
    pair.wait_for_latest(STILL, 1)
    assert pair.now.leader_epoch > pair.epoch
    assert pair.end_of_epoch(STILL, pair.epoch) == (pair.epoch, 1)
    assert pair.fetch(STILL, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    found = pair.fetch(STILL, 3, last_epoch=pair.epoch)
    assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == (pair.epoch, 1)
    assert pair.produce(STILL, ALL) == ProduceReport(ErrorCode.NONE, 1)


def _all_are_back(
    cluster: ReplicatedCluster, two: Partition, three: Partition, pair: Partition, moved: Partition
) -> None:
    """The crashed node follows, without what only it had; what stood is committed once enough are in sync."""
    for partition in (two, three, moved):
        partition.wait_for(in_sync=[A, B, STILL])
    pair.wait_for(in_sync=[A, STILL])
    three.wait_for_latest(B, 3)
    assert three.produce(B, ALL) == ProduceReport(ErrorCode.NONE, 3)
    assert (two.latest(B), moved.latest(B), pair.latest(STILL)) == (5, 2, 2)
    cluster.move_leader(pair.name, (A, STILL))
    pair.wait_for(leader=A)
    assert pair.produce(A, ALL) == ProduceReport(ErrorCode.NONE, 2)
