"""Real Kafka behind a faulty proxy, and a producer that keeps every broker busy: the client recovers by itself."""

from collections import deque
from collections.abc import Callable

import pytest

from kctl.client import Consumer
from kctl.client.clock import SystemClock
from kctl.client.producer import Producer, SendFuture
from tests.broker.faulty_proxy import FaultyProxy
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

PATIENCE_MS = bound(60_000)
PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def read(consumer: Consumer, count: int) -> list[bytes | None]:
    """Poll until that many records came; no poll may raise an error."""
    clock = SystemClock()
    until_ms = clock.now_ms() + PATIENCE_MS
    values: list[bytes | None] = []
    while len(values) < count:
        assert clock.now_ms() < until_ms, consumer.waiting_for()
        values += [record.value for record in consumer.poll(0.2)]
    return values


Turn = Callable[[], object]
Strike = Callable[[FaultyProxy, Turn], None]


def damage(proxy: FaultyProxy, turn: Turn) -> None:
    """Damage every connection once."""
    del turn
    proxy.damage()
    assert proxy.damaged


def refuse(proxy: FaultyProxy, turn: Turn) -> None:
    """End every connection and refuse new ones until the client has met that twice; `turn`: what it does meanwhile."""

    def is_refused_twice() -> bool:
        turn()
        return proxy.refused >= 2

    proxy.is_refusing = True
    proxy.cut()
    wait_until(is_refused_twice, PATIENCE_MS, "a second refusal")
    proxy.is_refusing = False


FAULTS = pytest.mark.parametrize("fault", [damage, refuse], ids=["damaged frame", "http 503"])


@PROTOCOLS
@FAULTS
def test_group_member_reads_and_commits_after_the_fault(
    kafka_newest: KafkaCluster, protocol: str, fault: Strike
) -> None:
    topic = kafka_newest.create_topic()
    servers = kafka_newest.bootstrap()
    with Producer({"bootstrap.servers": servers}) as producer, FaultyProxy() as proxy:
        properties = {"group.id": f"g-{topic}", "group.protocol": protocol, "auto.offset.reset": "earliest"}
        with Consumer({"bootstrap.servers": servers, **properties}, proxy.runtime()) as consumer:
            consumer.subscribe([topic])
            producer.send(topic, b"before").result(30)
            assert read(consumer, 1) == [b"before"]

            fault(proxy, lambda: consumer.poll(0.2))
            producer.send(topic, b"after").result(30)
            assert read(consumer, 1) == [b"after"]
            consumer.commit_sync(timeout=30)


@FAULTS
def test_producer_delivers_after_the_fault(kafka_newest: KafkaCluster, fault: Strike) -> None:
    topic = kafka_newest.create_topic()
    with FaultyProxy() as proxy, Producer({"bootstrap.servers": kafka_newest.bootstrap()}, proxy.runtime()) as producer:
        futures = [producer.send(topic, b"before")]
        futures[0].result(30)
        futures.append(producer.send(topic, b"meanwhile"))
        fault(proxy, producer.metrics)
        futures.append(producer.send(topic, b"after"))
        assert [future.exception(30) for future in futures] == [None] * 3


def test_saturated_producer_learns_of_a_new_topic(kafka_newest: KafkaCluster) -> None:
    topic, new = kafka_newest.create_topic(partitions=6), kafka_newest.create_topic()
    properties = {"linger.ms": 0, "batch.size": 1000, "max.block.ms": 120_000}
    with Producer({"bootstrap.servers": kafka_newest.bootstrap(), **properties}) as producer:
        waiting: deque[SendFuture] = deque(producer.send(topic, bytes(100), partition=n % 6) for n in range(60_000))
        assert len(producer.partitions_for(new, 15)) == 1
        assert not waiting[-1].done(), "the producer was not saturated"
        producer.flush(120)
