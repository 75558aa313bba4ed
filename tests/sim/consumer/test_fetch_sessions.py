"""Fetch sessions of whole consumers: small requests, nodes that forget, and a close that gives them up."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.fetch.sessions import BEHIND_FETCH_MS
from kctl.client.events import Failed, Lost, RequestExpired
from kctl.sandbox import Fault
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

T = [TopicPartition("t", i) for i in range(3)]


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=11) as hub:
        yield SimCluster(hub)


def sessions(cluster: SimCluster) -> dict[int, int]:
    """Return the number of sessions of each node."""
    return {node_id: len(node.fetch_sessions) for node_id, node in cluster.sandbox.cluster.nodes.items()}


@pytest.mark.slow
def test_a_thousand_idle_partitions_are_named_once() -> None:
    with Hub(seed=12) as hub:
        cluster = SimCluster(hub, nodes=1, topics={"t": 1000})

        def body() -> None:
            with cluster.consumer() as consumer:
                consumer.assign([TopicPartition("t", i) for i in range(1000)])
                consumer.poll(timeout=20)
                first, *_, last = cluster.sent("Fetch")
                assert first.size_bytes > 30_000
                assert last.size_bytes < 100
                cluster.write(777, 3)
                assert [record.partition for record in drain(consumer, 3)] == [777] * 3
                consumer.poll(timeout=2)
                assert sorted(each.size_bytes for each in cluster.sent("Fetch"))[-2] < 200, "one partition has moved on"

        cluster.run(body)


def test_a_node_that_forgets_its_sessions_costs_nothing_but_a_full_request(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(retry_backoff_ms=5000, retry_backoff_max_ms=5000) as consumer:
            consumer.assign(T)
            consumer.poll(timeout=2)
            for turn in range(5):
                for node_id in (1, 2, 3):
                    cluster.sandbox.forget_fetch_sessions(node_id)
                for i in range(3):
                    cluster.write(i, 10, first=10 * turn)
                before_ms = cluster.hub.now_ms
                assert len(drain(consumer, 30)) == 30
                assert cluster.hub.now_ms - before_ms < 1000, "no back-off"
            assert [consumer.position(tp) for tp in T] == [50, 50, 50]

    cluster.run(body)


def test_nodes_without_room_for_sessions_are_read_all_the_same() -> None:
    with Hub(seed=13) as hub:
        cluster = SimCluster(hub, settings=ClusterSettings(max_incremental_fetch_session_cache_slots=0))

        def body() -> None:
            with cluster.consumer() as consumer:
                consumer.assign(T)
                consumer.poll(timeout=2)
                cluster.write(1, 5)
                assert len(drain(consumer, 5)) == 5
                assert sessions(cluster) == {1: 0, 2: 0, 3: 0}

        cluster.run(body)


def test_close_gives_the_sessions_up(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer()
        consumer.assign(T)
        consumer.poll(timeout=2)
        assert sessions(cluster) == {1: 1, 2: 1, 3: 1}
        assert cluster.elapsed_ms(consumer.close) <= 600
        assert sessions(cluster) == {1: 0, 2: 0, 3: 0}

    cluster.run(body)


def test_close_does_not_wait_for_a_fetch_that_is_held(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer(fetch_max_wait_ms=5000)
        consumer.assign(T)
        consumer.poll(timeout=7)
        assert cluster.elapsed_ms(consumer.close) == BEHIND_FETCH_MS

    cluster.run(body)


def test_close_of_a_member_behind_a_held_fetch_keeps_the_connection() -> None:
    with Hub(seed=14) as hub:
        cluster = SimCluster(hub, nodes=1)

        def body() -> None:
            cluster.sandbox.start_fault(1, Fault.DELAY, ms=60)
            consumer = cluster.classic_member("g")
            cluster.write(0, 1)
            assert len(drain(consumer, 1)) == 1
            consumer.poll(timeout=1)
            cluster.events.clear()
            assert consumer.close().left_group
            assert not [each for each in cluster.events if isinstance(each, Failed | Lost | RequestExpired)]

        cluster.run(body)


def test_close_does_not_wait_for_a_node_that_stands_still(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer()
        consumer.assign(T)
        consumer.poll(timeout=2)
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        assert cluster.elapsed_ms(consumer.close) <= 600
        assert sessions(cluster) == {1: 0, 2: 1, 3: 0}

    cluster.run(body)


def test_close_does_not_wait_for_nodes_whose_connections_are_lost(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer(request_timeout_ms=2000)
        consumer.assign(T)
        consumer.poll(timeout=2)
        cluster.break_all(Fault.FREEZE)
        consumer.poll(timeout=4)  # connecting again, which takes until the connect timeout
        assert cluster.elapsed_ms(consumer.close) == 0

    cluster.run(body)


def test_close_without_time_leaves_the_sessions_to_the_nodes(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer()
        consumer.assign(T)
        consumer.poll(timeout=2)
        assert cluster.elapsed_ms(lambda: consumer.close(0)) == 0
        cluster.hub.sleep_ms(10)
        assert sessions(cluster) == {1: 1, 2: 1, 3: 1}

    cluster.run(body)


def test_pauses_seeks_and_moves_in_one_session_lose_and_repeat_nothing(cluster: SimCluster) -> None:
    rng = cluster.hub.rng("test")

    def body() -> None:
        written = [0, 0, 0]
        seen: list[list[int]] = [[], [], []]
        with cluster.consumer(max_poll_records=7) as consumer:
            consumer.assign(T)
            for _ in range(200):
                i = rng.randrange(3)
                match rng.randrange(6):
                    case 0:
                        consumer.pause([T[i]])
                    case 1:
                        consumer.resume([T[i]])
                    case 2:
                        cluster.sandbox.move_leader("t", i, rng.randint(1, 3))
                    case 3:
                        cluster.sandbox.forget_fetch_sessions(rng.randint(1, 3))
                    case _:
                        cluster.write(i, 5, first=written[i])
                        written[i] += 5
                for record in consumer.poll(timeout=0.05):
                    seen[record.partition].append(record.offset)
            consumer.resume(T)
            while records := consumer.poll(timeout=3):
                for record in records:
                    seen[record.partition].append(record.offset)
        assert seen == [list(range(count)) for count in written]

    cluster.run(body)


def test_a_moved_leader_is_read_at_once_without_waiting_for_metadata(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(retry_backoff_ms=5000, retry_backoff_max_ms=5000) as consumer:
            consumer.assign(T)
            consumer.poll(timeout=2)
            cluster.sandbox.move_leader("t", 0, cluster.leader(1))
            cluster.write(0, 3)
            before_ms = cluster.hub.now_ms
            assert len(drain(consumer, 3)) == 3
            assert cluster.hub.now_ms - before_ms < 1000, "the answer named the new leader"

    cluster.run(body)
