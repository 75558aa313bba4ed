"""Members that unsubscribe and subscribe again: the poll in progress, or the next one, joins the group."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

PROTOCOLS = ("classic", "consumer")
POLL_S = 5
EMPTY = TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=46) as hub:
        cluster = GroupCluster(hub, topics={"t": 2, "u": 2})
        cluster.write(0, 20)
        cluster.write(0, 20, topic="u")
        yield cluster


def resubscribe(consumer: Consumer) -> None:
    consumer.unsubscribe()
    consumer.subscribe(["u"])


class Resubscribing(RebalanceListener):
    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        resubscribe(self._consumer)


def read(consumer: Consumer) -> None:
    count = 0
    while count < 20:
        count += len(consumer.poll(1))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_poll_after_a_resubscription_with_a_commit_in_flight_joins(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, group_protocol=protocol) as consumer:
            consumer.subscribe(["t"])
            read(consumer)
            resubscribe(consumer)
            assert {record.topic for record in consumer.poll(POLL_S)} == {"u"}

    cluster.play(body)


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_listener_that_resubscribes_in_a_poll_joins_in_that_poll(
    cluster: GroupCluster, protocol: str, is_automatic: bool
) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, group_protocol=protocol, enable_auto_commit=is_automatic) as consumer:
            consumer.subscribe(["t"], Resubscribing(consumer))
            assert {record.topic for record in consumer.poll(POLL_S)} == {"u"}

    cluster.play(body)


def begin_as_member(consumer: Consumer, done: Callable[..., None]) -> None:
    consumer.subscribe(["t"])
    read(consumer)
    consumer.commit_async(None, done)


def begin_with_assignment(consumer: Consumer, done: Callable[..., None]) -> None:
    consumer.assign([EMPTY])
    consumer.commit_async({EMPTY: 0}, done)


@pytest.mark.parametrize("begin", [begin_as_member, begin_with_assignment])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commit_callback_that_subscribes_in_a_poll_joins_in_that_poll(
    cluster: GroupCluster, protocol: str, begin: Callable[[Consumer, Callable[..., None]], None]
) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, group_protocol=protocol, enable_auto_commit=False) as consumer:

            def done(*_: Any) -> None:
                resubscribe(consumer)

            begin(consumer, done)
            assert {record.topic for record in consumer.poll(POLL_S)} == {"u"}

    cluster.play(body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_subscription_after_a_poll_that_unsubscribed_waits_for_the_next_poll(
    cluster: GroupCluster, protocol: str
) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, group_protocol=protocol, enable_auto_commit=False) as consumer:
            begin_as_member(consumer, lambda *_: consumer.unsubscribe())
            assert consumer.poll(1) == []
            consumer.subscribe(["u"])
            cluster.hub.sleep_ms(5000)
            assert cluster.sandbox.members(GROUP) == []
            assert consumer.poll(POLL_S)

    cluster.play(body)
