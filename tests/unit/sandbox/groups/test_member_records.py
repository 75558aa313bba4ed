"""Consumer groups in __consumer_offsets: their records, and the state after compaction."""

from random import Random

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol import codec
from kctl.client.protocol.api.group_membership import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kctl.sandbox.groups.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
)
from tests.unit.sandbox.groups.members import REBALANCE_MS, ClassicPeer, ConsumerPeer, bench_of, consumer
from tests.unit.sandbox.groups.test_offsets_topic import records_of
from tests.unit.sandbox.scenario import Scenario

EPOCH, MEMBER, TARGET_EPOCH, TARGET, CURRENT, REGEX, CLASSIC = 3, 5, 6, 7, 8, 16, 2
SESSION_MS = 45_000


def types_of(scenario: Scenario, since: int = 0) -> list[int]:
    """Return the types of the records of group g; those without a value are negative."""
    return [key[1] if value is not None else -key[1] for key, value in records_of(scenario, "g")[since:]]


def left(scenario: Scenario) -> dict[bytes, bytes]:
    """Return what compaction leaves of the records of group g."""
    latest = dict(records_of(scenario, "g"))
    return {key: value for key, value in latest.items() if value is not None}


def test_first_heartbeat_of_a_group_writes_all_and_one_without_news_nothing() -> None:
    bench = bench_of()
    member = ConsumerPeer(bench, "m")
    assert member.beat() is ErrorCode.NONE
    assert types_of(bench) == [MEMBER, EPOCH, TARGET, TARGET_EPOCH, CURRENT]
    assert member.beat() is ErrorCode.NONE
    assert len(types_of(bench)) == 5


def test_member_without_partitions_has_no_target_record_until_it_gets_one() -> None:
    bench = bench_of(topics={"other": 1})
    member = ConsumerPeer(bench, "m")
    member.beat()
    assert types_of(bench) == [MEMBER, EPOCH, TARGET_EPOCH, CURRENT]
    bench.sandbox.create_topic("t", 1)
    member.beat()
    assert types_of(bench, 4) == [EPOCH, TARGET, TARGET_EPOCH, CURRENT]


@pytest.mark.parametrize("limit", ["session", "rebalance", "leave", "leave group"])
def test_member_that_is_gone_is_deleted_in_writing(limit: str) -> None:
    bench = bench_of()
    first, second = ConsumerPeer(bench, "m1"), ConsumerPeer(bench, "m2")
    first.beat()
    second.beat()
    first.is_slow = True
    if limit == "session":
        bench.scheduler.advance(SESSION_MS - 1)
        second.beat()
    else:
        first.beat()
    before = len(types_of(bench))
    if limit == "session":
        bench.scheduler.advance(1)
    elif limit == "rebalance":
        bench.scheduler.advance(REBALANCE_MS)
    elif limit == "leave":
        first.leave()
    else:
        leaving = [MemberIdentity(member_id="m1")]
        first.client.call(LeaveGroupRequest(group_id="g", members=leaving), LeaveGroupResponse, 5)
    assert types_of(bench, before) == [-CURRENT, -TARGET, -MEMBER, EPOCH]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_group_that_is_deleted_or_becomes_a_classic_one_leaves_nothing_of_its_own(is_deleted: bool) -> None:
    bench = bench_of()
    member = ConsumerPeer(bench, "m")
    member.beat(subscribed_topic_regex="t.*")
    member.commit()
    member.leave()
    if is_deleted:
        bench.cluster.groups.delete("g")
    else:
        ClassicPeer(bench).send_join()
        bench.scheduler.advance(0)
    assert {key[1] for key in left(bench)} <= {1, CLASSIC}
    assert -EPOCH in types_of(bench)


def test_classic_group_that_becomes_a_consumer_group_is_deleted_in_writing() -> None:
    bench = bench_of()
    peer = ClassicPeer(bench, "i")
    peer.send_join()
    bench.scheduler.advance(0)
    peer.joined()
    peer.leave()
    ConsumerPeer(bench, "m").beat()
    assert CLASSIC not in {key[1] for key in left(bench)}


def test_pattern_is_written_with_the_topics_that_it_matches_and_deleted_with_its_last_member() -> None:
    bench = bench_of()
    member = ConsumerPeer(bench, "m")
    member.beat(subscribed_topic_names=[], subscribed_topic_regex="t|n.*")
    assert types_of(bench)[-1] == REGEX
    bench.sandbox.create_topic("new", 1)
    member.beat()
    assert types_of(bench)[-1] == REGEX
    member.leave()
    assert REGEX not in {key[1] for key in left(bench)}


def test_static_member_that_comes_back_has_what_it_had_since_epoch_0() -> None:
    bench = bench_of()
    first, again = ConsumerPeer(bench, "m1", "i"), ConsumerPeer(bench, "m2", "i")
    first.beat()
    first.leave(-2)
    again.beat()
    values = [value for key, value in records_of(bench, "g") if key[1] == CURRENT and b"m2" in key and value]
    decoded = [codec.decode(ConsumerGroupCurrentMemberAssignmentValue, value[2:], 0) for value in values]
    assert [(one.member_epoch, one.assigned_partitions[0].assignment_epochs) for one in decoded] == [
        (0, [0] * 4), (2, [0] * 4),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_compacted_records_are_the_group_after_any_heartbeats(seed: int) -> None:
    rng, bench = Random(seed), bench_of()
    peers = [ConsumerPeer(bench, f"m{number}", f"i{number}" if number % 2 else None) for number in range(4)]
    peers[0].beat()
    for _ in range(60):
        peer = rng.choice(peers)
        peer.is_slow = rng.random() < 0.3
        action = rng.random()
        if action < 0.7:
            if peer.beat() is not ErrorCode.NONE:
                peer.epoch = 0
        elif action < 0.8 and peer.epoch:
            peer.leave()
            peer.epoch = 0
        elif action < 0.9:
            bench.scheduler.advance(rng.randrange(REBALANCE_MS))
        else:
            peer.beat(subscribed_topic_names=rng.choice([["t"], [], ["t", "none"]]))
        group, found = consumer(bench), left(bench)
        by_type = {kind: {key: value[2:] for key, value in found.items() if key[1] == kind} for kind in range(20)}
        [epoch] = by_type[EPOCH].values()
        assert codec.decode(ConsumerGroupMetadataValue, epoch, 0).epoch == group.epoch
        members = {key[-2:].decode(): value for key, value in by_type[MEMBER].items()}
        assert members.keys() == group.members.keys()
        for member_id, value in members.items():
            said = codec.decode(ConsumerGroupMemberMetadataValue, value, 0)
            assert tuple(said.subscribed_topic_names) == group.members[member_id].topic_names
        currents = {key[-2:].decode(): value for key, value in by_type[CURRENT].items()}
        assert currents.keys() == members.keys()
        for member_id, value in currents.items():
            has = codec.decode(ConsumerGroupCurrentMemberAssignmentValue, value, 0)
            progress = group.members[member_id].progress
            assert has.member_epoch == progress.epoch
            indexes = [index for topic in has.assigned_partitions for index in topic.partitions]
            assert sorted(indexes) == sorted(slot.partition for slot in progress.assigned)
