"""Coordinators that move, are in trouble, or stand still."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kctl.sandbox.faults import Fault
from tests.unit.sandbox.bench import Bench
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


def found(bench: Bench) -> tuple[int, ErrorCode]:
    request = FindCoordinatorRequest(coordinator_keys=["g"])
    (answer,) = bench.connect(1).call(request, FindCoordinatorResponse, 4).coordinators
    return answer.node_id, CODES[answer.error_code]


def two_nodes() -> Bench:
    bench = bench_of(2)
    bench.sandbox.move_coordinator("g", 1)
    return bench


def test_a_group_moves_with_its_last_generation() -> None:
    bench = two_nodes()
    first, second = stable_group(bench, None, None)
    bench.scheduler.advance(SESSION_MS - 1)
    bench.sandbox.move_coordinator("g", 2)
    assert found(bench) == (2, ErrorCode.NONE)
    assert first.heartbeat() is ErrorCode.NOT_COORDINATOR
    first.talks, second.talks = bench.connect(2), bench.connect(2)
    bench.scheduler.advance(SESSION_MS - 1)
    assert first.heartbeat() is ErrorCode.NONE
    bench.scheduler.advance(1)
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_is_forgotten_when_the_group_moves() -> None:
    bench = two_nodes()
    (first,) = stable_group(bench, None)
    second = ClassicPeer(bench)
    second.send_join()
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    bench.sandbox.move_coordinator("g", 2)
    assert second.joined().error_code == ErrorCode.NOT_COORDINATOR
    first.talks, second.talks = bench.connect(2), bench.connect(2)
    assert first.heartbeat() is ErrorCode.NONE
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    bench.scheduler.advance(SESSION_MS - 1)
    assert first.heartbeat() is ErrorCode.NONE


def test_a_promised_id_means_nothing_to_a_new_coordinator() -> None:
    bench = two_nodes()
    (first,) = stable_group(bench, None)
    offers = [JoinGroupRequestProtocol(name="range")]
    request = JoinGroupRequest(group_id="g", session_timeout_ms=SESSION_MS, protocol_type="consumer", protocols=offers)
    request.member_id = bench.connect(1).call(request, JoinGroupResponse, 9).member_id
    bench.sandbox.move_coordinator("g", 2)
    answer = bench.connect(2).call(request, JoinGroupResponse, 9)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    first.talks = bench.connect(2)
    assert first.heartbeat() is ErrorCode.NONE


def test_an_assignment_that_was_not_complete_is_forgotten_too() -> None:
    bench = two_nodes()
    first, second = ClassicPeer(bench), ClassicPeer(bench)
    first.send_join()
    second.send_join()
    bench.scheduler.advance(0)
    second.joined()
    second.send_sync()
    bench.sandbox.move_coordinator("g", 2)
    assert second.synced()[0] is ErrorCode.NOT_COORDINATOR
    assert (classic(bench).state_name, bench.scheduler.pending) == ("Empty", 0)


def test_a_consumer_group_moves_whole_and_its_limits_start_over() -> None:
    bench = two_nodes()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    bench.scheduler.advance(44_999)
    bench.sandbox.move_coordinator("g", 2)
    assert first.beat() is ErrorCode.NOT_COORDINATOR
    first.client = bench.connect(2)
    bench.scheduler.advance(44_999)
    assert first.beat() is ErrorCode.NONE
    assert first.indexes == [0, 1]
    bench.scheduler.advance(1)
    assert list(consumer(bench).members) == ["m1"]


def test_who_is_to_give_up_gets_its_whole_time_from_a_new_coordinator() -> None:
    bench = two_nodes()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    first.beat()
    second.beat()
    first.is_slow = True
    first.beat()
    bench.scheduler.advance(REBALANCE_MS - 1)
    bench.sandbox.move_coordinator("g", 2)
    bench.scheduler.advance(REBALANCE_MS - 1)
    assert list(consumer(bench).members) == ["m1", "m2"]
    bench.scheduler.advance(1)
    assert list(consumer(bench).members) == ["m2"]


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, False),
    ],
)
def test_trouble_comes_and_goes(code: ErrorCode, is_found: bool) -> None:
    bench = two_nodes()
    (member,) = stable_group(bench, None)
    member.send_join()
    member.joined()
    member.send_sync(**{member.member_id: b"0"})
    member.synced()
    bench.sandbox.trouble_coordinator("g", code)
    assert found(bench)[0] == (1 if is_found else -1)
    assert (member.heartbeat(), member.commit()) == (code, code)
    bench.scheduler.advance(SESSION_MS * 3)
    bench.sandbox.trouble_coordinator("g", None)
    assert found(bench) == (1, ErrorCode.NONE)
    assert member.heartbeat() is ErrorCode.NONE


def test_trouble_has_one_of_three_names() -> None:
    with pytest.raises(ValueError, match="UNKNOWN_MEMBER_ID is no trouble"):
        two_nodes().sandbox.trouble_coordinator("g", ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_node_that_stands_still_expires_nobody_until_it_moves_again() -> None:
    bench = two_nodes()
    (member,) = stable_group(bench, None)
    bench.sandbox.start_fault(1, Fault.FREEZE)
    bench.scheduler.advance(SESSION_MS * 2)
    assert list(classic(bench).members) == [member.member_id]
    bench.sandbox.stop_fault(1, Fault.FREEZE)
    assert classic(bench).is_empty
    bench.scheduler.advance(0)
    assert (classic(bench).state_name, bench.scheduler.pending) == ("Empty", 0)


def test_a_group_whose_coordinator_runs_does_not_care_for_frozen_nodes() -> None:
    bench = two_nodes()
    stable_group(bench, None)
    bench.sandbox.start_fault(2, Fault.FREEZE)
    bench.scheduler.advance(SESSION_MS)
    assert classic(bench).is_empty
