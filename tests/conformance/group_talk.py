"""What the members of one group say to a broker, request by request, and what is compared of the answers.

Member ids that a broker makes up are replaced by the order in which they appeared. Used by
test_sandbox_groups_against_kafka.py and its neighbours on the administration and the migration of groups.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol import codec
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kctl.client.protocol.api.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox import ClusterSettings, Sandbox
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

R = TypeVar("R", bound=Response)
PATIENCE_MS = bound(30_000)
SESSION_MS = 30_000
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
NAMES = {int(code): code.name for code in ErrorCode}
Outcome = tuple[str, Any]


def subscription(*topics: str) -> bytes:
    return struct.pack(">h", 3) + codec.encode(ConsumerProtocolSubscription(topics=list(topics)), 3)


class GroupTalk:
    """Requests of several members of one group, each on a connection of its own."""

    def __init__(self, peers: list[Peer], topic: str) -> None:
        self.peers = peers
        self.topic = topic
        self.group_id = f"g-{topic}"
        self._labels: dict[str, str] = {}
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        self.topic_id = self.call(asked, MetadataResponse, 12).topics[0].topic_id
        self._wait_for_coordinator()

    def call(self, request: Request, response: type[R], version: int, peer: int = 0) -> R:
        return self.peers[peer].call(request, response, version)

    def label(self, member_id: str | None) -> str:
        """Return a name for a member id that does not depend on who made it up."""
        if not member_id:
            return "nobody"
        return self._labels.setdefault(member_id, f"member {len(self._labels)}")

    def _wait_for_coordinator(self) -> None:
        """Return when the group is served and its coordinator knows the topic; no trace of the asking is left."""

        def is_found() -> bool:
            request = FindCoordinatorRequest(coordinator_keys=[self.group_id])
            (found,) = self.call(request, FindCoordinatorResponse, 4).coordinators
            return found.error_code not in LOADING and self.beat("probe", 0)[1][3] == [[0, 1, 2, 3]]

        wait_until(is_found, PATIENCE_MS, "a coordinator that knows the topic")
        assert self.beat("probe", -1)[0] == "NONE"
        wait_until(lambda: self.delete() in ("NONE", "GROUP_ID_NOT_FOUND"), PATIENCE_MS, "the end of a group")

    # --- the classic protocol ---------------------------------------------------------------------------------------

    def send_join(self, member_id: str = "", peer: int = 0, version: int = 9, **more: Any) -> None:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=subscription(self.topic))]
        fields: dict[str, Any] = {
            "group_id": self.group_id,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": protocols,
        }
        self.peers[peer].send(JoinGroupRequest(**(fields | more)), version)

    def joined(self, peer: int = 0, version: int = 9) -> tuple[str, Outcome]:
        """Return the member id of the answer, and what is to be compared."""
        got = self.peers[peer].receive(JoinGroupResponse, version)
        own, leader = self.label(got.member_id), self.label(got.leader)
        members = sorted((self.label(one.member_id), one.group_instance_id, one.metadata) for one in got.members)
        what = (got.generation_id, got.protocol_type, got.protocol_name, leader, got.skip_assignment, own, members)
        return got.member_id, (NAMES[got.error_code], what)

    def join(self, member_id: str = "", peer: int = 0, version: int = 9, **more: Any) -> tuple[str, Outcome]:
        self.send_join(member_id, peer, version, **more)
        return self.joined(peer, version)

    def send_sync(self, member_id: str, generation: int, peer: int = 0, **more: Any) -> None:
        fields: dict[str, Any] = {
            "group_id": self.group_id,
            "generation_id": generation,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
        }
        self.peers[peer].send(SyncGroupRequest(**(fields | more)), 5)

    def synced(self, peer: int = 0) -> Outcome:
        got = self.peers[peer].receive(SyncGroupResponse, 5)
        return NAMES[got.error_code], (got.protocol_type, got.protocol_name, got.assignment)

    def sync(self, member_id: str, generation: int, peer: int = 0, **more: Any) -> Outcome:
        self.send_sync(member_id, generation, peer, **more)
        return self.synced(peer)

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> str:
        request = HeartbeatRequest(
            group_id=self.group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return NAMES[self.call(request, HeartbeatResponse, 4).error_code]

    def leave(self, *members: tuple[str, str | None]) -> Outcome:
        leaving = [MemberIdentity(member_id=one, group_instance_id=instance) for one, instance in members]
        got = self.call(LeaveGroupRequest(group_id=self.group_id, members=leaving), LeaveGroupResponse, 5)
        return NAMES[got.error_code], [
            (self.label(one.member_id), one.group_instance_id, NAMES[one.error_code]) for one in got.members
        ]

    def leave_alone(self, member_id: str) -> str:
        request = LeaveGroupRequest(group_id=self.group_id, member_id=member_id)
        return NAMES[self.call(request, LeaveGroupResponse, 2).error_code]

    # --- the consumer protocol --------------------------------------------------------------------------------------

    def beat(self, member_id: str, epoch: int, owned: list[int] | None = None, /, **more: Any) -> Outcome:
        partitions = None if owned is None else [TopicPartitions(topic_id=self.topic_id, partitions=owned)]
        fields: dict[str, Any] = {"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            partitions = []
            fields |= {"rebalance_timeout_ms": SESSION_MS, "subscribed_topic_names": [self.topic]}
        request = ConsumerGroupHeartbeatRequest(**(fields | {"topic_partitions": partitions} | more))
        got = self.call(request, ConsumerGroupHeartbeatResponse, 1)
        assigned = got.assignment and [sorted(one.partitions) for one in got.assignment.topic_partitions]
        return NAMES[got.error_code], (got.member_id, got.member_epoch, got.heartbeat_interval_ms, assigned)

    def describe_consumers(self, group_id: str = "") -> Outcome:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id or self.group_id])
        (got,) = self.call(request, ConsumerGroupDescribeResponse, 1).groups
        members = sorted(
            [
                [one.member_id, one.instance_id, one.member_epoch, one.subscribed_topic_names],
                [one.subscribed_topic_regex, one.member_type],
                self._partitions(one.assignment),
                self._partitions(one.target_assignment),
            ]
            for one in got.members
        )
        epochs = (got.group_state, got.group_epoch, got.assignment_epoch, got.assignor_name)
        return NAMES[got.error_code], (got.error_message, epochs, members)

    def _partitions(self, assignment: Any) -> list[Any]:
        return [(one.topic_name == self.topic, sorted(one.partitions)) for one in assignment.topic_partitions]

    # --- offsets and administration ---------------------------------------------------------------------------------

    def commit(self, member_id: str, epoch: int, *partitions: int, version: int = 9, **more: Any) -> list[str]:
        commits = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=4) for index in partitions or (0,)
        ]
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=commits)],
            **more,
        )
        answers = self.call(request, OffsetCommitResponse, version).topics[0].partitions
        return [NAMES[one.error_code] for one in answers]

    def committed(self, member_id: str | None = None, epoch: int = -1) -> Outcome:
        topics = [OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])]
        group = OffsetFetchRequestGroup(group_id=self.group_id, member_id=member_id, member_epoch=epoch, topics=topics)
        (got,) = self.call(OffsetFetchRequest(groups=[group]), OffsetFetchResponse, 9).groups
        return NAMES[got.error_code], [part.committed_offset for topic in got.topics for part in topic.partitions]

    def delete_offset(self, partition: int = 0) -> Outcome:
        topic = OffsetDeleteRequestTopic(
            name=self.topic, partitions=[OffsetDeleteRequestPartition(partition_index=partition)]
        )
        got = self.call(OffsetDeleteRequest(group_id=self.group_id, topics=[topic]), OffsetDeleteResponse, 0)
        return NAMES[got.error_code], [NAMES[one.error_code] for topic in got.topics for one in topic.partitions]

    def delete(self) -> str:
        got = self.call(DeleteGroupsRequest(groups_names=[self.group_id]), DeleteGroupsResponse, 2)
        return NAMES[got.results[0].error_code]

    def describe(self, version: int = 6) -> Outcome:
        request = DescribeGroupsRequest(groups=[self.group_id], include_authorized_operations=True)
        (got,) = self.call(request, DescribeGroupsResponse, version).groups
        members = sorted(
            [
                [self.label(one.member_id), one.group_instance_id, one.client_id, one.client_host],
                [one.member_metadata, one.member_assignment],
            ]
            for one in got.members
        )
        what = (got.error_message, got.group_state, got.protocol_type, got.protocol_data, got.authorized_operations)
        return NAMES[got.error_code], (what, members)

    def list(self, **filters: Any) -> list[Outcome]:
        got = self.call(ListGroupsRequest(**filters), ListGroupsResponse, 5).groups
        return [(one.protocol_type, (one.group_state, one.group_type)) for one in got if one.group_id == self.group_id]


def outcomes_of_both(
    kafka: KafkaCluster, scenario: Callable[[GroupTalk], Iterator[Any]]
) -> tuple[list[Any], list[Any]]:
    """Return the outcomes of a scenario with two connections to a sandbox, and to Kafka."""
    topic = kafka.create_topic(partitions=4)
    host, _, port = kafka.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as one, Peer((host, int(port))) as two:
        theirs = list(scenario(GroupTalk([one, two], topic)))
    settings = ClusterSettings(group_min_session_timeout_ms=500)
    with Sandbox(nodes=1, topics={topic: 4}, settings=settings).serve() as served:
        address = served.listens_on(1)
        with Peer(address) as one, Peer(address) as two:
            ours = list(scenario(GroupTalk([one, two], topic)))
    return ours, theirs
