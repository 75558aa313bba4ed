"""Cost of a consumer of many partitions in lines and wake-ups: it grows with what changes, not with the assignment."""

from collections.abc import Callable

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.consumer.consumer import Consumer
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub
from tests.support.growth import exponent, lines_of

SIZES = (100, 200, 400)
LINEAR = 1.1
SETTLED_AFTER_S = 3
IDLE_S = 10
LEADERS = 3
LONG_POLL_MS = 550
"""fetch.max.wait.ms, and the way to the brokers and back."""


def with_partitions(
    count: int, body: Callable[[SimCluster, Consumer, list[TopicPartition]], int], **properties: object
) -> int:
    """Run `body` with a consumer of all partitions of topic t, each with one record, and return its result."""
    partitions = [TopicPartition("t", number) for number in range(count)]

    def app() -> int:
        with cluster.consumer(**properties) as consumer:
            consumer.assign(partitions)
            return body(cluster, consumer, partitions)

    with Hub(seed=5) as hub:
        cluster = SimCluster(hub, topics={"t": count})
        for tp in partitions:
            cluster.write(tp.partition, 1)
        return cluster.run(app)


def read_to_the_end(consumer: Consumer, count: int) -> None:
    """Read chunks and give up each partition at its end, as `kctl consume -e` does."""
    while count:
        chunk = consumer.poll_chunk(5)
        assert chunk is not None
        consumer.unassign([chunk.topic_partition])
        count -= 1


def rest(consumer: Consumer, seconds: int) -> None:
    for _ in range(seconds):
        assert consumer.poll(1) == []


def read_all(consumer: Consumer, count: int) -> None:
    """Read a record of each partition, then rest until nothing is new to the consumer."""
    drain(consumer, count)
    rest(consumer, SETTLED_AFTER_S)


def test_partitions_that_end_cost_linear_work() -> None:
    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        return lines_of(lambda: read_to_the_end(consumer, len(partitions)))

    few, more, most = (with_partitions(count, body) for count in SIZES)
    assert exponent((few, more, most)) <= LINEAR, (few, more, most)


def test_partitions_that_end_wake_no_network_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    wakeups = 0
    wakeup = ClusterClient.wakeup

    def counted(client: ClusterClient) -> None:
        nonlocal wakeups
        wakeups += 1
        wakeup(client)

    monkeypatch.setattr(ClusterClient, "wakeup", counted)

    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        read_to_the_end(consumer, len(partitions))
        return wakeups

    assert with_partitions(100, body) < 10


def test_idle_consumer_costs_the_same_with_any_number_of_partitions() -> None:
    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        read_all(consumer, len(partitions))
        return lines_of(lambda: rest(consumer, IDLE_S))

    few, many = with_partitions(SIZES[0], body), with_partitions(SIZES[2], body)
    assert many <= 1.05 * few, (few, many)


@pytest.mark.parametrize("change", ["pause", "seek", "unassign"])
def test_change_of_one_partition_costs_work_independent_of_the_assignment(change: str) -> None:
    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        read_all(consumer, len(partitions))
        tp = partitions[7]

        def work() -> None:
            if change == "pause":
                consumer.pause([tp])
                consumer.resume([tp])
            elif change == "seek":
                consumer.seek(tp, 1)
            else:
                consumer.unassign([tp])
            consumer.poll(0)

        return lines_of(work)

    few, many = with_partitions(SIZES[0], body), with_partitions(SIZES[2], body)
    assert many <= 1.05 * few, (few, many)


@pytest.mark.parametrize("group", [False, True])
def test_positions_of_all_partitions_cost_two_look_ups_of_each_leader(*, group: bool) -> None:
    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        read_all(consumer, len(partitions))
        consumer.seek_to_end()
        before = len(cluster.sent("ListOffsets")) + len(cluster.sent("OffsetFetch"))
        elapsed_ms = cluster.elapsed_ms(lambda: [consumer.position(tp) for tp in partitions])
        assert elapsed_ms <= LONG_POLL_MS
        assert [consumer.position(tp) for tp in partitions] == [1] * len(partitions)
        return len(cluster.sent("ListOffsets")) + len(cluster.sent("OffsetFetch")) - before

    for count in SIZES[:2]:
        assert with_partitions(count, body, **({"group_id": "g"} if group else {})) <= 2 * LEADERS


def test_committed_positions_of_all_partitions_cost_two_look_ups() -> None:
    def body(cluster: SimCluster, consumer: Consumer, partitions: list[TopicPartition]) -> int:
        cluster.commit("g", dict.fromkeys(partitions[::2], 1))
        assert [consumer.position(tp) for tp in partitions] == [1, 0] * (len(partitions) // 2)
        return len(cluster.sent("OffsetFetch"))

    few, many = (with_partitions(count, body, group_id="g") for count in SIZES[:2])
    assert few == many <= 3, (few, many)
