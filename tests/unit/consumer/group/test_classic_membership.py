"""ClassicMembership against a scripted coordinator: the steps of a rebalance, and what the application is told."""

import re
from typing import TypeVar, cast

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import MemberSubscription
from kctl.client.consumer.assignors.protocol import decode_subscription, encode_assignment, encode_subscription
from kctl.client.consumer.group.classic_membership import ClassicMembership
from kctl.client.consumer.group.events import AssignmentChanged, GroupFailed, SessionConfirmed, Subscribe
from kctl.client.errors import ConnectionLost, RequestTimeout
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from tests.unit.consumer.coordination import ReadyCoordinator
from tests.unit.consumer.fakes import T0, T1, FakeClient, Reports, answer, config, fail, rng, topic

R = TypeVar("R", bound=Request)


class Scenario:
    def __init__(self, strategy: str = "range", **properties: object) -> None:
        self.client, self.coordinator, self.reports = FakeClient(topic("t", [1, 1])), ReadyCoordinator(), Reports()
        self.member = ClassicMembership(
            config(group_id="g", partition_assignment_strategy=strategy, max_poll_interval_ms=60_000, **properties),
            cast(Coordinator, self.coordinator),
            self.client.metadata,
            rng(),
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
    scenario = Scenario()
    sent, request = scenario.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms, request.rebalance_timeout_ms) == (PROMPT, 30_000, 60_000)
    assert (request.member_id, request.protocol_type) == ("", "consumer")
    answer(sent, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m"))
    assert scenario.member.identity is None
    sent, request = scenario.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms, request.member_id) == (HELD, 65_000, "m")


def test_a_first_join_that_is_not_answered_gets_twice_the_time() -> None:
    scenario = Scenario()
    limits = []
    for now_ms in range(0, 300_000, 100_000):
        sent, _ = scenario.sent(JoinGroupRequest, now_ms)
        limits.append(sent.timeout_ms)
        fail(sent, RequestTimeout("JoinGroup", timeout_ms=sent.timeout_ms, elapsed_ms=sent.timeout_ms), now_ms)
    assert limits == [30_000, 60_000, 65_000], "an old broker may hold it back after all"


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "old broker"])
def test_where_no_member_id_comes_first_the_first_join_is_held(is_static: bool) -> None:
    scenario = Scenario(**({"group_instance_id": "i"} if is_static else {}))
    scenario.coordinator.newest = 9 if is_static else 3
    sent, _ = scenario.sent(JoinGroupRequest)
    assert (sent.node_id, sent.timeout_ms) == (HELD, 65_000)


def test_a_join_that_the_group_does_not_know_of_got_lost_and_is_made_again() -> None:
    scenario = Scenario()
    sent, _ = scenario.sent(JoinGroupRequest)
    answer(sent, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m"))
    requests = {each.request.NAME: each for each in scenario.member.poll(1000).requests}
    assert list(requests) == ["JoinGroup", "Heartbeat"]
    unknown = HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    answer(requests["Heartbeat"], unknown, 1001)
    scenario.beat(ErrorCode.UNKNOWN_MEMBER_ID, 4000)
    assert scenario.coordinator.lost_with == [], "it may have overtaken the JoinGroup"
    scenario.beat(ErrorCode.UNKNOWN_MEMBER_ID, 7000)
    [error] = scenario.coordinator.lost_with
    assert "UNKNOWN_MEMBER_ID" in str(error)
    assert scenario.sent(JoinGroupRequest, 7001)[1].member_id == ""


def test_nobody_joins_before_the_application_polls() -> None:
    scenario = Scenario()
    scenario.member.remain(1000)
    scenario.member.subscribe(Subscribe(("t",)))
    assert scenario.member.poll(0).requests == []


def test_the_leader_shares_out_for_all() -> None:
    scenario = Scenario()
    sent, _ = scenario.sent(JoinGroupRequest)
    said = encode_subscription(MemberSubscription(("t",)))
    members = [JoinGroupResponseMember(member_id=each, metadata=said) for each in ("m", "n")]
    answer(
        sent,
        JoinGroupResponse(generation_id=3, member_id="m", leader="m", protocol_name="range", members=members),
    )
    _, sync = scenario.sent(SyncGroupRequest)
    shares = {each.member_id: each.assignment for each in sync.assignments}
    assert shares == {"m": encode_assignment([T0]), "n": encode_assignment([T1])}


def test_eager_releases_everything_before_it_joins_again() -> None:
    scenario = Scenario()
    assert decode_subscription(scenario.join(1, T0, T1).protocols[0].metadata).owned == ()
    assert scenario.changes() == [AssignmentChanged(1, (T0, T1))]
    scenario.member.applied(1)
    scenario.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    assert [each.request.NAME for each in scenario.member.poll(3001).requests] == []
    assert scenario.changes() == [AssignmentChanged(2, (), is_complete=False)]
    assert [each.request.NAME for each in scenario.member.poll(6000).requests] == ["Heartbeat"], (
        "still a member meanwhile"
    )
    scenario.member.applied(2)
    scenario.sent(JoinGroupRequest, 6001)


def test_cooperative_keeps_what_it_has_and_joins_again_after_giving_up_the_rest() -> None:
    scenario = Scenario("cooperative-sticky")
    scenario.join(1, T0, T1)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    assert set(decode_subscription(scenario.join(2, T0, now_ms=3001).protocols[0].metadata).owned) == {T0, T1}
    assert scenario.changes()[-1] == AssignmentChanged(2, (T0,))
    assert scenario.member.poll(3002).requests == [], "not before the application has let go"
    scenario.member.applied(2)
    assert decode_subscription(scenario.sent(JoinGroupRequest, 3003)[1].protocols[0].metadata).owned == (T0,)


@pytest.mark.parametrize("subscription", [Subscribe(("t",)), Subscribe((), re.compile("t.*"))])
def test_assignment_of_other_topics_is_dropped_and_the_member_joins_again_after_a_back_off(
    subscription: Subscribe, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = Scenario("cooperative-sticky")
    scenario.member.subscribe(subscription)
    scenario.client.know(topic("t", [1, 1]))
    scenario.join(1, T0)
    scenario.member.applied(scenario.changes()[-1].number)
    scenario.member.rejoin("test")
    other = TopicPartition("other", 0)
    for generation in (2, 3):
        scenario.join(generation, T0, other)  # twice without a pause, as other repeats
    request = scenario.join(4, T0, other)
    assert request.reason == "the assignment does not match the subscription"
    assert scenario.changes() == []
    polled = scenario.member.poll(0)
    assert not [each for each in polled.requests if isinstance(each.request, JoinGroupRequest)]
    assert polled.next_deadline_at_ms == 100
    waiting = scenario.member._wait_reason()[0]
    assert waiting == "joining group g again: the assignment contains topics that are not in the subscription: other"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "rejoining group g: the assignment contains topics that are not in the subscription: other"
    ] * 3
    matching = 5
    scenario.join(matching, T0, T1, now_ms=100)
    assert [change.owned for change in scenario.changes()] == [(T0, T1)]
    assert scenario.member._wait_reason()[0] == ""


def test_a_forgotten_member_has_lost_everything() -> None:
    scenario = Scenario()
    scenario.join(1, T0)
    scenario.member.applied(1)
    before = scenario.member.incarnation
    scenario.beat(ErrorCode.UNKNOWN_MEMBER_ID, 3000)
    assert scenario.changes()[-1] == AssignmentChanged(2, (), lost=(T0,), is_complete=False)
    assert (scenario.member.identity, scenario.member.incarnation) == (None, before + 1)
    assert scenario.member.poll(3001).requests == []
    scenario.member.applied(2)
    assert scenario.sent(JoinGroupRequest, 3002)[1].member_id == ""


def test_a_fenced_instance_stays_out() -> None:
    scenario = Scenario(group_instance_id="one")
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.FENCED_INSTANCE_ID, 3000)
    scenario.member.applied(2)
    assert scenario.member.poll(4000).requests == []
    scenario.reports.clear()
    scenario.member.poll_began()
    scenario.member.poll(4100)
    assert [type(event) for event in scenario.reports] == [GroupFailed]
    scenario.reports.clear()
    scenario.member.poll_began()
    assert scenario.member.poll(4199).next_deadline_at_ms == 4200
    assert scenario.reports == []
    scenario.member.poll(4200)
    assert [type(event) for event in scenario.reports] == [GroupFailed]


def test_subscribe_after_fenced_instance_leaves_no_deadline_in_the_past() -> None:
    scenario = Scenario(group_instance_id="one")
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.FENCED_INSTANCE_ID, 3000)
    scenario.member.applied(2)
    scenario.member.poll(4000)
    scenario.member.poll_began()
    scenario.member.subscribe(Subscribe(("t",)))
    assert scenario.member.poll(5000).next_deadline_at_ms > 5000


def test_refused_joins_back_off() -> None:
    scenario = Scenario(retry_backoff_max_ms=1000)
    joins = 0
    for now_ms in range(10_000):
        for request in scenario.member.poll(now_ms).requests:
            joins += 1
            answer(request, JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL), now_ms)
            scenario.member.poll_began()
    assert 9 <= joins <= 16


def test_a_sync_without_an_answer_has_the_request_timeout_and_the_member_joins_again() -> None:
    scenario = Scenario(request_timeout_ms=7000)
    sent, _ = scenario.sent(JoinGroupRequest)
    answer(sent, JoinGroupResponse(generation_id=3, member_id="m", leader="other", protocol_name="range"))
    sync, _ = scenario.sent(SyncGroupRequest)
    assert (sync.node_id, sync.timeout_ms) == (HELD, 7000)
    fail(sync, RequestTimeout("SyncGroup", timeout_ms=7000, elapsed_ms=7000), 7000)
    assert scenario.sent(JoinGroupRequest, 7200)[1].member_id == "m"


def test_the_session_counts_from_when_confirmed_requests_were_sent() -> None:
    scenario = Scenario(session_timeout_ms=10_000)
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.NONE, 3000)
    scenario.beat(ErrorCode.REBALANCE_IN_PROGRESS, 6000)
    scenario.beat(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 9000)
    confirmed = [event.until_ms for event in scenario.reports.take() if isinstance(event, SessionConfirmed)]
    assert confirmed == [10_000, 13_000, 16_000]


def test_a_silent_application_is_left_out_to_the_millisecond() -> None:
    scenario = Scenario()
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.member.poll_ended(1000)
    assert not any(isinstance(each.request, LeaveGroupRequest) for each in scenario.member.poll(60_999).requests)
    leave, _ = scenario.sent(LeaveGroupRequest, 61_000)
    assert leave.node_id == PROMPT
    assert scenario.changes()[-1].is_lost


def test_while_the_join_is_held_heartbeats_only_watch_the_coordinator() -> None:
    scenario = Scenario()
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    scenario.member.poll(3000)
    scenario.member.applied(2)
    scenario.sent(JoinGroupRequest, 3001)
    scenario.reports.clear()
    scenario.beat(ErrorCode.ILLEGAL_GENERATION, 6000)
    assert scenario.changes() == [], "the answer to the JoinGroup counts"


def test_a_generation_that_a_lost_response_had_takes_nothing_away() -> None:
    scenario = Scenario("cooperative-sticky")
    scenario.join(1, T0)
    scenario.member.applied(1)
    scenario.beat(ErrorCode.REBALANCE_IN_PROGRESS, 3000)
    join, _ = scenario.sent(JoinGroupRequest, 3001)
    beat, _ = scenario.sent(HeartbeatRequest, 6000)
    fail(join, ConnectionLost("gone"), 6001)
    scenario.reports.clear()
    answer(beat, HeartbeatResponse(error_code=ErrorCode.ILLEGAL_GENERATION), 6002)
    assert scenario.member.is_joining
    assert scenario.changes() == []
    assert scenario.sent(JoinGroupRequest, 7000)[1].member_id == "m"
