"""The classic protocol: who waits how long for whom, to the millisecond."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kctl.sandbox.groups.classic_table import TABLE, State
from tests.unit.sandbox.groups.members import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicPeer,
    bench_of,
    classic,
    stable_group,
    subscription,
)

AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def test_every_state_has_a_row_and_is_reached() -> None:
    assert set(TABLE) == set(State)
    assert {state for row in TABLE.values() for state in row.next.values()} == set(State)


def test_an_id_is_given_before_joining_from_version_4_on() -> None:
    bench = bench_of()
    old, new = ClassicPeer(bench, version=3), ClassicPeer(bench)
    old.send_join()
    assert not old.member_id
    new.send_join()
    assert new.member_id.startswith("bench-")
    bench.scheduler.advance(0)
    assert old.joined().leader == old.member_id
    assert new.joined().members == []


def test_a_rebalance_waits_for_a_promised_id_until_its_session_ends() -> None:
    bench = bench_of()
    first, second = stable_group(bench, None, None)
    promised = bench.connect()
    offers = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    request = JoinGroupRequest(group_id="g", session_timeout_ms=SESSION_MS, protocol_type="consumer", protocols=offers)
    answer = promised.call(request, JoinGroupResponse, 9)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert second.leave() is ErrorCode.NONE
    first.send_join()
    bench.scheduler.advance(SESSION_MS - 1)
    assert first.is_waiting
    bench.scheduler.advance(1)
    assert len(first.joined().members) == 1
    request.member_id = answer.member_id
    assert promised.call(request, JoinGroupResponse, 9).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_group_waits_for_more_members_and_each_prolongs_it() -> None:
    bench = bench_of(group_initial_rebalance_delay_ms=3_000)
    first, second = ClassicPeer(bench), ClassicPeer(bench)
    first.send_join()
    bench.scheduler.advance(2_000)
    second.send_join()
    bench.scheduler.advance(3_999)
    assert first.is_waiting
    bench.scheduler.advance(1)
    assert len(first.joined().members) == 2
    assert second.joined().generation_id == 1


def test_a_rebalance_ends_as_soon_as_all_have_joined() -> None:
    bench = bench_of()
    first, second = stable_group(bench, None, None)
    third = ClassicPeer(bench)
    third.send_join()
    assert first.heartbeat() is AGAIN
    first.send_join()
    assert first.is_waiting
    second.send_join()
    assert [len(peer.joined().members) for peer in (first, second, third)] == [3, 0, 0]


def test_who_does_not_join_again_is_dropped_at_the_rebalance_timeout() -> None:
    bench = bench_of()
    first, second = stable_group(bench, None, None)
    third = ClassicPeer(bench)
    third.send_join()
    second.send_join()
    for _ in range(5):
        bench.scheduler.advance(REBALANCE_MS // 5 - 1)
        assert first.heartbeat() is AGAIN
    bench.scheduler.advance(4)
    assert third.is_waiting
    bench.scheduler.advance(1)
    assert len(second.joined().members) == 2
    assert third.joined().leader == second.member_id
    assert first.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_silence_ends_a_membership_at_the_session_timeout() -> None:
    bench = bench_of()
    first, second = stable_group(bench, None, None)
    bench.scheduler.advance(SESSION_MS - 1)
    assert second.heartbeat() is ErrorCode.NONE
    assert len(classic(bench).members) == 2
    bench.scheduler.advance(1)
    assert list(classic(bench).members) == [second.member_id]
    assert first.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert second.heartbeat() is AGAIN


def test_a_commit_is_as_good_as_a_heartbeat() -> None:
    bench = bench_of()
    (member,) = stable_group(bench, None)
    bench.scheduler.advance(SESSION_MS - 1)
    assert member.commit() is ErrorCode.NONE
    bench.scheduler.advance(SESSION_MS - 1)
    assert member.heartbeat() is ErrorCode.NONE


def test_who_waits_for_the_others_does_not_expire() -> None:
    bench = bench_of()
    first, second = stable_group(bench, None, None)
    second.send_join(session_timeout_ms=6_000, protocols=[])
    assert second.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    second.protocols = {"range": subscription("t", "u")}
    second.send_join()
    for _ in range(3):
        bench.scheduler.advance(SESSION_MS - 1)
        first.heartbeat()
    assert second.is_waiting
    assert second.member_id in classic(bench).members


def test_a_new_member_whose_client_is_gone_does_not_stay_for_ever() -> None:
    bench = bench_of()
    peer = ClassicPeer(bench, version=3)
    peer.send_join(rebalance_timeout_ms=3_600_000)
    bench.scheduler.advance(0)
    (member,) = classic(bench).members.values()
    other = ClassicPeer(bench, version=3)
    other.send_join(rebalance_timeout_ms=3_600_000)
    peer.joined()
    for _ in range(31):
        bench.scheduler.advance(SESSION_MS - 1)
        assert peer.heartbeat() is AGAIN
    assert list(classic(bench).members) == [member.member_id]


def test_who_does_not_ask_for_its_assignment_is_dropped() -> None:
    bench = bench_of()
    first, second = ClassicPeer(bench), ClassicPeer(bench)
    first.send_join()
    second.send_join()
    bench.scheduler.advance(0)
    first.joined()
    second.joined()
    first.send_sync()
    assert first.synced() == (ErrorCode.NONE, b"")
    for _ in range(5):
        bench.scheduler.advance(REBALANCE_MS // 5 - 1)
        assert (first.heartbeat(), second.heartbeat()) == (ErrorCode.NONE, ErrorCode.NONE)
    bench.scheduler.advance(5)
    assert (first.heartbeat(), second.heartbeat()) == (AGAIN, ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_leader_that_dies_before_it_assigns() -> None:
    bench = bench_of()
    first, second = ClassicPeer(bench), ClassicPeer(bench)
    first.send_join()
    second.send_join()
    bench.scheduler.advance(0)
    first.joined()
    second.joined()
    second.send_sync()
    assert second.commit() is AGAIN
    bench.scheduler.advance(SESSION_MS)
    assert second.synced() == (AGAIN, b"")
    second.send_join()
    assert second.joined().leader == second.member_id


def test_the_protocol_most_members_prefer_is_chosen() -> None:
    bench = bench_of()
    peers = [ClassicPeer(bench) for _ in range(3)]
    for peer, names in zip(peers, ("abc", "bca", "cb"), strict=True):
        peer.protocols = dict.fromkeys(names, b"")
        peer.send_join()
    bench.scheduler.advance(0)
    assert {peer.joined().protocol_name for peer in peers} <= {"b", "c"}


def test_the_last_one_to_leave_leaves_an_empty_group_without_timers() -> None:
    bench = bench_of()
    for peer in stable_group(bench, None, None):
        assert peer.leave() is ErrorCode.NONE
    group = classic(bench)
    assert (group.state, group.roster.generation) == (State.EMPTY, 2)
    assert bench.scheduler.pending == 0
