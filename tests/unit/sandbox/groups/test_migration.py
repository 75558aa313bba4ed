"""Members of both protocols in one group: who waits how long for whom, and which kind of group is left."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.embedded import Malformed, assigned_slots, assignment_bytes, subscription
from kctl.sandbox.groups.reconciliation import Slot
from tests.unit.sandbox.bench import Bench
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


def _assignment(bench: Bench, *indexes: int) -> bytes:
    slots = [Slot(bench.topic_id("t"), index) for index in indexes]
    return assignment_bytes(slots, bench.cluster.topics, subscription_bytes("t"))


def _has(bench: Bench, assignment: bytes) -> list[int]:
    return [slot.partition for slot in assigned_slots(assignment, bench.cluster.topics)]


def _classic_with_all(bench: Bench, instance_id: str | None = None) -> ClassicPeer:
    peer = ClassicPeer(bench, instance_id)
    peer.send_join()
    bench.scheduler.advance(0)
    peer.joined()
    peer.send_sync(**{peer.member_id: _assignment(bench, 0, 1, 2, 3)})
    assert _has(bench, peer.synced()[1]) == [0, 1, 2, 3]
    return peer


def _rejoin(peer: ClassicPeer) -> list[int]:
    """Join and sync, and return what the member has then."""
    peer.send_join()
    assert peer.joined().error_code == ErrorCode.NONE
    peer.send_sync()
    code, assignment = peer.synced()
    assert code is ErrorCode.NONE
    return _has(peer.bench, assignment)


def _mixed(bench: Bench) -> tuple[ClassicPeer, ConsumerPeer]:
    """Return a classic member and one of the consumer protocol that share the topic."""
    old, new = _classic_with_all(bench), ConsumerPeer(bench, "new")
    assert new.beat() is ErrorCode.NONE
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert _rejoin(old) == [0, 1]
    assert new.beat() is ErrorCode.NONE
    assert new.indexes == [2, 3]
    return old, new


def test_a_group_goes_over_and_back() -> None:
    bench = bench_of()
    old, new = _mixed(bench)
    assert consumer(bench).state_name == "Stable"
    assert old.heartbeat() is ErrorCode.NONE
    assert new.leave() is ErrorCode.NONE
    assert classic(bench).state_name == "PreparingRebalance"
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    old.send_join()
    assert [member.member_id for member in old.joined().members] == [old.member_id]


def test_a_consumer_that_falls_silent_leaves_a_classic_group_behind() -> None:
    bench = bench_of(group_consumer_session_timeout_ms=SESSION_MS)
    old, _ = _mixed(bench)
    for _ in range(3):
        bench.scheduler.advance(SESSION_MS // 3)
        old.heartbeat()
    bench.scheduler.advance(SESSION_MS // 3)
    assert list(classic(bench).members) == [old.member_id]


def test_a_classic_member_has_its_own_session() -> None:
    bench = bench_of(group_consumer_session_timeout_ms=10 * SESSION_MS)
    old, new = _mixed(bench)
    bench.scheduler.advance(SESSION_MS - 1)
    assert old.member_id in consumer(bench).members
    bench.scheduler.advance(1)
    assert list(consumer(bench).members) == ["new"]
    assert new.beat() is ErrorCode.NONE
    assert new.indexes == [0, 1, 2, 3]


def _stays_silent_but_alive(bench: Bench, peer: ClassicPeer, ms: int) -> None:
    for _ in range(ms // 1000):
        bench.scheduler.advance(1000)
        peer.heartbeat()


def test_a_classic_member_that_does_not_join_in_time_is_left_out() -> None:
    bench = bench_of(group_consumer_session_timeout_ms=10 * REBALANCE_MS)
    old, new = _classic_with_all(bench), ConsumerPeer(bench, "new")
    new.beat()
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    _stays_silent_but_alive(bench, old, REBALANCE_MS - 1000)
    assert old.member_id in consumer(bench).members
    _stays_silent_but_alive(bench, old, 1000)
    assert old.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_does_not_sync_in_time_is_left_out() -> None:
    bench = bench_of(group_consumer_session_timeout_ms=10 * REBALANCE_MS)
    old, _ = _mixed(bench)
    old.send_join()
    old.joined()
    _stays_silent_but_alive(bench, old, REBALANCE_MS - 1000)
    assert old.member_id in consumer(bench).members
    _stays_silent_but_alive(bench, old, 1000)
    assert old.member_id not in consumer(bench).members


def test_who_waits_in_the_classic_group_is_told_to_join_again() -> None:
    bench = bench_of()
    old = _classic_with_all(bench)
    late = ClassicPeer(bench)
    late.send_join()
    assert late.is_waiting
    assert ConsumerPeer(bench, "new").beat() is ErrorCode.NONE
    assert late.joined().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert sorted(consumer(bench).members) == sorted([old.member_id, late.member_id, "new"])


def test_a_static_classic_member_comes_back_in_a_mixed_group() -> None:
    bench = bench_of()
    old, new = _classic_with_all(bench, "i"), ConsumerPeer(bench, "new")
    new.beat()
    back = ClassicPeer(bench, "i")
    back.send_join()
    assert back.joined().error_code == ErrorCode.NONE
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert sorted(consumer(bench).members) == sorted([back.member_id, "new"])


def test_a_mixed_group_moves_with_its_coordinator() -> None:
    bench = bench_of(nodes=2)
    node_id = bench.cluster.groups.node_of("g").node_id
    if node_id != 1:
        bench.sandbox.move_coordinator("g", 1)
    old, _ = _mixed(bench)
    bench.sandbox.move_coordinator("g", 2)
    assert old.heartbeat() is ErrorCode.NOT_COORDINATOR
    bench.sandbox.move_coordinator("g", 1)
    assert old.heartbeat() is ErrorCode.NONE


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\1\0\0\0\5"])
def test_bytes_that_are_no_subscription(metadata: bytes) -> None:
    with pytest.raises(Malformed):
        subscription(metadata)
    bench = bench_of()
    ConsumerPeer(bench, "new").beat()
    peer = ClassicPeer(bench)
    peer.member_id = "old"
    peer.protocols = {"range": metadata}
    peer.send_join()
    assert peer.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
