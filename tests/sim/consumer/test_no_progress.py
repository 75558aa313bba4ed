"""Brokers whose fetch responses bring nothing new: polls report it, and neither polls nor requests are a hot loop."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError, NoProgressError
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
NODES = (1, 2, 3)


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=52) as hub:
        yield SimCluster(hub, topics={"t": 1})


def polled(cluster: SimCluster, consumer: Consumer, seconds: int, *, timeout: float) -> list[KafkaError]:
    """Poll again and again whatever happens, and return the errors; no record may come."""
    errors: list[KafkaError] = []
    end_ms = cluster.hub.now_ms + 1000 * seconds
    while cluster.hub.now_ms < end_ms:
        try:
            assert consumer.poll(timeout) == []
        except KafkaError as error:
            errors.append(error)
    return errors


def test_batches_before_the_position_are_reported_once_per_back_off_and_reading_continues_after_them(
    cluster: SimCluster,
) -> None:
    replies = Replies()

    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            cluster.write(0, 5)
            drain(consumer, 5)
            cluster.write(0, 5, first=5)
            replies.without_progress = dict.fromkeys(NODES, True)
            fetches = len(cluster.sent("Fetch"))
            errors = polled(cluster, consumer, 10, timeout=1)
            assert all(isinstance(error, NoProgressError) for error in errors)
            assert 9 <= len(errors) <= 20
            assert len(cluster.sent("Fetch")) - fetches <= len(errors) + 2
            replies.heal()
            before_ms = cluster.hub.now_ms
            assert [record.offset for record in drain(consumer, 5)] == [5, 6, 7, 8, 9]
            assert cluster.hub.now_ms - before_ms <= 1100

    with replies.installed():
        cluster.run(body)


def test_empty_responses_that_come_at_once_are_fetched_at_a_bounded_rate(cluster: SimCluster) -> None:
    replies = Replies()

    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            cluster.write(0, 5)
            replies.without_progress = dict.fromkeys(NODES, False)
            assert polled(cluster, consumer, 10, timeout=1) == []
            assert len(cluster.sent("Fetch")) <= 20
            replies.heal()
            drain(consumer, 5)

    with replies.installed():
        cluster.run(body)
