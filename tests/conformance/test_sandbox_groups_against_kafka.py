"""Groups of the sandbox stay honest: the same raw requests get the same outcomes from it and from the newest Kafka.

Member ids that a broker makes up are replaced by the order in which they appeared.
"""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol import codec
from kctl.client.protocol.api.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kctl.client.protocol.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kctl.client.protocol.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kctl.client.protocol.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kctl.client.protocol.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kctl.client.protocol.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kctl.client.protocol.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox import ClusterSettings, Sandbox
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA
from tests.support.kafka.waiting import wait_until

R = TypeVar("R", bound=Response)
PATIENCE_MS = 30_000
SESSION_MS = 30_000
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
NAMES = {int(code): code.name for code in ErrorCode}
Outcome = tuple[str, Any]


def subscription(*topics: str) -> bytes:
    return struct.pack(">h", 3) + codec.encode(ConsumerProtocolSubscription(topics=list(topics)), 3)


class _Talk:
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


def _no_group(talk: _Talk) -> Iterator[Outcome]:
    yield "heartbeat", talk.heartbeat("m", 1)
    yield "join", talk.join("m")[1]
    yield "sync", talk.sync("m", 1)
    yield "leave", talk.leave(("m", None), ("", "i"))
    yield "leave alone", talk.leave_alone("m")
    yield "describe", talk.describe()
    yield "describe before version 6", talk.describe(5)
    yield "describe consumers", talk.describe_consumers()
    yield "delete", talk.delete()
    yield "delete offset", talk.delete_offset()
    yield "commit", [talk.commit("m", 1, version=version) for version in (8, 9)]
    yield "committed", talk.committed()
    yield "committed as a member", talk.committed("m", 3)
    yield "beat", [talk.beat("m", epoch) for epoch in (1, -1, -2, -3)]
    yield "leave static", talk.beat("m", -2, instance_id="i")
    talk.group_id = ""
    yield "no name", [talk.heartbeat("m", 1), talk.delete(), talk.beat("m", 0), talk.join()[1], talk.sync("m", 1)]
    yield "no name, described", [talk.describe(), talk.describe_consumers(), talk.leave(("m", None))]


def _one_member(talk: _Talk) -> Iterator[Outcome]:
    for session_ms in (1, 499, 1_800_001):
        yield f"session of {session_ms} ms", talk.join(session_timeout_ms=session_ms)[1]
    yield "no protocols", talk.join(protocols=[])[1]
    yield "no protocol type", talk.join(protocol_type="")[1]
    first, outcome = talk.join()
    yield "join without id", outcome
    yield "promised", [talk.describe(), talk.list(), talk.heartbeat(first, 0), talk.sync(first, 0)]
    yield "join with id", talk.join(first)[1]
    yield "join again", talk.join(first)[1]
    yield "completing", [talk.describe(), talk.heartbeat(first, 1), talk.commit(first, 1), talk.delete()]
    yield "sync, wrong protocol", talk.sync(first, 1, protocol_name="x")
    yield "sync, wrong type", talk.sync(first, 1, protocol_type="x")
    yield "sync, no type", talk.sync(first, 1, protocol_type=None)
    yield "sync, wrong generation", talk.sync(first, 2)
    yield "sync, unknown", talk.sync("nobody", 1)
    yield "sync", talk.sync(first, 1, assignments=[SyncGroupRequestAssignment(member_id=first, assignment=b"mine")])
    yield "sync again", talk.sync(first, 1)
    yield "stable", [talk.describe(), talk.list(states_filter=["stable"]), talk.list(types_filter=["Consumer"])]
    yield "heartbeats", [talk.heartbeat(first, generation) for generation in (1, 0, 2, -1)]
    yield "heartbeat, unknown", [talk.heartbeat("nobody", 1), talk.heartbeat(first, 1, "i")]
    yield "commits", [talk.commit(first, generation) for generation in (1, 0, 2, -1)]
    yield "commits, unknown", [talk.commit("nobody", 1), talk.commit("", -1), talk.commit(first, 1, version=2)]
    yield "committed", [talk.committed(), talk.committed(first, 1), talk.committed("nobody", 9)]
    yield "delete", [talk.delete(), talk.delete_offset(), talk.delete_offset(9)]
    yield "another type", talk.join(protocol_type="connect")[1]
    yield "beat", talk.beat("m", 0)
    yield "describe consumers", talk.describe_consumers()
    other = [JoinGroupRequestProtocol(name="other", metadata=b"")]
    yield "another protocol", talk.join(protocols=other)[1]
    yield "the leader joins again", talk.join(first)[1]
    yield "leave", [talk.leave(("nobody", None), ("", "i"), (first, "i")), talk.leave_alone("nobody")]
    yield "leave", talk.leave((first, None))
    yield "empty", [talk.describe(), talk.list(), talk.heartbeat(first, 3), talk.join(first)[1]]
    yield "commits when empty", [talk.commit("", -1), talk.commit(first, -1), talk.commit(first, 3)]
    yield "delete", [talk.delete_offset(), talk.committed(), talk.delete(), talk.delete(), talk.list()]


def _two_members(talk: _Talk) -> Iterator[Outcome]:
    first, _ = talk.join()
    talk.join(first)
    talk.sync(first, 1)
    second, outcome = talk.join(peer=1)
    yield "second without id", outcome
    talk.send_join(second, peer=1)
    yield "nobody waits for it", talk.describe()[1][0][1] in ("Stable", "PreparingRebalance")
    wait_until(lambda: talk.heartbeat(first, 1) == "REBALANCE_IN_PROGRESS", PATIENCE_MS, "a rebalance")
    yield "preparing", [talk.describe(), talk.sync(first, 1), talk.commit(first, 1), talk.list()]
    both = [JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in ("other", "range")]
    yield "first again", talk.join(first, protocols=both)[1]
    yield "second", talk.joined(1)[1]
    talk.send_sync(second, 2, peer=1)
    yield "completing", [talk.heartbeat(first, 2), talk.commit(second, 2), talk.describe()]
    given = [SyncGroupRequestAssignment(member_id=second, assignment=b"all")]
    yield "leader syncs", [talk.sync(first, 2, assignments=given), talk.synced(1)]
    yield "follower joins again", talk.join(second, peer=1)[1]
    yield "stable", talk.describe()
    talk.send_join(second, peer=1, protocols=both)
    wait_until(lambda: talk.heartbeat(first, 2) == "REBALANCE_IN_PROGRESS", PATIENCE_MS, "a rebalance")
    yield "leader leaves", talk.leave((first, None))
    yield "follower leads", talk.joined(1)[1]
    yield "old member", [talk.heartbeat(first, 3), talk.heartbeat(second, 3), talk.commit(first, 3)]
    yield "leaves in completing", [talk.leave((second, None)), talk.describe()]


def _static(talk: _Talk) -> Iterator[Outcome]:
    first, outcome = talk.join(group_instance_id="a")
    yield "join", outcome
    yield (
        "sync",
        talk.sync(
            first, 1, group_instance_id="a", assignments=[SyncGroupRequestAssignment(member_id=first, assignment=b"x")]
        ),
    )
    yield "heartbeats", [talk.heartbeat(first, 1, instance) for instance in (None, "a", "b")]
    again, outcome = talk.join(group_instance_id="a")
    yield "leader is back", outcome
    yield (
        "old one",
        [talk.heartbeat(first, 1, "a"), talk.heartbeat(first, 1), talk.sync(first, 1, group_instance_id="a")],
    )
    yield "old one joins", talk.join(first, group_instance_id="a")[1]
    yield "old one commits", [talk.commit(first, 1, group_instance_id="a"), talk.commit(first, 1)]
    yield "old one leaves", talk.leave((first, "a"))
    yield "new one", [talk.heartbeat(again, 1, "a"), talk.sync(again, 1, group_instance_id="a"), talk.describe()]
    older, outcome = talk.join(group_instance_id="a", version=7)
    yield "leader is back, version 7", (outcome, talk.heartbeat(older, 1, "a"))
    more = [JoinGroupRequestProtocol(name="new", metadata=b""), JoinGroupRequestProtocol(name="range", metadata=b"")]
    yield "back with another wish", talk.join(group_instance_id="a", protocols=more)[1]
    yield "leave by instance", [talk.leave(("", "b")), talk.leave(("", "a")), talk.describe()]


def _strangers(talk: _Talk) -> Iterator[Outcome]:
    wishes: dict[str, dict[str, Any]] = {
        "no id": {"member_id": ""},
        "no timeout": {"rebalance_timeout_ms": -1},
        "partitions": {"topic_partitions": [TopicPartitions(topic_id=talk.topic_id, partitions=[0])]},
        "unknown partitions": {"topic_partitions": None},
        "no topics": {"subscribed_topic_names": None},
        "empty instance": {"instance_id": ""},
        "empty rack": {"rack_id": ""},
        "assignor": {"server_assignor": "sticky"},
        "regex": {"subscribed_topic_regex": "("},
    }
    for name, wrong in wishes.items():
        yield name, talk.beat("m", 0, **wrong)
    yield "nothing was made", talk.describe_consumers()


def _consumers(talk: _Talk) -> Iterator[Outcome]:
    yield "first joins", talk.beat("m1", 0)
    yield "first", [talk.beat("m1", 2), talk.beat("m1", 2, [0, 1, 2, 3]), talk.describe_consumers(), talk.list()]
    yield "first joins again", talk.beat("m1", 0)
    yield "wrong epochs", [talk.beat("m1", 7), talk.beat("nobody", 1), talk.beat("nobody", -1)]
    yield "classic", [talk.describe(), talk.heartbeat("m1", 2), talk.sync("m1", 2)]
    yield "second joins", talk.beat("m2", 0)
    yield "second waits", [talk.beat("m2", 3, []), talk.describe_consumers()]
    yield "commits", [talk.commit("m1", epoch) for epoch in (-1, 0, 1, 2, 3)]
    yield "commits of others", [talk.commit("", -1), talk.commit("nobody", 2), talk.commit("m1", 2, version=8)]
    yield "committed", [talk.committed(), talk.committed("m1", 2), talk.committed("m1", 3), talk.committed("x", 2)]
    yield "first is to revoke", talk.beat("m1", 2, [0, 1, 2, 3])
    yield "first still has them", [talk.beat("m1", 2), talk.beat("m1", 2, [0, 1, 2]), talk.beat("m2", 3)]
    yield "half way", talk.describe_consumers()
    yield "first has revoked", [talk.beat("m1", 2, [0, 1]), talk.beat("m1", 3, [0, 1])]
    yield "second gets them", [talk.beat("m2", 3), talk.describe_consumers()]
    yield "lost answer", [talk.beat("m1", 2, [0, 1]), talk.beat("m1", 2, [0, 1, 2]), talk.beat("m1", 2)]
    yield "commits in epoch 3", [talk.commit("m1", epoch) for epoch in (0, 1, 2, 3, 4)]
    yield "commits of the second", [talk.commit("m2", epoch, 3) for epoch in (2, 3)]
    yield "delete", [talk.delete(), talk.delete_offset()]
    yield "second leaves", [talk.beat("m2", -1), talk.describe_consumers(), talk.beat("m2", 3)]
    yield "first takes over", [talk.beat("m1", 3), talk.describe_consumers(), talk.committed("m1", 4)]
    yield (
        "commits in epoch 4",
        [talk.commit("m1", epoch, *parts) for epoch in (2, 3, 4) for parts in ((0,), (3,), (0, 3))],
    )
    yield "commits of nothing", [talk.commit("m1", 3, 9), talk.commit("m1", 4, 9, 0)]
    yield "first leaves", [talk.beat("m1", -1), talk.describe_consumers(), talk.list(), talk.commit("", -1)]
    yield "another joins", talk.beat("m3", 0)
    yield "leaves", [talk.leave(("m3", "a"), ("x", None), ("m3", None)), talk.delete(), talk.describe_consumers()]
    # Not listed: Kafka lists what is committed, and a promised member id writes nothing that would commit the change.
    yield "classic again", talk.join()[1]


def _static_consumers(talk: _Talk) -> Iterator[Outcome]:
    yield "join", talk.beat("m1", 0, instance_id="a")
    yield "wrong instance", [talk.beat("m1", 2, instance_id="b"), talk.beat("m1", 2)]
    yield "wrong id", [talk.beat("m2", 2, instance_id="a"), talk.beat("m2", 0, instance_id="a")]
    yield "not known", [talk.beat("m2", -2, instance_id="a"), talk.beat("m2", -2, instance_id="b")]
    yield "away", [talk.beat("m1", -2, instance_id="a"), talk.describe_consumers()]
    yield "while away", [talk.beat("m1", 2, instance_id="a"), talk.commit("m1", 2)]
    yield "back", [talk.beat("m2", 0, instance_id="a"), talk.describe_consumers()]
    yield "the old one", [talk.beat("m1", 2, instance_id="a"), talk.beat("m1", 0, instance_id="a")]
    yield "leave", [talk.beat("m2", -1, instance_id="a"), talk.describe_consumers()]


def _wishes(talk: _Talk) -> Iterator[Outcome]:
    yield "range", talk.beat("m1", 0, server_assignor="range")
    yield "uniform is asked for", talk.beat("m1", 2, server_assignor="uniform")
    yield "nothing new", [talk.beat("m1", 2), talk.describe_consumers()]
    yield "an unknown topic too", [talk.beat("m1", 2, subscribed_topic_names=[talk.topic, "x"]), talk.beat("m1", 3)]
    yield "no topic", talk.beat("m1", 3, subscribed_topic_names=[])
    yield "revoked", [talk.beat("m1", 3, []), talk.describe_consumers()]
    epochs = [4]

    def is_assigned() -> bool:
        _, (_, epoch, _, assigned) = talk.beat("m1", epochs[-1], subscribed_topic_regex=f"{talk.topic[:-1]}[^x]")
        epochs.append(epoch)
        return bool(assigned)

    wait_until(is_assigned, PATIENCE_MS, "topics of a pattern")
    described = talk.describe_consumers()[1]
    yield "a pattern", [part for part in described[2][0][-1] if part[0]]


SCENARIOS = [_no_group, _one_member, _two_members, _static, _strangers, _consumers, _static_consumers, _wishes]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """A broker that assigns at once: by default it gathers changes of a second and computes beside the heartbeats."""
    properties = {
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.assignor.offload.enable": "false",
        "group.consumer.session.timeout.ms": "45000",  # this and the next are Kafka's own defaults
        "group.consumer.heartbeat.interval.ms": "5000",
    }
    with ExitStack() as stack:
        yield have(lambda: stack.enter_context(KafkaCluster(NEWEST_KAFKA, 1, properties)))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_outcomes_are_those_of_kafka(kafka: KafkaCluster, scenario: Any) -> None:
    topic = kafka.create_topic(partitions=4)
    host, _, port = kafka.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as one, Peer((host, int(port))) as two:
        theirs = list(scenario(_Talk([one, two], topic)))
    settings = ClusterSettings(group_min_session_timeout_ms=500)
    with Sandbox(nodes=1, topics={topic: 4}, settings=settings).serve() as served:
        address = served.listens_on(1)
        with Peer(address) as one, Peer(address) as two:
            ours = list(scenario(_Talk([one, two], topic)))
    for outcome, expected in zip(ours, theirs, strict=True):
        assert outcome == expected
