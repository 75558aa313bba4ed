"""ClassicMembership against a scripted coordinator: the steps of a rebalance, and what the application is told."""

from typing import TypeVar, cast

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import MemberSubscription
from kctl.client.consumer.assignors.protocol import decode_subscription, encode_assignment, encode_subscription
from kctl.client.consumer.group.classic_membership import ClassicMembership
from kctl.client.consumer.group.events import AssignmentChanged, GroupFailed, SessionConfirmed, Subscribe
from kctl.client.errors import RequestTimeout
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kctl.client.protocol.api.leave_group import LeaveGroupRequest
from kctl.client.protocol.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kctl.client.protocol.schema import Request
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from tests.unit.consumer.coordination import ReadyCoordinator
from tests.unit.consumer.fakes import T0, T1, FakeClient, Reports, answer, chance, config, fail, topic

R = TypeVar("R", bound=Request)


class Desk:
    def __init__(self, strategy: str = "range", **properties: object) -> None:
        self.client, self.coordinator, self.reports = FakeClient(topic("t", [1, 1])), ReadyCoordinator(), Reports()
        self.member = ClassicMembership(
            config(group_id="g", partition_assignment_strategy=strategy, max_poll_interval_ms=60_000, **properties),
            cast(Coordinator, self.coordinator),
            self.client.metadata,
            chance(),
            self.reports.append,
        )
        self.member.subscribe(Subscribe(("t",)))
        self.member.poll_began()

    def sent(self, kind: type[R], now_ms: int = 0) -> tuple[Outgoing, R]:
        """Poll and return the one request of that kind."""
        [found] = [each for each in self.member.poll(now_ms).requests if isinstance(each.request, kind)]
        assert isinstance(found.request, kind)
        return found, found.request

    def changes(self) -> list[AssignmentChanged]:
        return [event for event in self.reports.take() if isinstance(event, AssignmentChanged)]

    def join(self, generation: int, *assigned: TopicPartition, now_ms: int = 0) -> JoinGroupRequest:
        """Let a rebalance end with these partitions, led by somebody else."""
        sent, request = self.sent(JoinGroupRequest, now_ms)
        answer(
            sent,
            JoinGroupResponse(generation_id=generation, member_id="m", leader="other", protocol_name="range"),
            now_ms,
        )
        sync, _ = self.sent(SyncGroupRequest, now_ms)
        answer(sync, SyncGroupResponse(assignment=encode_assignment(assigned)), now_ms)
        return request

    def beat(self, code: int, now_ms: int) -> None:
        sent, _ = self.sent(HeartbeatRequest, now_ms)
        answer(sent, HeartbeatResponse(error_code=code), now_ms)


def test_the_member_id_comes_first_and_the_join_may_be_held() -> None:
    desk = Desk()
    sent, request = desk.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms, request.rebalance_timeout_ms) == (PROMPT, 30_000, 60_000)
    assert (request.member_id, request.protocol_type) == ("", "consumer")
    answer(sent, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m"))
    assert desk.member.identity is None
    sent, request = desk.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms, request.member_id) == (HELD, 65_000, "m")


def test_a_first_join_that_is_not_answered_gets_twice_the_time() -> None:
    desk = Desk()
    limits = []
    for now_ms in range(0, 300_000, 100_000):
        sent, _ = desk.sent(JoinGroupRequest, now_ms)
        limits.append(sent.timeout_ms)
        fail(sent, RequestTimeout("JoinGroup", timeout_ms=sent.timeout_ms, elapsed_ms=sent.timeout_ms), now_ms)
    assert limits == [30_000, 60_000, 65_000], "an old broker may hold it back after all"


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "old broker"])
def test_where_no_member_id_comes_first_the_first_join_is_held(is_static: bool) -> None:
    desk = Desk(**({"group_instance_id": "i"} if is_static else {}))
    desk.coordinator.newest = 9 if is_static else 3
    sent, _ = desk.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms) == (HELD, 65_000)


def test_a_join_that_the_group_does_not_know_of_got_lost_and_is_made_again() -> None:
    desk = Desk()
    sent, _ = desk.sent(JoinGroupRequest)
    answer(sent, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m"))
    requests = {each.request.NAME: each for each in desk.member.poll(1000).requests}
    assert list(requests) == ["JoinGroup", "Heartbeat"]
    unknown = HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    answer(requests["Heartbeat"], unknown, 1001)
    desk.beat(ErrorCode.UNKNOWN_MEMBER_ID, 4000)
    assert desk.coordinator.lost_with == [], "it may have overtaken the JoinGroup"
    desk.beat(ErrorCode.UNKNOWN_MEMBER_ID, 7000)
    [error] = desk.coordinator.lost_with
    assert "UNKNOWN_MEMBER_ID" in str(error)
    assert desk.sent(JoinGroupRequest, 7001)[1].member_id == ""


def test_nobody_joins_before_the_application_polls() -> None:
    desk = Desk()
    desk.member.remain(1000)
    desk.member.subscribe(Subscribe(("t",)))
    assert desk.member.poll(0).requests == []


def test_the_leader_shares_out_for_all() -> None:
    desk = Desk()
    sent, _ = desk.sent(JoinGroupRequest)
    said = encode_subscription(MemberSubscription(("t",)))
    members = [JoinGroupResponseMember(member_id=each, metadata=said) for each in ("m", "n")]
    answer(
        sent,
        JoinGroupResponse(generation_id=3, member_id="m", leader="m", protocol_name="range", members=members),
    )
    _, sync = desk.sent(SyncGroupRequest)
    shares = {each.member_id: each.assignment for each in sync.assignments}
    assert shares == {"m": encode_assignment([T0]), "n": encode_assignment([T1])}


def test_eager_releases_everything_before_it_joins_again() -> None:
    desk = Desk()
    assert decode_subscription(desk.join(1, T0, T1).protocols[0].metadata).owned == ()
    assert desk.changes() == [AssignmentChanged(1, (T0, T1))]
    desk.member.applied(1)
    desk.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    assert [each.request.NAME for each in desk.member.poll(3001).requests] == []
    assert desk.changes() == [AssignmentChanged(2, (), is_complete=False)]
    assert [each.request.NAME for each in desk.member.poll(6000).requests] == ["Heartbeat"], "still a member meanwhile"
    desk.member.applied(2)
    desk.sent(JoinGroupRequest, 6001)


def test_cooperative_keeps_what_it_has_and_joins_again_after_giving_up_the_rest() -> None:
    desk = Desk("cooperative-sticky")
    desk.join(1, T0, T1)
    desk.member.applied(1)
    desk.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    assert set(decode_subscription(desk.join(2, T0, now_ms=3001).protocols[0].metadata).owned) == {T0, T1}
    assert desk.changes()[-1] == AssignmentChanged(2, (T0,))
    assert desk.member.poll(3002).requests == [], "not before the application has let go"
    desk.member.applied(2)
    assert decode_subscription(desk.sent(JoinGroupRequest, 3003)[1].protocols[0].metadata).owned == (T0,)


def test_a_forgotten_member_has_lost_everything() -> None:
    desk = Desk()
    desk.join(1, T0)
    desk.member.applied(1)
    before = desk.member.incarnation
    desk.beat(ErrorCode.UNKNOWN_MEMBER_ID, 3000)
    assert desk.changes()[-1] == AssignmentChanged(2, (), is_lost=True, is_complete=False)
    assert (desk.member.identity, desk.member.incarnation) == (None, before + 1)
    assert desk.member.poll(3001).requests == []
    desk.member.applied(2)
    assert desk.sent(JoinGroupRequest, 3002)[1].member_id == ""


def test_a_fenced_instance_stays_out() -> None:
    desk = Desk(group_instance_id="one")
    desk.join(1, T0)
    desk.member.applied(1)
    desk.beat(ErrorCode.FENCED_INSTANCE_ID, 3000)
    desk.member.applied(2)
    assert desk.member.poll(4000).requests == []
    desk.reports.clear()
    desk.member.poll_began()
    desk.member.poll(4100)
    assert [type(event) for event in desk.reports] == [GroupFailed]
    desk.reports.clear()
    desk.member.poll_began()
    assert desk.member.poll(4199).next_deadline_at_ms == 4200
    assert desk.reports == []
    desk.member.poll(4200)
    assert [type(event) for event in desk.reports] == [GroupFailed]


def test_subscribe_after_fenced_instance_leaves_no_deadline_in_the_past() -> None:
    desk = Desk(group_instance_id="one")
    desk.join(1, T0)
    desk.member.applied(1)
    desk.beat(ErrorCode.FENCED_INSTANCE_ID, 3000)
    desk.member.applied(2)
    desk.member.poll(4000)
    desk.member.poll_began()
    desk.member.subscribe(Subscribe(("t",)))
    assert desk.member.poll(5000).next_deadline_at_ms > 5000


def test_refused_joins_back_off() -> None:
    desk = Desk(retry_backoff_max_ms=1000)
    joins = 0
    for now_ms in range(10_000):
        for request in desk.member.poll(now_ms).requests:
            joins += 1
            answer(request, JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL), now_ms)
            desk.member.poll_began()
    assert 9 <= joins <= 16


def test_a_sync_without_an_answer_has_the_request_timeout_and_the_member_joins_again() -> None:
    desk = Desk(request_timeout_ms=7000)
    sent, _ = desk.sent(JoinGroupRequest)
    answer(sent, JoinGroupResponse(generation_id=3, member_id="m", leader="other", protocol_name="range"))
    sync, _ = desk.sent(SyncGroupRequest)
    assert (sync.node_id, sync.timeout_ms) == (HELD, 7000)
    fail(sync, RequestTimeout("SyncGroup", timeout_ms=7000, elapsed_ms=7000), 7000)
    assert desk.sent(JoinGroupRequest, 7200)[1].member_id == "m"


def test_the_session_counts_from_when_confirmed_requests_were_sent() -> None:
    desk = Desk(session_timeout_ms=10_000)
    desk.join(1, T0)
    desk.member.applied(1)
    desk.beat(ErrorCode.NONE, 3000)
    desk.beat(ErrorCode.REBALANCE_IN_PROGRESS, 6000)
    desk.beat(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 9000)
    confirmed = [event.until_ms for event in desk.reports.take() if isinstance(event, SessionConfirmed)]
    assert confirmed == [10_000, 13_000, 16_000]


def test_a_silent_application_is_left_out_to_the_millisecond() -> None:
    desk = Desk()
    desk.join(1, T0)
    desk.member.applied(1)
    desk.member.poll_ended(1000)
    assert not any(isinstance(each.request, LeaveGroupRequest) for each in desk.member.poll(60_999).requests)
    leave, _ = desk.sent(LeaveGroupRequest, 61_000)
    assert leave.node_id == PROMPT
    assert desk.changes()[-1].is_lost


def test_while_the_join_is_held_heartbeats_only_watch_the_coordinator() -> None:
    desk = Desk()
    desk.join(1, T0)
    desk.member.applied(1)
    desk.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    desk.member.poll(3000)
    desk.member.applied(2)
    desk.sent(JoinGroupRequest, 3001)
    desk.reports.clear()
    desk.beat(ErrorCode.ILLEGAL_GENERATION, 6000)
    assert desk.changes() == [], "the answer to the JoinGroup counts"
