"""Members share partitions: each has one owner at any time, commits are found again, nobody waits for who is gone."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.errors import ApiTimeout, CommitFailedError, IllegalStateError, KafkaError
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T = [TopicPartition("t", i) for i in range(6)]
STRATEGIES = ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub)


@pytest.mark.parametrize(
    "strategy", [*(pytest.param(each, marks=pytest.mark.slow) for each in STRATEGIES[:-1]), STRATEGIES[-1]]
)
def test_three_members_come_and_go_and_every_record_is_read_once(cluster: GroupCluster, strategy: str) -> None:
    for i in range(6):
        cluster.write(i, 20)
    shares: dict[str, int] = {}

    def actor(name: str, start: float, seconds: float) -> None:
        cluster.hub.sleep_ms(round(start * 1000))
        with cluster.member(name, partition_assignment_strategy=strategy) as consumer:
            cluster.read(consumer, seconds)
            shares[name] = len(consumer.assignment)
        cluster.hub.sleep_ms(10)

    def writer() -> None:
        for round_number in range(1, 20):
            cluster.hub.sleep_ms(2000)
            for i in range(6):
                cluster.write(i, 5, first=15 + 5 * round_number)

    cluster.play(
        lambda: actor("a", 0, 50), lambda: actor("b", 10, 25), lambda: actor("c", 20, 25), writer,
    )  # fmt: skip
    assert shares["b"] == 2, "three members of six partitions"
    assert shares["c"] == 3, "two are left"
    assert shares["a"] == 6
    assert len(cluster.seen) == 6 * (20 + 19 * 5)
    assert set(cluster.seen.values()) == {1}, "handed over exactly where the one before had stopped"
    revoked = cluster.journal.of("a", "revoked")[0]
    kept = 6 - len(revoked[2])
    assert kept == (3 if strategy == "cooperative-sticky" else 0), "eager gives up all, cooperative what moves"


def test_a_crashed_member_is_missed_after_its_session(cluster: GroupCluster) -> None:
    def crashing() -> None:
        consumer = cluster.member("b")
        cluster.read(consumer, 8)
        assert len(consumer.assignment) == 3
        cluster.crash("b", consumer)

    def staying() -> None:
        with cluster.member("a") as consumer:
            cluster.read(consumer, 7)
            assert len(consumer.assignment) == 3
            cluster.read(consumer, 14)
            assert len(consumer.assignment) == 6
        cluster.hub.sleep_ms(10)

    cluster.play(staying, crashing)


def test_a_member_that_does_not_poll_goes_by_itself_and_comes_back(cluster: GroupCluster) -> None:
    def stuck() -> None:
        with cluster.member("b", max_poll_interval_ms=5000) as consumer:
            cluster.read(consumer, 8)
            assert len(consumer.assignment) == 3
            consumer.poll(timeout=0)
            before_ms = cluster.hub.now_ms
            cluster.hub.sleep_ms(12_000)
            with pytest.raises(CommitFailedError, match=r"max\.poll\.interval\.ms"):
                consumer.commit_sync({T[0]: 1}, timeout=5)
            back_at_ms = cluster.hub.now_ms
            cluster.read(consumer, 8)
            assert cluster.journal.of("b", "lost")[0][0] == back_at_ms
            assert cluster.hub.now_ms - before_ms < 25_000
            assert len(consumer.assignment) == 3
        cluster.hub.sleep_ms(10)

    def other() -> None:
        with cluster.member("a") as consumer:
            cluster.read(consumer, 8)
            cluster.read(consumer, 9)
            assert len(consumer.assignment) == 6, "had after max.poll.interval.ms, long before the session ended"
            cluster.read(consumer, 18)
        cluster.hub.sleep_ms(10)

    cluster.play(other, stuck)


def test_a_long_wait_inside_of_poll_is_no_silence(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.member("a", max_poll_interval_ms=5000) as consumer:
            assert cluster.elapsed_ms(lambda: consumer.poll(timeout=60)) == 60_000
            assert cluster.journal.of("a", "lost") == []
            assert len(consumer.assignment) == 6
        cluster.hub.sleep_ms(10)

    cluster.play(body)


def test_a_static_member_bounces_without_a_rebalance(cluster: GroupCluster) -> None:
    def bouncing() -> None:
        for _ in range(3):
            with cluster.member("s", group_instance_id="one") as consumer:
                cluster.read(consumer, 9)
                assert len(consumer.assignment) == 3
            assert consumer.close().left_group is None
            cluster.hub.sleep_ms(2000)

    def other() -> None:
        with cluster.member("a") as consumer:
            cluster.read(consumer, 32)
            assert len(cluster.journal.of("a", "assigned")) == 1, cluster.journal.lines
        cluster.hub.sleep_ms(10)

    cluster.play(other, bouncing)


def test_the_same_instance_id_twice_fences_the_elder(cluster: GroupCluster) -> None:
    def elder() -> None:
        with cluster.member("e", group_instance_id="one") as consumer:
            cluster.read(consumer, 4)
            for _ in range(2):
                with pytest.raises(KafkaError, match="FENCED_INSTANCE_ID"):
                    cluster.read(consumer, 8)
        cluster.hub.sleep_ms(10)

    def younger() -> None:
        cluster.hub.sleep_ms(4500)
        with cluster.member("y", group_instance_id="one") as consumer:
            cluster.read(consumer, 10)
            assert len(consumer.assignment) == 6
        cluster.hub.sleep_ms(10)

    cluster.play(elder, younger)


def test_a_pattern_finds_topics_that_are_made_later(cluster: GroupCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP, metadata_max_age_ms=2000)
        consumer.subscribe(re.compile("(t|u[0-9])"))
        cluster.read(consumer, 6)
        assert {tp.topic for tp in consumer.assignment} == {"t"}
        cluster.sandbox.create_topic("u7", 2)
        cluster.sandbox.create_topic("other", 2)
        cluster.read(consumer, 8)
        assert sorted(tp.topic for tp in consumer.assignment) == ["t"] * 6 + ["u7"] * 2
        consumer.close()
        cluster.hub.sleep_ms(10)

    cluster.play(body)


def test_a_changed_subscription_and_an_end_of_it(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.sandbox.create_topic("u", 2)
        with cluster.member("a") as consumer:
            cluster.read(consumer, 5)
            consumer.subscribe(["u"])
            cluster.read(consumer, 5)
            assert {tp.topic for tp in consumer.assignment} == {"u"}
            with pytest.raises(IllegalStateError, match="unsubscribe"):
                consumer.assign([T[0]])
            consumer.unsubscribe()
            assert (consumer.assignment, consumer.subscription) == ([], None)
            consumer.assign([T[0]])
            cluster.read(consumer, 2)
            with pytest.raises(IllegalStateError, match="assigned manually"):
                consumer.subscribe(["t"])
            consumer.unsubscribe()
            consumer.subscribe(["t"])
            cluster.read(consumer, 5)
            assert len(consumer.assignment) == 6
        cluster.hub.sleep_ms(10)

    cluster.play(body)


def test_commits_are_found_again_by_the_next_member(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        calls: list[str] = []
        with cluster.member("a", enable_auto_commit=False) as consumer:
            cluster.read(consumer, 5)
            assert consumer.position(T[0]) == 10
            consumer.commit_async({T[0]: 4}, lambda offsets, error: calls.append(f"{offsets[T[0]].offset} {error}"))
            consumer.commit_sync({T[0]: OffsetAndMetadata(7, "seven")})
            assert calls == ["4 None"], "ran before commit_sync returned"
            assert consumer.committed([T[0], T[1]]) == {T[0]: OffsetAndMetadata(7, "seven"), T[1]: None}
            assert consumer.committed([]) == {}
            consumer.commit_sync({})
        with cluster.member("b", enable_auto_commit=False) as consumer:
            assert [record.offset for record in cluster.read(consumer, 5)] == [7, 8, 9]
            consumer.commit_sync()
        with cluster.consumer(group_id=GROUP) as consumer:
            consumer.assign(T)
            assert cluster.read(consumer, 1) == []
            assert consumer.position(T[0]) == 10
        cluster.hub.sleep_ms(10)

    cluster.play(body)


def test_without_a_reset_policy_a_partition_without_a_commit_is_an_error(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.member("a", auto_offset_reset="none") as consumer:
            for _ in range(2):
                with pytest.raises(KafkaError, match=r"no position for .*: call seek\(\) or set auto\.offset\.reset"):
                    cluster.read(consumer, 6)
            for tp in consumer.assignment:
                consumer.seek(tp, 0)
            cluster.read(consumer, 1)
        cluster.hub.sleep_ms(10)

    cluster.play(body)


class Raising(RebalanceListener):
    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        raise ZeroDivisionError


def test_a_listener_that_raises_does_so_out_of_poll_after_the_change(cluster: GroupCluster) -> None:
    def body() -> None:
        consumer = cluster.member("a")
        consumer.subscribe(["t"], Raising())
        with pytest.raises(ZeroDivisionError):
            cluster.read(consumer, 6)
        assert len(consumer.assignment) == 6
        assert cluster.read(consumer, 1) == []
        consumer.close()
        cluster.hub.sleep_ms(10)

    cluster.play(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_coordinator_that_stands_still_is_left_as_soon_as_it_is_replaced(
    cluster: GroupCluster, protocol: str
) -> None:
    """Whatever request.timeout.ms and the connection limit allow it: commits go on within a second or two."""
    committed_at_ms: list[int] = []
    moved_at_ms = 0

    def replace() -> None:
        nonlocal moved_at_ms
        cluster.hub.sleep_ms(10_000)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
        cluster.hub.sleep_ms(4_000)
        cluster.sandbox.move_coordinator(GROUP, cluster.coordinator() % 3 + 1)
        moved_at_ms = cluster.hub.now_ms

    def body() -> None:
        short = {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 3000} if protocol == "classic" else {}
        consumer = cluster.consumer(group_id=GROUP, group_protocol=protocol, **short)
        consumer.subscribe(["t"])
        for number in range(60):
            cluster.read(consumer, 0.3)
            with suppress(ApiTimeout):
                if consumer.assignment:
                    consumer.commit_sync({T[0]: number}, timeout=0.7)
                    committed_at_ms.append(cluster.hub.now_ms)
        assert consumer.close(5).left_group is True
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(20)

    cluster.play(body, replace)
    assert any(at_ms < moved_at_ms - 4_000 for at_ms in committed_at_ms)
    assert min(at_ms for at_ms in committed_at_ms if at_ms > moved_at_ms) - moved_at_ms < 3_000


@pytest.mark.parametrize("trouble", ["moved", "frozen", "reset"])
def test_a_coordinator_in_trouble_costs_no_record(cluster: GroupCluster, trouble: str) -> None:
    for i in range(6):
        cluster.write(i, 10)

    def disturb() -> None:
        cluster.hub.sleep_ms(10_000)
        if trouble == "moved":
            cluster.sandbox.move_coordinator(GROUP, cluster.coordinator() % 3 + 1)
        else:
            cluster.sandbox.start_fault(
                cluster.coordinator(), Fault.FREEZE if trouble == "frozen" else Fault.RESET_ON_REQUEST
            )
            cluster.hub.sleep_ms(8000)
            cluster.sandbox.heal()
        for i in range(6):
            cluster.write(i, 10, first=10)

    def actor(name: str) -> None:
        with cluster.member(name, request_timeout_ms=5000) as consumer:
            cluster.read(consumer, 45)
            assert len(consumer.assignment) == 3
        cluster.hub.sleep_ms(10)

    cluster.play(lambda: actor("a"), lambda: actor("b"), disturb)
    assert len(cluster.seen) == 120


def test_a_static_leader_finishes_the_cooperative_rebalance_that_its_former_process_left(cluster: GroupCluster) -> None:
    """Between its two rounds partitions are assigned to no member, and the group keeps that (KIP-814)."""
    cooperative = {"partition_assignment_strategy": "cooperative-sticky", "max_poll_interval_ms": 300_000}
    shares: dict[str, list[TopicPartition]] = {}

    def leader() -> None:
        former = cluster.member("a1", group_instance_id="a", **cooperative)
        cluster.read(former, 3)
        assert len(former.assignment) == 6
        cluster.hub.sleep_ms(4000)  # its network loop joins again for the first round; its application applies nothing
        cluster.crash("a1", former)
        with cluster.member("a2", group_instance_id="a", **cooperative) as consumer:
            cluster.read(consumer, 6)
            shares["a"] = consumer.assignment
            cluster.read(consumer, 2)
        cluster.hub.sleep_ms(10)

    def other() -> None:
        cluster.hub.sleep_ms(4000)
        with cluster.member("b", group_instance_id="b", **cooperative) as consumer:
            cluster.read(consumer, 8)
            shares["b"] = consumer.assignment
            cluster.read(consumer, 2)
        cluster.hub.sleep_ms(10)

    cluster.play(leader, other)
    assert {name: len(share) for name, share in shares.items()} == {"a": 3, "b": 3}
    assert not set(shares["a"]) & set(shares["b"])


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_static_leader_that_restarts_assigns_a_topic_that_was_recreated_meanwhile(
    cluster: GroupCluster, strategy: str
) -> None:
    """The group keeps the assignment that was made while the topic did not exist (KIP-814)."""

    def body() -> None:
        cluster.sandbox.create_topic("u", 2)
        properties = {
            "partition_assignment_strategy": strategy,
            "metadata_max_age_ms": 1000,
            "allow_auto_create_topics": False,
        }
        former = cluster.member("a1", group_instance_id="a", **properties)
        former.subscribe(["t", "u"])
        cluster.read(former, 5)
        cluster.sandbox.cluster.delete_topic("u")
        cluster.read(former, 12)
        assert {tp.topic for tp in former.assignment} == {"t"}
        cluster.crash("a1", former)
        cluster.sandbox.create_topic("u", 2)
        with cluster.member("a2", group_instance_id="a", **properties) as consumer:
            consumer.subscribe(["t", "u"])
            cluster.read(consumer, 8)
            assert sorted(tp.topic for tp in consumer.assignment) == ["t"] * 6 + ["u"] * 2
        cluster.hub.sleep_ms(10)

    cluster.play(body)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_static_leader_that_restarts_causes_no_rebalance(cluster: GroupCluster, strategy: str) -> None:
    properties = {"partition_assignment_strategy": strategy}

    def leader() -> None:
        for _ in range(3):
            with cluster.member("s", group_instance_id="one", **properties) as consumer:
                cluster.read(consumer, 9)
                assert len(consumer.assignment) == 3
            cluster.hub.sleep_ms(2000)

    def other() -> None:
        cluster.hub.sleep_ms(1000)  # the first to join leads
        with cluster.member("a", group_instance_id="two", **properties) as consumer:
            cluster.read(consumer, 7)
            before = (cluster.journal.of("a"), consumer.group_metadata().generation)
            cluster.read(consumer, 20)
            assert (cluster.journal.of("a"), consumer.group_metadata().generation) == before
        cluster.hub.sleep_ms(10)

    cluster.play(leader, other)
