"""Members of both protocols in one group: who waits how long for whom, and which kind of group is left."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.embedded import Malformed, assigned_slots, assignment_bytes, subscription
from kctl.sandbox.groups.reconciliation import Slot
from tests.unit.sandbox.groups.members import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicPeer,
    ConsumerPeer,
    bench_of,
    classic,
    consumer,
)
from tests.unit.sandbox.groups.members import subscription as subscription_bytes
from tests.unit.sandbox.scenario import Scenario


def _assignment(scenario: Scenario, *indexes: int) -> bytes:
    slots = [Slot(scenario.topic_id("t"), index) for index in indexes]
    return assignment_bytes(slots, scenario.cluster.topics, subscription_bytes("t"))


def _has(scenario: Scenario, assignment: bytes) -> list[int]:
    return [slot.partition for slot in assigned_slots(assignment, scenario.cluster.topics)]


def _classic_with_all(scenario: Scenario, instance_id: str | None = None) -> ClassicPeer:
    peer = ClassicPeer(scenario, instance_id)
    peer.send_join()
    scenario.scheduler.advance(0)
    peer.joined()
    peer.send_sync(**{peer.member_id: _assignment(scenario, 0, 1, 2, 3)})
    assert _has(scenario, peer.synced()[1]) == [0, 1, 2, 3]
    return peer


def _rejoin(peer: ClassicPeer) -> list[int]:
    """Join and sync, and return what the member has then."""
    peer.send_join()
    assert peer.joined().error_code == ErrorCode.NONE
    peer.send_sync()
    code, assignment = peer.synced()
    assert code is ErrorCode.NONE
    return _has(peer.scenario, assignment)


def _mixed(scenario: Scenario) -> tuple[ClassicPeer, ConsumerPeer]:
    """Return a classic member and one of the consumer protocol that share the topic."""
    old, new = _classic_with_all(scenario), ConsumerPeer(scenario, "new")
    assert new.beat() is ErrorCode.NONE
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert _rejoin(old) == [0, 1]
    assert new.beat() is ErrorCode.NONE
    assert new.indexes == [2, 3]
    return old, new


def test_a_group_goes_over_and_back() -> None:
    scenario = bench_of()
    old, new = _mixed(scenario)
    assert consumer(scenario).state_name == "Stable"
    assert old.heartbeat() is ErrorCode.NONE
    assert new.leave() is ErrorCode.NONE
    assert classic(scenario).state_name == "PreparingRebalance"
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    old.send_join()
    assert [member.member_id for member in old.joined().members] == [old.member_id]


def test_a_consumer_that_falls_silent_leaves_a_classic_group_behind() -> None:
    scenario = bench_of(group_consumer_session_timeout_ms=SESSION_MS)
    old, _ = _mixed(scenario)
    for _ in range(3):
        scenario.scheduler.advance(SESSION_MS // 3)
        old.heartbeat()
    scenario.scheduler.advance(SESSION_MS // 3)
    assert list(classic(scenario).members) == [old.member_id]


def test_a_classic_member_has_its_own_session() -> None:
    scenario = bench_of(group_consumer_session_timeout_ms=10 * SESSION_MS)
    old, new = _mixed(scenario)
    scenario.scheduler.advance(SESSION_MS - 1)
    assert old.member_id in consumer(scenario).members
    scenario.scheduler.advance(1)
    assert list(consumer(scenario).members) == ["new"]
    assert new.beat() is ErrorCode.NONE
    assert new.indexes == [0, 1, 2, 3]


def _stays_silent_but_alive(scenario: Scenario, peer: ClassicPeer, ms: int) -> None:
    for _ in range(ms // 1000):
        scenario.scheduler.advance(1000)
        peer.heartbeat()


def test_a_classic_member_that_does_not_join_in_time_is_left_out() -> None:
    scenario = bench_of(group_consumer_session_timeout_ms=10 * REBALANCE_MS)
    old, new = _classic_with_all(scenario), ConsumerPeer(scenario, "new")
    new.beat()
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    _stays_silent_but_alive(scenario, old, REBALANCE_MS - 1000)
    assert old.member_id in consumer(scenario).members
    _stays_silent_but_alive(scenario, old, 1000)
    assert old.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_does_not_sync_in_time_is_left_out() -> None:
    scenario = bench_of(group_consumer_session_timeout_ms=10 * REBALANCE_MS)
    old, _ = _mixed(scenario)
    old.send_join()
    old.joined()
    _stays_silent_but_alive(scenario, old, REBALANCE_MS - 1000)
    assert old.member_id in consumer(scenario).members
    _stays_silent_but_alive(scenario, old, 1000)
    assert old.member_id not in consumer(scenario).members


def test_who_waits_in_the_classic_group_is_told_to_join_again() -> None:
    scenario = bench_of()
    old = _classic_with_all(scenario)
    late = ClassicPeer(scenario)
    late.send_join()
    assert late.is_waiting
    assert ConsumerPeer(scenario, "new").beat() is ErrorCode.NONE
    assert late.joined().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert sorted(consumer(scenario).members) == sorted([old.member_id, late.member_id, "new"])


def test_a_static_classic_member_comes_back_in_a_mixed_group() -> None:
    scenario = bench_of()
    old, new = _classic_with_all(scenario, "i"), ConsumerPeer(scenario, "new")
    new.beat()
    back = ClassicPeer(scenario, "i")
    back.send_join()
    assert back.joined().error_code == ErrorCode.NONE
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert sorted(consumer(scenario).members) == sorted([back.member_id, "new"])


def test_a_mixed_group_moves_with_its_coordinator() -> None:
    scenario = bench_of(nodes=2)
    node_id = scenario.cluster.groups.node_of("g").node_id
    if node_id != 1:
        scenario.sandbox.move_coordinator("g", 1)
    old, _ = _mixed(scenario)
    scenario.sandbox.move_coordinator("g", 2)
    assert old.heartbeat() is ErrorCode.NOT_COORDINATOR
    scenario.sandbox.move_coordinator("g", 1)
    assert old.heartbeat() is ErrorCode.NONE


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\1\0\0\0\5"])
def test_bytes_that_are_no_subscription(metadata: bytes) -> None:
    with pytest.raises(Malformed):
        subscription(metadata)
    scenario = bench_of()
    ConsumerPeer(scenario, "new").beat()
    peer = ClassicPeer(scenario)
    peer.member_id = "old"
    peer.protocols = {"range": metadata}
    peer.send_join()
    assert peer.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
