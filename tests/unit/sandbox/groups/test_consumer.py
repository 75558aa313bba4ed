"""The consumer protocol: partitions go from hand to hand, never into two, and every limit is exact."""

from random import Random

import pytest

from kctl.client.broker_errors import ErrorCode
from tests.unit.sandbox.groups.members import REBALANCE_MS, ConsumerPeer, bench_of, consumer

SESSION_MS = 45_000


def test_partitions_are_handed_over_after_they_are_given_up() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    first.beat()
    assert first.indexes == [0, 1, 2, 3]
    first.is_slow = True
    second.beat()
    assert (second.indexes, consumer(bench).state_name) == ([], "Reconciling")
    first.beat()
    second.beat()
    assert second.indexes == []
    first.follow()
    first.beat()
    second.beat()
    assert (first.indexes, second.indexes, consumer(bench).state_name) == ([0, 1], [2, 3], "Stable")


def test_silence_ends_a_membership_at_the_session_timeout() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    bench.scheduler.advance(SESSION_MS - 1)
    first.beat()
    assert first.indexes == [0, 1]
    bench.scheduler.advance(1)
    assert consumer(bench).state_name == "Assigning"
    first.beat()
    assert first.indexes == [0, 1, 2, 3]
    assert second.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_give_up_is_dropped_at_its_rebalance_timeout() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    first.beat()
    second.beat()
    first.is_slow = True
    first.beat()
    bench.scheduler.advance(REBALANCE_MS - 1)
    first.beat()
    assert list(consumer(bench).members) == ["m1", "m2"]
    bench.scheduler.advance(1)
    assert list(consumer(bench).members) == ["m2"]
    second.beat()
    assert second.indexes == [0, 1, 2, 3]


@pytest.mark.parametrize("pattern", ["(", "(" * 20_000, "(?=a)", "((a{100}){100}){100}"])
def test_pattern_that_kafka_does_not_run_is_refused(pattern: str) -> None:
    member = ConsumerPeer(bench_of(), "m1")
    answer = member.beat(subscribed_topic_names=[], subscribed_topic_regex=pattern)
    assert answer is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_topics_that_come_and_go_are_noticed_at_the_next_heartbeat() -> None:
    bench = bench_of()
    member = ConsumerPeer(bench, "m1")
    member.beat(subscribed_topic_names=[], subscribed_topic_regex="t|n.*")
    assert len(member.owned) == 4
    bench.sandbox.create_topic("new", 2)
    bench.sandbox.create_topic("another-new", 2)
    bench.sandbox.create_topic("tt", 2)
    member.beat()
    assert (len(member.owned), member.epoch) == (6, 3)
    bench.cluster.delete_topic("t")
    member.beat()
    assert (member.indexes, consumer(bench).topics_of(consumer(bench).members["m1"])) == ([0, 1], ["new"])


def test_a_member_away_keeps_its_partitions_until_its_session_ends() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1", "a"), ConsumerPeer(bench, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    assert first.leave(-2) is ErrorCode.NONE
    second.beat()
    assert second.indexes == [2, 3]
    bench.scheduler.advance(SESSION_MS - 1)
    second.beat()
    assert second.indexes == [2, 3]
    bench.scheduler.advance(1)
    second.beat()
    assert second.indexes == [0, 1, 2, 3]


def test_a_member_that_is_back_in_time_finds_its_partitions() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1", "a"), ConsumerPeer(bench, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    back = ConsumerPeer(bench, "m3", "a")
    assert back.beat() is ErrorCode.UNRELEASED_INSTANCE_ID
    first.leave(-2)
    assert back.beat() is ErrorCode.NONE
    assert (back.indexes, back.epoch) == ([0, 1], second.epoch)
    assert first.beat(member_epoch=3) is ErrorCode.FENCED_INSTANCE_ID


def test_a_lost_answer_is_made_up_for_and_offsets_of_old_partitions_may_be_committed() -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    for peer in (first, second, first, first, second):
        peer.beat()
    assert [first.commit(epoch) for epoch in (1, 2, 3, 4)] == [
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.STALE_MEMBER_EPOCH,
    ]
    assert [first.beat(member_epoch=epoch) for epoch in (4, 1, 2)] == [
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.NONE,
    ]


def test_the_settings_of_the_broker_hold() -> None:
    bench = bench_of(group_consumer_session_timeout_ms=700)
    member = ConsumerPeer(bench, "m1")
    member.beat()
    bench.scheduler.advance(699)
    assert member.beat() is ErrorCode.NONE
    bench.scheduler.advance(700)
    assert member.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.scheduler.pending == 0


def test_a_cluster_without_the_feature_refuses() -> None:
    assert ConsumerPeer(bench_of(group_version=0), "m1").beat() is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("seed", range(25))
def test_no_partition_has_two_owners_whatever_members_do(seed: int) -> None:
    rng = Random(seed)
    bench = bench_of(topics={"t": 7})
    peers = [ConsumerPeer(bench, f"m{number}") for number in range(5)]
    for step in range(300):
        peer = rng.choice(peers)
        action = rng.random()
        if step < 200 and action < 0.05 and peer.epoch > 0:
            peer.leave()
            peer.epoch, peer.owned, peer.told = 0, set(), set()
        elif action < 0.3:
            peer.follow()
        else:
            peer.is_slow = rng.random() < 0.5
            assert peer.beat() is ErrorCode.NONE
        owned = [slot for one in peers for slot in one.owned]
        assert len(owned) == len(set(owned))
    for peer in peers * 4:
        peer.is_slow = False
        peer.follow()
        peer.beat()
    assert sorted(len(peer.owned) for peer in peers) == [1, 1, 1, 2, 2]
    assert consumer(bench).state_name == "Stable"
