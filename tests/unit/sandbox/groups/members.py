"""Group members in protocol bytes: each has one connection for requests that wait and one for others."""

import struct
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol import codec
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
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
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import Scenario

SESSION_MS = 10_000
REBALANCE_MS = 30_000
CODES = {int(code): code for code in ErrorCode}


def bench_of(nodes: int = 1, topics: dict[str, int] | None = None, **settings: Any) -> Scenario:
    """Return a sandbox with a topic t of four partitions."""
    return Scenario(nodes, topics or {"t": 4}, ClusterSettings(**settings))


def classic(scenario: Scenario) -> ClassicGroup:
    """Return the group g."""
    group = scenario.cluster.groups.get("g")
    assert isinstance(group, ClassicGroup)
    return group


def consumer(scenario: Scenario) -> ConsumerGroup:
    """Return the group g."""
    group = scenario.cluster.groups.get("g")
    assert isinstance(group, ConsumerGroup)
    return group


def subscription(*topics: str) -> bytes:
    """Return what a consumer offers when it joins."""
    return struct.pack(">h", 1) + codec.encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


class ClassicPeer:
    """One member of the group g."""

    def __init__(self, scenario: Scenario, instance_id: str | None = None, node_id: int = 1, version: int = 9) -> None:
        self.scenario = scenario
        self.waits = scenario.connect(node_id)
        self.talks = scenario.connect(node_id)
        self.instance_id = instance_id
        self.version = version
        self.member_id = ""
        self.generation = -1
        self.protocols = {"range": subscription("t")}

    def send_join(self, **more: Any) -> None:
        """Send JoinGroup, the second one too if the first one only brings an id."""
        offers = [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in self.protocols.items()]
        fields: dict[str, Any] = {
            "group_id": "g",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": offers,
            "group_instance_id": self.instance_id,
        } | more
        self._sent = self.waits.send(JoinGroupRequest(**fields, member_id=self.member_id), self.version)
        if self.waits.frames and not self.member_id and self.instance_id is None:
            promised = self.waits.take(JoinGroupResponse, self.version, self._sent)
            if promised.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = promised.member_id
                self.send_join(**more)
            else:
                raise AssertionError(promised)

    @property
    def is_waiting(self) -> bool:
        """Return whether no response has arrived."""
        return not self.waits.frames

    def joined(self) -> JoinGroupResponse:
        """Receive the response."""
        answer = self.waits.take(JoinGroupResponse, self.version, self._sent)
        if answer.error_code == ErrorCode.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    @property
    def fields(self) -> dict[str, Any]:
        """Common fields of requests."""
        return {"group_id": "g", "member_id": self.member_id, "group_instance_id": self.instance_id}

    def send_sync(self, **assignments: bytes) -> None:
        """Send SyncGroup; as the leader with assignments by member id."""
        given = [SyncGroupRequestAssignment(member_id=to, assignment=data) for to, data in assignments.items()]
        request = SyncGroupRequest(
            **self.fields,
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name="range",
            assignments=given,
        )
        self._sent = self.waits.send(request, 5)

    def synced(self) -> tuple[ErrorCode, bytes]:
        """Receive the response."""
        answer = self.waits.take(SyncGroupResponse, 5, self._sent)
        return CODES[answer.error_code], answer.assignment

    def heartbeat(self) -> ErrorCode:
        """Send a heartbeat and return its error code."""
        request = HeartbeatRequest(**self.fields, generation_id=self.generation)
        return CODES[self.talks.call(request, HeartbeatResponse, 4).error_code]

    def leave(self) -> ErrorCode:
        """Leave."""
        one = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        answer = self.talks.call(LeaveGroupRequest(group_id="g", members=[one]), LeaveGroupResponse, 5)
        return CODES[answer.members[0].error_code]

    def commit(self) -> ErrorCode:
        """Commit offset 7 of the first partition."""
        offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        topics = [OffsetCommitRequestTopic(name="t", partitions=[offset])]
        request = OffsetCommitRequest(**self.fields, generation_id_or_member_epoch=self.generation, topics=topics)
        return CODES[self.talks.call(request, OffsetCommitResponse, 9).topics[0].partitions[0].error_code]


def stable_group(scenario: Scenario, *instances: str | None) -> list[ClassicPeer]:
    """Return members that have joined and synced, the leader first; each assignment is the member's number."""
    peers = [ClassicPeer(scenario, instance) for instance in instances]
    for peer in peers:
        peer.send_join()
    scenario.scheduler.advance(0)
    for peer in peers:
        assert peer.joined().error_code == ErrorCode.NONE
    numbers = {peer.member_id: b"%d" % number for number, peer in enumerate(peers)}
    for peer in peers:
        peer.send_sync(**(numbers if peer is peers[0] else {}))
    assert [peer.synced() for peer in peers] == [(ErrorCode.NONE, b"%d" % number) for number in range(len(peers))]
    return peers


class ConsumerPeer:
    """Member of the consumer group g that follows assignments immediately, unless `is_slow`."""

    def __init__(self, scenario: Scenario, member_id: str, instance_id: str | None = None, node_id: int = 1) -> None:
        self.scenario = scenario
        self.client = scenario.connect(node_id)
        self.member_id = member_id
        self.instance_id = instance_id
        self.epoch = 0
        self.owned: set[tuple[bytes, int]] = set()
        self.told: set[tuple[bytes, int]] = set()
        self.is_slow = False

    def beat(self, **more: Any) -> ErrorCode:
        """Send a heartbeat, follow the response, and return its code."""
        fields: dict[str, Any] = {"instance_id": self.instance_id, "topic_partitions": self._partitions()}
        if self.epoch == 0:
            fields |= {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["t"], "topic_partitions": []}
        request = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=self.member_id, **({"member_epoch": self.epoch} | fields | more)
        )
        answer = self.client.call(request, ConsumerGroupHeartbeatResponse, 1)
        code = CODES[answer.error_code]
        if code is not ErrorCode.NONE:
            return code
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            self.told = {(topic.topic_id, index) for topic in topics for index in topic.partitions}
        if not self.is_slow:
            self.follow()
        return code

    def follow(self) -> None:
        """Own the assigned partitions."""
        self.owned = set(self.told)

    def _partitions(self) -> list[TopicPartitions]:
        return [TopicPartitions(topic_id=topic_id, partitions=[index]) for topic_id, index in sorted(self.owned)]

    @property
    def indexes(self) -> list[int]:
        """The partitions it owns, of whatever topic."""
        return sorted(index for _, index in self.owned)

    def leave(self, epoch: int = -1) -> ErrorCode:
        """Leave; -2 is for a while."""
        return self.beat(member_epoch=epoch, topic_partitions=None)

    def commit(self, epoch: int | None = None) -> ErrorCode:
        """Commit offset 7 of the first partition."""
        offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        request = OffsetCommitRequest(
            group_id="g",
            member_id=self.member_id,
            generation_id_or_member_epoch=self.epoch if epoch is None else epoch,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[offset])],
        )
        return CODES[self.client.call(request, OffsetCommitResponse, 9).topics[0].partitions[0].error_code]
