"""Operators' newest requests: the same ones get the same outcomes from the sandbox and from Kafka's newest broker.

Moves and elections on three brokers; share groups, streams groups and transaction markers on one.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.groups import DeleteGroupsRequest, DeleteGroupsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from kctl.client.protocol.api.share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from kctl.client.protocol.api.share_groups import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kctl.client.protocol.api.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kctl.client.protocol.api.streams_groups import (
    StreamsGroupHeartbeatRequestSubtopology as Subtopology,
)
from kctl.client.protocol.api.streams_groups import (
    StreamsGroupHeartbeatRequestTopology as Topology,
)
from kctl.client.protocol.api.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.client.protocol.api.transaction_states import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox import Sandbox
from tests.conformance.transaction_talk import TransactionTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

R = TypeVar("R", bound=Response)
PATIENCE_MS = bound(30_000)
NAMES = {int(code): code.name for code in ErrorCode}
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
PREFERRED, UNCLEAN = 0, 1


class _Operator:
    """Requests about the partitions of one topic."""

    def __init__(self, peer: Peer, topic: str) -> None:
        self.peer = peer
        self.topic = topic
        places = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
            for index, ids in enumerate(([1, 2], [2, 3], [3, 1]))
        ]
        asked = CreatableTopic(name=topic, num_partitions=-1, replication_factor=-1, assignments=places)
        (made,) = self.call(CreateTopicsRequest(topics=[asked]), CreateTopicsResponse, 7).topics
        assert made.error_code == 0, made
        wait_until(lambda: self.leaders() == [1, 2, 3], PATIENCE_MS, "leaders")

    def call(self, request: Request, response: type[R], version: int) -> R:
        return self.peer.call(request, response, version)

    def _partitions(self) -> list[Any]:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False)
        (topic,) = self.call(asked, MetadataResponse, 12).topics
        return sorted(topic.partitions, key=lambda one: one.partition_index)

    def leaders(self) -> list[int]:
        return [one.leader_id for one in self._partitions()]

    def replicas(self) -> list[list[int]]:
        return [one.replica_nodes for one in self._partitions()]

    def move(self, index: int, replicas: list[int] | None, *, topic: str = "", **more: Any) -> Any:
        part = ReassignablePartition(partition_index=index, replicas=replicas)
        topics = [ReassignableTopic(name=topic or self.topic, partitions=[part])]
        request = AlterPartitionReassignmentsRequest(topics=topics, **more)
        got = self.call(request, AlterPartitionReassignmentsResponse, 1)
        return NAMES[got.error_code], [NAMES[one.error_code] for topic in got.responses for one in topic.partitions]

    def moves(self, index: int = 0, *, topic: str = "") -> Any:
        asked = [ListPartitionReassignmentsTopics(name=topic or self.topic, partition_indexes=[index])]
        request = ListPartitionReassignmentsRequest(topics=asked)
        got = self.call(request, ListPartitionReassignmentsResponse, 0)
        return NAMES[got.error_code], [
            (one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
            for topic in got.topics
            for one in topic.partitions
        ]

    def elect(self, *indexes: int, kind: int = PREFERRED, topic: str = "", version: int = 2) -> Any:
        topics = [TopicPartitions(topic=topic or self.topic, partitions=list(indexes))]
        request = ElectLeadersRequest(election_type=kind, topic_partitions=topics, timeout_ms=PATIENCE_MS)
        got = self.call(request, ElectLeadersResponse, version)
        return NAMES[got.error_code], sorted(
            (one.partition_id, NAMES[one.error_code])
            for topic in got.replica_election_results
            for one in topic.partition_result
        )


def _moves(operator: _Operator) -> Iterator[Any]:
    yield operator.moves(), operator.moves(9), operator.moves(topic="none")
    yield operator.move(0, [1, 2], topic="none"), operator.move(9, [1, 2])
    for wrong in ([], [1, 1], [99, 1], [-1, 1]):
        yield wrong, operator.move(0, wrong)
    yield operator.move(0, None), operator.move(9, None)
    yield operator.move(0, [1, 2, 3], allow_replication_factor_change=False)
    yield operator.move(0, [1, 2], allow_replication_factor_change=False), operator.replicas()
    yield operator.move(0, [2, 1])
    wait_until(lambda: operator.replicas()[0] == [2, 1], PATIENCE_MS, "another order")
    yield operator.moves(), operator.leaders()[0]
    yield operator.move(0, [3, 2])
    wait_until(lambda: not operator.moves()[1], PATIENCE_MS, "the end of a move")
    wait_until(lambda: operator.replicas()[0] == [3, 2], PATIENCE_MS, "other replicas")
    yield operator.leaders()[0] in (2, 3)
    yield operator.move(1, [1, 2, 3])
    wait_until(lambda: operator.replicas()[1] == [1, 2, 3], PATIENCE_MS, "one replica more")
    wait_until(lambda: not operator.moves(1)[1], PATIENCE_MS, "the end of a move")
    yield operator.move(1, [2])
    wait_until(lambda: operator.replicas()[1] == [2], PATIENCE_MS, "fewer replicas")
    yield operator.moves(1)


def _elections(operator: _Operator) -> Iterator[Any]:
    yield operator.elect(0, 1), operator.elect(0, kind=UNCLEAN), operator.elect(9), operator.elect(0, topic="none")
    yield operator.elect(0, 1, version=1), operator.elect()
    operator.move(0, [2, 1])
    wait_until(lambda: operator.replicas()[0] == [2, 1], PATIENCE_MS, "another order")
    yield operator.leaders()
    yield operator.elect(0, 1)
    wait_until(lambda: operator.leaders()[0] == 2, PATIENCE_MS, "the preferred leader")
    yield operator.elect(0)


@pytest.mark.parametrize("scenario", [_moves, _elections])
def test_moves_and_elections_end_as_on_kafka(kafka_three: KafkaCluster, scenario: Any) -> None:
    topic = kafka_three.create_topic() + "-o"
    host, _, port = kafka_three.bootstrap().partition(",")[0].rpartition(":")
    with (
        Sandbox(nodes=3).serve() as served,
        Peer(served.listens_on(1)) as ours,
        Peer((host, int(port))) as theirs,
    ):
        for expected, outcome in zip(scenario(_Operator(theirs, topic)), scenario(_Operator(ours, topic)), strict=True):
            assert outcome == expected


class _Groups(TransactionTalk):
    """Requests about share groups, streams groups and transactions, at the one broker."""

    def share_beat(self, epoch: int, member_id: str = MEMBER, group: str = "share") -> Any:
        request = ShareGroupHeartbeatRequest(group_id=self.group(group), member_id=member_id, member_epoch=epoch)
        if epoch == 0:
            request.subscribed_topic_names = [self.topic]
        got = self.call(request, ShareGroupHeartbeatResponse, 1)
        return NAMES[got.error_code], got.member_epoch

    def streams_beat(self, epoch: int, group: str = "streams", *, joins: bool = True) -> Any:
        request = StreamsGroupHeartbeatRequest(
            group_id=self.group(group), member_id=MEMBER, member_epoch=epoch, endpoint_information_epoch=0
        )
        if epoch == 0 and joins:
            request.rebalance_timeout_ms, request.process_id = 10_000, "p"
            request.topology = Topology(
                epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=[self.topic])]
            )
            request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
        got = self.call(request, StreamsGroupHeartbeatResponse, 0)
        return NAMES[got.error_code], got.member_epoch

    def group(self, name: str) -> str:
        return f"{name}-{self.topic}"

    def share(self, name: str = "share") -> Any:
        request = ShareGroupDescribeRequest(group_ids=[self.group(name)])
        (got,) = self.call(request, ShareGroupDescribeResponse, 1).groups
        members = [
            (one.member_id, one.rack_id, one.client_id, one.client_host, one.subscribed_topic_names)
            for one in got.members
        ]
        text = (got.error_message or "").replace(self.topic, "T")
        return NAMES[got.error_code], text, got.group_state, got.assignor_name, members

    def streams(self, name: str = "streams") -> Any:
        request = StreamsGroupDescribeRequest(group_ids=[self.group(name)])
        (got,) = self.call(request, StreamsGroupDescribeResponse, 0).groups
        members = [(one.member_id, one.client_id, one.client_host, one.process_id) for one in got.members]
        parts = (
            []
            if got.topology is None
            else [(one.subtopology_id, one.source_topics) for one in got.topology.subtopologies or []]
        )
        text = (got.error_message or "").replace(self.topic, "T")
        return NAMES[got.error_code], text, got.group_state, members, parts

    def share_offsets(self, name: str = "share", topics: list[str] | None = None) -> Any:
        wanted = None
        if topics is not None:
            wanted = [DescribeShareGroupOffsetsRequestTopic(topic_name=one, partitions=[0]) for one in topics]
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=self.group(name), topics=wanted)
        (got,) = self.call(
            DescribeShareGroupOffsetsRequest(groups=[asked]), DescribeShareGroupOffsetsResponse, 1
        ).groups
        return NAMES[got.error_code], sorted(
            (topic.topic_name == self.topic, one.partition_index, one.start_offset, NAMES[one.error_code])
            for topic in got.topics
            for one in topic.partitions
            if topics is not None or one.start_offset >= 0  # Kafka gives others a start in its own time
        )

    def alter_share(self, offset: int, *, topic: str = "", name: str = "share", partition: int = 0) -> Any:
        part = AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
        topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic or self.topic, partitions=[part])]
        request = AlterShareGroupOffsetsRequest(group_id=self.group(name), topics=topics)
        got = self.call(request, AlterShareGroupOffsetsResponse, 0)
        return NAMES[got.error_code], [NAMES[one.error_code] for topic in got.responses for one in topic.partitions]

    def delete_share(self, *, topic: str = "", name: str = "share") -> Any:
        topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic or self.topic)]
        request = DeleteShareGroupOffsetsRequest(group_id=self.group(name), topics=topics)
        got = self.call(request, DeleteShareGroupOffsetsResponse, 0)
        return NAMES[got.error_code], [NAMES[one.error_code] for one in got.responses]

    def delete_group(self, name: str) -> str:
        request = DeleteGroupsRequest(groups_names=[self.group(name)])
        (done,) = self.call(request, DeleteGroupsResponse, 2).results
        return NAMES[done.error_code]

    def mark(
        self, producer: tuple[int, int], *, commit: bool = False, topic: str = "", partition: int = 0, epoch: int = 0
    ) -> Any:
        topics = [WritableTxnMarkerTopic(name=topic or self.topic, partition_indexes=[partition])]
        marker = WritableTxnMarker(
            producer_id=producer[0],
            producer_epoch=producer[1],
            transaction_result=commit,
            topics=topics,
            coordinator_epoch=epoch,
        )
        got = self.call(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse, 1)
        return [NAMES[one.error_code] for each in got.markers for topic in each.topics for one in topic.partitions]


def _share_groups(talk: _Groups) -> Iterator[Any]:
    yield talk.share("none"), talk.share_offsets("none"), talk.delete_share(name="none"), talk.delete_group("none")
    yield talk.settled(lambda: talk.share_beat(0))[0]
    wait_until(lambda: talk.share()[2] == "Stable", PATIENCE_MS, "a share group")
    yield talk.share()
    yield talk.share_beat(99)[0], talk.share_beat(1, "BAAAAAAAAAAAAAAAAAAAAQ")[0]
    yield talk.alter_share(3), talk.delete_share(), talk.delete_group("share")
    yield talk.streams("share"), talk.share_beat(-1)
    yield talk.share()
    yield talk.settled(lambda: talk.alter_share(3))
    yield talk.share_offsets(), talk.share_offsets(topics=[talk.topic])
    yield talk.alter_share(3, topic="none"), talk.alter_share(3, partition=9)
    yield talk.delete_share(topic="none"), talk.delete_share(), talk.share_offsets()
    yield talk.delete_group("share"), talk.share()


def _streams_groups(talk: _Groups) -> Iterator[Any]:
    yield talk.streams("none"), talk.delete_group("none")
    yield talk.streams_beat(5)[0], talk.streams_beat(0, joins=False)[0]
    joined = talk.settled(lambda: talk.streams_beat(0))
    yield joined[0]
    epochs = [joined[1]]

    def is_stable() -> bool:
        epochs.append(talk.streams_beat(epochs[-1])[1] or epochs[-1])
        return bool(talk.streams()[2] == "Stable")

    wait_until(is_stable, PATIENCE_MS, "a streams group")
    yield talk.streams()[0], talk.streams()[3:]
    yield talk.share("streams"), talk.share_beat(0, group="streams")[0]
    yield talk.streams_beat(99)[0], talk.delete_group("streams")
    yield talk.streams_beat(-1)
    yield talk.streams()
    yield talk.delete_group("streams"), talk.streams()


def _markers(talk: _Groups) -> Iterator[Any]:
    held = talk.begin()
    yield talk.mark(held, topic="none"), talk.mark(held, partition=9)
    yield talk.produce(held, 0)
    yield talk.producers()
    yield talk.mark((held[0], held[1] - 1))
    yield talk.producers(), talk.list_offset(-1)
    yield talk.mark(held, epoch=5), talk.mark(held, epoch=4)
    yield talk.producers(), talk.list_offset(-1)
    yield talk.mark((held[0] + 500, 0)), talk.list_offset(-1)
    yield talk.describe()


@pytest.mark.parametrize("scenario", [_share_groups, _streams_groups, _markers])
def test_groups_and_markers_end_as_on_kafka(kafka_newest: KafkaCluster, scenario: Any) -> None:
    topic = kafka_newest.create_topic(partitions=4)
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    with ExitStack() as stack:
        served = stack.enter_context(Sandbox(nodes=1, topics={topic: 4}).serve())
        ours, theirs = (stack.enter_context(Peer(address)) for address in (served.listens_on(1), (host, int(port))))
        talks: list[Callable[[], _Groups]] = [lambda: _Groups(theirs, topic, 2), lambda: _Groups(ours, topic, 2)]
        for expected, outcome in zip(scenario(talks[0]()), scenario(talks[1]()), strict=True):
            assert outcome == expected
