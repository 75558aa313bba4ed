"""Static members: a new process takes an old one's place, and nobody else notices."""

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.classic_table import State
from tests.unit.sandbox.groups.members import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicPeer,
    bench_of,
    classic,
    stable_group,
)


def test_a_bounce_within_the_session_is_no_rebalance() -> None:
    bench = bench_of()
    first, second = stable_group(bench, "a", "b")
    bench.scheduler.advance(SESSION_MS - 1)
    assert first.heartbeat() is ErrorCode.NONE
    back = ClassicPeer(bench, "b")
    back.send_join()
    answer = back.joined()
    assert (answer.generation_id, answer.skip_assignment, answer.leader) == (1, False, first.member_id)
    back.send_sync()
    assert back.synced() == (ErrorCode.NONE, b"1")
    assert second.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    bench.scheduler.advance(SESSION_MS - 1)
    assert (first.heartbeat(), back.heartbeat()) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_new_process_that_falls_silent_is_dropped_as_well() -> None:
    bench = bench_of()
    stable_group(bench, "a")
    back = ClassicPeer(bench, "a")
    back.send_join()
    bench.scheduler.advance(SESSION_MS)
    assert classic(bench).is_empty


def test_a_leader_that_is_back_does_not_assign() -> None:
    bench = bench_of()
    stable_group(bench, "a", "b")
    back = ClassicPeer(bench, "a")
    back.send_join()
    answer = back.joined()
    assert (answer.leader, answer.skip_assignment, len(answer.members)) == (back.member_id, True, 2)


def test_a_static_member_lives_through_a_rebalance_it_misses() -> None:
    bench = bench_of()
    first, second = stable_group(bench, "a", None)
    third = ClassicPeer(bench)
    third.send_join()
    second.send_join()
    for _ in range(6):
        bench.scheduler.advance(REBALANCE_MS // 6 - 1)
        first.heartbeat()
    bench.scheduler.advance(6)
    assert third.joined().leader == second.member_id
    assert len(second.joined().members) == 3
    assert next(iter(classic(bench).members)) == first.member_id


def test_the_old_process_that_waits_is_fenced() -> None:
    bench = bench_of()
    first, second = stable_group(bench, "a", "b")
    third = ClassicPeer(bench)
    third.send_join()
    second.send_join()
    back = ClassicPeer(bench, "b")
    back.send_join()
    assert second.joined().error_code == ErrorCode.FENCED_INSTANCE_ID
    first.send_join()
    assert back.joined().generation_id == 2


def test_one_that_stays_away_loses_its_place_at_the_session_timeout() -> None:
    bench = bench_of()
    first, second = stable_group(bench, "a", "b")
    bench.scheduler.advance(SESSION_MS - 1)
    first.heartbeat()
    bench.scheduler.advance(1)
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert classic(bench).state is State.PREPARING


def test_leave_of_a_static_member() -> None:
    bench = bench_of()
    first, second = stable_group(bench, "a", "b")
    stranger = ClassicPeer(bench, "b")
    stranger.member_id = "x"
    assert stranger.leave() is ErrorCode.FENCED_INSTANCE_ID
    stranger.member_id = ""
    assert stranger.leave() is ErrorCode.NONE
    assert list(classic(bench).members) == [first.member_id]
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
