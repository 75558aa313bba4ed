"""Every blocking call under every fault ends on its millisecond with a correct error, and close honors its timeout."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import ApiTimeout, ConnectionRefused
from kctl.client.loop.mailbox import LOOP_GRACE_MS
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

T = [TopicPartition("t", i) for i in range(3)]

CALLS: dict[str, Callable[[Consumer, float], object]] = {
    "partitions_for": lambda consumer, timeout: consumer.partitions_for("t", timeout=timeout),
    "list_topics": lambda consumer, timeout: consumer.list_topics(timeout=timeout),
    "beginning_offsets": lambda consumer, timeout: consumer.beginning_offsets(T, timeout=timeout),
    "end_offsets": lambda consumer, timeout: consumer.end_offsets(T, timeout=timeout),
    "offsets_for_times": lambda consumer, timeout: consumer.offsets_for_times({T[0]: 5}, timeout=timeout),
    "position": lambda consumer, timeout: consumer.position(T[0], timeout=timeout),
}
FAULTS = [Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET, Fault.SILENCE, Fault.FREEZE, Fault.RESET_ON_REQUEST]


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=5) as hub:
        yield SimCluster(hub)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_on_its_deadline_with_every_node_broken(cluster: SimCluster, fault: Fault, call: str) -> None:
    def body() -> None:
        cluster.break_all(fault)
        with cluster.consumer(default_api_timeout_ms=30_000) as consumer:
            consumer.assign(T)
            for timeout in (0.0, 0.001, 0.25, 12.345):
                before_ms = cluster.hub.now_ms
                with pytest.raises(ApiTimeout) as caught:
                    CALLS[call](consumer, timeout)
                assert cluster.hub.now_ms - before_ms == round(timeout * 1000)
                error = caught.value
                assert (error.timeout_ms, error.elapsed_ms) == (round(timeout * 1000),) * 2
                assert error.waiting_for.startswith("waiting for")
            spent = [int(entry.split()[-2]) for entry in error.time_breakdown]
            assert abs(sum(spent) - 12_345) <= 1, error.time_breakdown
            assert cluster.elapsed_ms(lambda: consumer.poll(timeout=1.5)) == 1500

    cluster.run(body)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_a_starved_loop_names_the_refused_connection(cluster: SimCluster, call: str) -> None:
    def body() -> None:
        cluster.break_all(Fault.REFUSE)
        with cluster.consumer() as consumer:
            consumer.assign(T)
            cluster.hub.call_later_ms(3_000, "load", lambda: cluster.hub.stall("c1", 20_000))
            before_ms = cluster.hub.now_ms
            with pytest.raises(ApiTimeout, match=r"overloaded machine; last error: .*connection refused") as caught:
                CALLS[call](consumer, 9.0)
            assert cluster.hub.now_ms - before_ms == 9_000 + LOOP_GRACE_MS
            assert isinstance(caught.value.cause, ConnectionRefused)

    cluster.run(body)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_on_its_deadline_when_nodes_break_later(cluster: SimCluster, fault: Fault, call: str) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign(T)
            consumer.poll(timeout=0.2)
            consumer.seek_to_beginning()  # so that position() sends a request
            cluster.break_all(fault)
            before_ms = cluster.hub.now_ms
            try:
                CALLS[call](consumer, 3.0)
            except ApiTimeout:
                assert cluster.hub.now_ms - before_ms == 3000
            else:
                # Faults of new connections leave the open ones alone.
                assert fault in (Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET)
            assert cluster.elapsed_ms(lambda: consumer.poll(timeout=0.777)) == 777

    cluster.run(body)


def test_a_call_succeeds_when_the_fault_ends_in_time(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.break_all(Fault.REFUSE)
        cluster.hub.call_later_ms(2000, "healer", cluster.sandbox.heal)
        with cluster.consumer() as consumer:
            elapsed_ms = cluster.elapsed_ms(lambda: consumer.end_offsets(T, timeout=10))
            assert 2000 <= elapsed_ms < 3500

    cluster.run(body)


def test_one_frozen_leader_leaves_the_others_flowing(cluster: SimCluster) -> None:
    def body() -> None:
        for i in range(3):
            cluster.write(i, 10)
        with cluster.consumer(request_timeout_ms=5000) as consumer:
            consumer.assign(T)
            assert len(drain_all(consumer)) == 30
            frozen = cluster.leader(0)
            cluster.sandbox.start_fault(frozen, Fault.FREEZE)
            for i in range(3):
                cluster.write(i, 10, first=10)
            assert {record.partition for record in drain_all(consumer)} == {1, 2}
            consumer.poll(timeout=20)
            assert "leader" in str(consumer.waiting_for()[T[0]])
            with pytest.raises(ApiTimeout, match="waiting for the offset of t-0") as caught:
                consumer.end_offsets(T, timeout=7)
            assert caught.value.elapsed_ms == 7000
            cluster.sandbox.heal()
            assert {record.partition for record in drain_all(consumer, timeout=40)} == {0}

    cluster.run(body)


def drain_all(consumer: Consumer, timeout: float = 2) -> list[ConsumerRecord]:
    """Poll until nothing comes for `timeout`."""
    records: list[ConsumerRecord] = []
    while got := consumer.poll(timeout=timeout):
        records += got
    return records


def test_the_first_poll_with_three_of_four_nodes_blackholed_is_quick() -> None:
    with Hub(seed=9) as hub:
        cluster = SimCluster(hub, nodes=4, topics={"t": 1})

        def body() -> None:
            cluster.write(0, 1)
            for node_id in range(1, 5):
                if node_id != cluster.leader(0):
                    cluster.sandbox.start_fault(node_id, Fault.BLACKHOLE)
            with cluster.consumer() as consumer:
                consumer.assign([T[0]])
                assert cluster.elapsed_ms(lambda: consumer.poll(timeout=10)) < 500

        cluster.run(body)


@pytest.mark.parametrize("fault", [None, *FAULTS])
@pytest.mark.parametrize("timeout", [0.0, 0.5, 30.0])
def test_close_leaves_nothing_behind(cluster: SimCluster, fault: Fault | None, timeout: float) -> None:
    def body() -> None:
        cluster.write(0, 10)
        consumer = cluster.consumer()
        consumer.assign(T)
        consumer.poll(timeout=0.5)
        if fault is not None:
            cluster.break_all(fault)
        consumer.poll(timeout=0.1)
        before_ms = cluster.hub.now_ms
        result = consumer.close(timeout)
        limit_ms = min(round(timeout * 1000), 600)
        assert cluster.hub.now_ms - before_ms <= limit_ms, "fetch sessions are given up behind the fetch under way"
        assert (result.committed, result.left_group) == (None, None)
        assert consumer.close() is result
        cluster.hub.sleep_ms(10)  # the nodes hear of it
        assert result.expired_in is None or timeout == 0

    cluster.run(body)
    assert cluster.network.open_connections == 0


def test_a_closed_consumer_says_nothing_more() -> None:
    with Hub(seed=6) as hub:
        cluster = SimCluster(hub)

        def body() -> None:
            consumer = cluster.consumer()
            consumer.assign(T)
            consumer.poll(timeout=0.3)
            consumer.close()
            cluster.hub.sleep_ms(5)
            assert cluster.network.open_connections == 0

        cluster.run(body)


def test_an_idle_consumer_does_not_spin(cluster: SimCluster) -> None:
    def body() -> int:
        with cluster.consumer() as consumer:
            consumer.assign(T)
            consumer.poll(timeout=2)
            before = cluster.hub.steps
            consumer.poll(timeout=10)
            return cluster.hub.steps - before

    assert cluster.run(body) < 2000, "more than 200 steps a virtual second"
