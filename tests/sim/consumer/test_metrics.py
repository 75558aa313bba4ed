"""Metrics of a consumer: exact numbers in virtual time, from any thread's view."""

import math
from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=31) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def test_new_consumer_has_counted_nothing_and_measured_nothing(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            metrics = consumer.metrics()
            assert metrics["records-consumed-total"] == metrics["fetch-total"] == metrics["commit-total"] == 0
            assert all(math.isnan(metrics[name]) for name in ("records-lag-max", "poll-idle-ratio-avg"))

    cluster.run(body)


def test_records_are_counted_when_the_application_has_them(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        with cluster.consumer(group_id="g", enable_auto_commit=False, max_poll_records=4) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            assert len(consumer.poll(5)) == 4
            metrics = consumer.metrics()
            assert (metrics["records-consumed-total"], metrics["assigned-partitions"]) == (4, 1)
            assert metrics["fetch-total"] >= 1
            assert metrics["bytes-consumed-total"] > 10
            consumer.current_lag(T0)  # takes note of the position
            assert consumer.metrics()["records-lag-max"] == 6
            for _ in consumer:
                if consumer.metrics()["records-consumed-total"] >= 7:
                    break
            consumer.commit_sync()
            assert consumer.committed([T0])[T0].offset == 7  # type: ignore[union-attr]  # it was committed above
            metrics = consumer.metrics()
            assert (metrics["records-consumed-total"], metrics["records-lag-max"]) == (7, 3)
            assert metrics["commit-total"] == 1
        assert consumer.metrics()["records-consumed-total"] == 7, "also after close"

    cluster.run(body)


def test_polls_are_measured_from_one_start_to_the_next(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            start_ms = cluster.hub.now_ms
            for pause_s in (1, 2, 0):
                assert consumer.poll(3) == []
                cluster.hub.sleep_ms(pause_s * 1000)
            metrics = consumer.metrics()
            assert cluster.hub.now_ms - start_ms == 12_000
            assert (metrics["time-between-poll-avg"], metrics["time-between-poll-max"]) == (4_500, 5_000)
            assert metrics["poll-idle-ratio-avg"] == 0.75
            assert metrics["last-poll-seconds-ago"] == 3

    cluster.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_rebalances_of_a_member_are_counted(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g", group_protocol=protocol) as consumer:
            consumer.subscribe(["t"])
            consumer.poll(5)
            metrics = consumer.metrics()
            assert (metrics["rebalance-total"], metrics["assigned-partitions"]) == (1, 1)

    cluster.run(body)
