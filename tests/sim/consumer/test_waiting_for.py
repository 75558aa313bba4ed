"""`waiting_for` and `waiting_for_group` are values: kind, words, node, error and since when."""

import re
from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import UnknownTopicOrPartitionError
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ConnectionRefused, ConnectTimeout
from kctl.sandbox import Fault
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=31) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def test_from_the_assignment_to_the_end_and_a_pause(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 3)
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            assert consumer.waiting_for()[T0].kind is WaitKind.NOT_STARTED
            assert len(consumer.poll(5)) == 3
            consumer.poll(1)
            first = consumer.waiting_for()[T0]
            assert (first.kind, str(first), first.cause) == (
                WaitKind.AT_END,
                "reached the end of the partition, offset 3",
                None,
            )
            assert first.started_at_ms is not None
            assert first.started_at_ms <= cluster.hub.now_ms
            consumer.poll(4)
            assert consumer.waiting_for()[T0] == first, "it has been so since then"
            consumer.pause([T0])
            assert consumer.waiting_for()[T0].kind is WaitKind.PAUSED

    cluster.run(body)


def test_a_leader_that_cannot_be_reached_is_named_with_its_error(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(socket_connection_setup_timeout_ms=1000) as consumer:
            cluster.sandbox.start_fault(cluster.leader(0), Fault.BLACKHOLE)
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(6)
            waiting = consumer.waiting_for()[T0]
            assert (waiting.kind, waiting.node_id) == (WaitKind.CONNECTION, cluster.leader(0))
            assert isinstance(waiting.cause, ConnectTimeout)
            assert str(waiting.cause) in str(waiting)

    cluster.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_coordinator_that_cannot_be_reached(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.BLACKHOLE)
        with cluster.consumer(
            group_id="g", group_protocol=protocol, socket_connection_setup_timeout_ms=1000
        ) as consumer:
            assert consumer.waiting_for_group() is None, "nothing is subscribed to"
            consumer.subscribe(["t"])
            consumer.poll(6)
            waiting = consumer.waiting_for_group()
            assert waiting is not None
            assert waiting.kind is WaitKind.COORDINATOR
            assert waiting.cause is not None
            cluster.sandbox.heal()
            consumer.poll(10)
            assert consumer.waiting_for_group() is None, "it has its partition"

    cluster.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_bootstrap_that_refuses_is_the_cause_of_a_wait_for_the_group(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g", group_protocol=protocol) as consumer:
            consumer.subscribe(["t"])
            consumer.poll(0)
            before = consumer.waiting_for_group()
            cluster.break_all(Fault.REFUSE)
            consumer.poll(2)
            waiting = consumer.waiting_for_group()
            assert (waiting and waiting.kind) is WaitKind.COORDINATOR
            assert waiting is not None
            assert isinstance(waiting.cause, ConnectionRefused)
            assert str(waiting) == f"waiting for the coordinator of group g: {waiting.cause}"
            assert before is None or before.cause is None, "the cause came later"

    cluster.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_topics_that_do_not_exist_are_named_by_the_wait_for_the_group(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g", group_protocol=protocol, allow_auto_create_topics="false") as consumer:
            consumer.subscribe([f"absent-{number}" for number in range(7)])
            consumer.poll(5)
            waiting = consumer.waiting_for_group()
            assert waiting is not None
            assert waiting.kind is WaitKind.NO_SHARE
            assert str(waiting).endswith(
                "topics not found: absent-0, absent-1, absent-2, absent-3, absent-4 and 2 more"
            )
            assert isinstance(waiting.cause, UnknownTopicOrPartitionError)

    cluster.run(body)


def test_pattern_that_matches_no_topic_is_named_by_the_wait_for_the_group(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g") as consumer:
            consumer.subscribe(re.compile("absent.*"))
            consumer.poll(5)
            assert str(consumer.waiting_for_group()).endswith("; no topic matches absent.*")

    cluster.run(body)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("^orders.*", "invalid topic '^orders.*': for a pattern, use re.compile('orders.*')"),
        ("no such topic!", "invalid topic 'no such topic!': use letters, digits, '.', '_' and '-', 249 characters"),
        ("a" * 250, "249 characters at most"),
        ("..", "invalid topic '..'"),
    ],
)  # fmt: skip
def test_name_that_no_topic_can_have_is_rejected_by_subscribe(cluster: GroupCluster, name: str, text: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g") as consumer, pytest.raises(ValueError, match=re.escape(text)):
            consumer.subscribe(["t", name])

    cluster.run(body)


@pytest.mark.parametrize("max_wait_ms", [500, 2000])
def test_partition_of_a_frozen_leader_is_not_at_the_end(cluster: GroupCluster, max_wait_ms: int) -> None:
    def body() -> None:
        with cluster.consumer(fetch_max_wait_ms=max_wait_ms, request_timeout_ms=30_000) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(3)
            assert consumer.waiting_for()[T0].kind is WaitKind.AT_END
            frozen_at_ms = cluster.hub.now_ms
            cluster.sandbox.start_fault(cluster.leader(0), Fault.FREEZE)
            consumer.poll(2 * max_wait_ms / 1000)
            waiting = consumer.waiting_for()[T0]
            assert (waiting.kind, waiting.node_id) == (WaitKind.ANSWER, cluster.leader(0))
            assert str(waiting) == f"no response from broker {cluster.leader(0)}"
            assert waiting.started_at_ms is not None
            assert frozen_at_ms - max_wait_ms <= waiting.started_at_ms <= frozen_at_ms
            assert consumer.current_lag(T0) is None, "what the leader holds by now is unknown"
            cluster.sandbox.heal()
            consumer.poll(max_wait_ms / 500)
            assert consumer.waiting_for()[T0].kind is WaitKind.AT_END

    cluster.run(body)


def test_slow_fetches_are_not_overdue_before_twice_the_wait(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(fetch_max_wait_ms=500) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(2)
            for _ in range(40):
                consumer.poll(0.1)
                assert consumer.waiting_for()[T0].kind is WaitKind.AT_END

    cluster.run(body)
