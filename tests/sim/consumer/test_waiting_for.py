"""`waiting_for` and `waiting_for_group` are values: kind, words, node, error and since when."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ConnectTimeout
from kctl.sandbox import Fault
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)


@pytest.fixture
def scene() -> Iterator[GroupCluster]:
    with Hub(seed=31) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def test_from_the_assignment_to_the_end_and_a_pause(scene: GroupCluster) -> None:
    def body() -> None:
        scene.write(0, 3)
        with scene.consumer() as consumer:
            consumer.assign([T0])
            assert consumer.waiting_for()[T0].kind is WaitKind.NOT_STARTED
            assert len(consumer.poll(5)) == 3
            consumer.poll(1)
            first = consumer.waiting_for()[T0]
            assert (first.kind, str(first), first.cause) == (WaitKind.AT_END, "at the end, offset 3", None)
            assert first.since_ms is not None
            assert first.since_ms <= scene.hub.now_ms
            consumer.poll(4)
            assert consumer.waiting_for()[T0] == first, "it has been so since then"
            consumer.pause([T0])
            assert consumer.waiting_for()[T0].kind is WaitKind.PAUSED

    scene.run(body)


def test_a_leader_that_cannot_be_reached_is_named_with_its_error(scene: GroupCluster) -> None:
    def body() -> None:
        with scene.consumer(socket_connection_setup_timeout_ms=1000) as consumer:
            scene.sandbox.start_fault(scene.leader(0), Fault.BLACKHOLE)
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(6)
            waiting = consumer.waiting_for()[T0]
            assert (waiting.kind, waiting.node_id) == (WaitKind.CONNECTION, scene.leader(0))
            assert isinstance(waiting.cause, ConnectTimeout)
            assert str(waiting.cause) in str(waiting)

    scene.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_coordinator_that_cannot_be_reached(scene: GroupCluster, protocol: str) -> None:
    def body() -> None:
        scene.sandbox.start_fault(scene.coordinator(), Fault.BLACKHOLE)
        with scene.consumer(group_id="g", group_protocol=protocol, socket_connection_setup_timeout_ms=1000) as consumer:
            assert consumer.waiting_for_group() is None, "nothing is subscribed to"
            consumer.subscribe(["t"])
            consumer.poll(6)
            waiting = consumer.waiting_for_group()
            assert waiting is not None
            assert waiting.kind is WaitKind.COORDINATOR
            assert waiting.cause is not None
            scene.sandbox.heal()
            consumer.poll(10)
            assert consumer.waiting_for_group() is None, "it has its partition"

    scene.run(body)


@pytest.mark.parametrize("max_wait_ms", [500, 2000])
def test_partition_of_a_frozen_leader_is_not_at_the_end(scene: GroupCluster, max_wait_ms: int) -> None:
    def body() -> None:
        with scene.consumer(fetch_max_wait_ms=max_wait_ms, request_timeout_ms=30_000) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(3)
            assert consumer.waiting_for()[T0].kind is WaitKind.AT_END
            frozen_at_ms = scene.hub.now_ms
            scene.sandbox.start_fault(scene.leader(0), Fault.FREEZE)
            consumer.poll(2 * max_wait_ms / 1000)
            waiting = consumer.waiting_for()[T0]
            assert (waiting.kind, waiting.node_id) == (WaitKind.ANSWER, scene.leader(0))
            assert str(waiting) == f"no response from broker {scene.leader(0)}"
            assert waiting.since_ms is not None
            assert frozen_at_ms - max_wait_ms <= waiting.since_ms <= frozen_at_ms
            assert consumer.current_lag(T0) is None, "what the leader holds by now is unknown"
            scene.sandbox.heal()
            consumer.poll(max_wait_ms / 500)
            assert consumer.waiting_for()[T0].kind is WaitKind.AT_END

    scene.run(body)


def test_slow_fetches_are_not_overdue_before_twice_the_wait(scene: GroupCluster) -> None:
    def body() -> None:
        with scene.consumer(fetch_max_wait_ms=500) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            consumer.poll(2)
            for _ in range(40):
                consumer.poll(0.1)
                assert consumer.waiting_for()[T0].kind is WaitKind.AT_END

    scene.run(body)
