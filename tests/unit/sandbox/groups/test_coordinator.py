"""Coordinators that move, return errors, or freeze."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kctl.sandbox.faults import Fault
from tests.unit.sandbox.groups.members import (
    CODES,
    REBALANCE_MS,
    SESSION_MS,
    ClassicPeer,
    ConsumerPeer,
    bench_of,
    classic,
    consumer,
    stable_group,
)
from tests.unit.sandbox.scenario import Scenario


def found(scenario: Scenario) -> tuple[int, ErrorCode]:
    request = FindCoordinatorRequest(coordinator_keys=["g"])
    (answer,) = scenario.connect(1).call(request, FindCoordinatorResponse, 4).coordinators
    return answer.node_id, CODES[answer.error_code]


def two_nodes() -> Scenario:
    scenario = bench_of(2)
    scenario.sandbox.move_coordinator("g", 1)
    return scenario


def test_a_group_moves_with_its_last_generation() -> None:
    scenario = two_nodes()
    first, second = stable_group(scenario, None, None)
    scenario.scheduler.advance(SESSION_MS - 1)
    scenario.sandbox.move_coordinator("g", 2)
    assert found(scenario) == (2, ErrorCode.NONE)
    assert first.heartbeat() is ErrorCode.NOT_COORDINATOR
    first.talks, second.talks = scenario.connect(2), scenario.connect(2)
    scenario.scheduler.advance(SESSION_MS - 1)
    assert first.heartbeat() is ErrorCode.NONE
    scenario.scheduler.advance(1)
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_is_forgotten_when_the_group_moves() -> None:
    scenario = two_nodes()
    (first,) = stable_group(scenario, None)
    second = ClassicPeer(scenario)
    second.send_join()
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    scenario.sandbox.move_coordinator("g", 2)
    assert second.joined().error_code == ErrorCode.NOT_COORDINATOR
    first.talks, second.talks = scenario.connect(2), scenario.connect(2)
    assert first.heartbeat() is ErrorCode.NONE
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    scenario.scheduler.advance(SESSION_MS - 1)
    assert first.heartbeat() is ErrorCode.NONE


def test_a_promised_id_means_nothing_to_a_new_coordinator() -> None:
    scenario = two_nodes()
    (first,) = stable_group(scenario, None)
    offers = [JoinGroupRequestProtocol(name="range")]
    request = JoinGroupRequest(group_id="g", session_timeout_ms=SESSION_MS, protocol_type="consumer", protocols=offers)
    request.member_id = scenario.connect(1).call(request, JoinGroupResponse, 9).member_id
    scenario.sandbox.move_coordinator("g", 2)
    answer = scenario.connect(2).call(request, JoinGroupResponse, 9)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    first.talks = scenario.connect(2)
    assert first.heartbeat() is ErrorCode.NONE


def test_an_assignment_that_was_not_complete_is_forgotten_too() -> None:
    scenario = two_nodes()
    first, second = ClassicPeer(scenario), ClassicPeer(scenario)
    first.send_join()
    second.send_join()
    scenario.scheduler.advance(0)
    second.joined()
    second.send_sync()
    scenario.sandbox.move_coordinator("g", 2)
    assert second.synced()[0] is ErrorCode.NOT_COORDINATOR
    assert (classic(scenario).state_name, scenario.scheduler.pending) == ("Empty", 0)


def test_a_consumer_group_moves_whole_and_its_limits_start_over() -> None:
    scenario = two_nodes()
    first, second = ConsumerPeer(scenario, "m1"), ConsumerPeer(scenario, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    scenario.scheduler.advance(44_999)
    scenario.sandbox.move_coordinator("g", 2)
    assert first.beat() is ErrorCode.NOT_COORDINATOR
    first.client = scenario.connect(2)
    scenario.scheduler.advance(44_999)
    assert first.beat() is ErrorCode.NONE
    assert first.indexes == [0, 1]
    scenario.scheduler.advance(1)
    assert list(consumer(scenario).members) == ["m1"]


def test_who_is_to_give_up_gets_its_whole_time_from_a_new_coordinator() -> None:
    scenario = two_nodes()
    first, second = ConsumerPeer(scenario, "m1"), ConsumerPeer(scenario, "m2")
    first.beat()
    second.beat()
    first.is_slow = True
    first.beat()
    scenario.scheduler.advance(REBALANCE_MS - 1)
    scenario.sandbox.move_coordinator("g", 2)
    scenario.scheduler.advance(REBALANCE_MS - 1)
    assert list(consumer(scenario).members) == ["m1", "m2"]
    scenario.scheduler.advance(1)
    assert list(consumer(scenario).members) == ["m2"]


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, False),
    ],
)
def test_trouble_comes_and_goes(code: ErrorCode, is_found: bool) -> None:
    scenario = two_nodes()
    (member,) = stable_group(scenario, None)
    member.send_join()
    member.joined()
    member.send_sync(**{member.member_id: b"0"})
    member.synced()
    scenario.sandbox.trouble_coordinator("g", code)
    assert found(scenario)[0] == (1 if is_found else -1)
    assert (member.heartbeat(), member.commit()) == (code, code)
    scenario.scheduler.advance(SESSION_MS * 3)
    scenario.sandbox.trouble_coordinator("g", None)
    assert found(scenario) == (1, ErrorCode.NONE)
    assert member.heartbeat() is ErrorCode.NONE


def test_trouble_has_one_of_three_names() -> None:
    with pytest.raises(ValueError, match="UNKNOWN_MEMBER_ID is not a coordinator error"):
        two_nodes().sandbox.trouble_coordinator("g", ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_node_that_stands_still_expires_nobody_until_it_moves_again() -> None:
    scenario = two_nodes()
    (member,) = stable_group(scenario, None)
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    scenario.scheduler.advance(SESSION_MS * 2)
    assert list(classic(scenario).members) == [member.member_id]
    scenario.sandbox.stop_fault(1, Fault.FREEZE)
    assert classic(scenario).is_empty
    scenario.scheduler.advance(scenario.cluster.settings.replica_lag_time_max_ms)
    assert (classic(scenario).state_name, scenario.scheduler.pending) == ("Empty", 0)


def test_a_group_whose_coordinator_runs_does_not_care_for_frozen_nodes() -> None:
    scenario = two_nodes()
    stable_group(scenario, None)
    scenario.sandbox.start_fault(2, Fault.FREEZE)
    scenario.scheduler.advance(SESSION_MS)
    assert classic(scenario).is_empty
