"""librdkafka's mock cluster as the server: an odd refusal of ApiVersions, and a byte too many in Metadata."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.support.kafka.requirements import give_up


@pytest.fixture
def mock_cluster() -> Iterator[str]:
    """The bootstrap servers of a mock cluster, which lives in the process of a foreign producer."""
    if importlib.util.find_spec("confluent_kafka") is None:
        give_up("confluent-kafka is not installed (it is in the dev extra)")
    from confluent_kafka import Producer as ForeignProducer

    owner: Any = ForeignProducer({"test.mock.num.brokers": 3, "bootstrap.servers": "", "log_level": 0})
    brokers = owner.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del owner


def test_records_are_produced_to_and_read_from_the_mock_cluster(mock_cluster: str) -> None:
    values = [b"%d" % number for number in range(100)]
    with Producer({"bootstrap.servers": mock_cluster}) as producer:
        for future in [producer.send("t", value, partition=0) for value in values]:
            future.result(timeout=20)
    with Consumer({"bootstrap.servers": mock_cluster, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        read: list[bytes | None] = []
        while len(read) < len(values):
            got = consumer.poll(timeout=20)
            assert got, consumer.waiting_for()
            read += [record.value for record in got]
    assert read == values
