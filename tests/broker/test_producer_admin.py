"""Producer and admin on Kafka 4.3.1, 3.9.1 and 2.8.2: what no sandbox should be trusted with alone."""

import pytest

from kctl.client.admin import EARLIEST, LATEST, Admin, NewTopic
from kctl.client.broker_errors import error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import DeliveryTimeout, UndeliveredError
from kctl.client.producer import Producer
from tests.support.kafka.cluster import KafkaCluster

LOOKS = 500


def bootstrap(kafka: KafkaCluster) -> dict[str, object]:
    return {"bootstrap.servers": kafka.bootstrap()}


def test_topics_and_offsets(any_kafka: KafkaCluster) -> None:
    with Admin(bootstrap(any_kafka)) as admin:
        created = admin.create_topics([NewTopic("padm", 3, 1, configs={"retention.ms": "60000"})])
        assert created["padm"].num_partitions == 3
        assert isinstance(admin.create_topics([NewTopic("padm", 1, 1)]).failed["padm"], error_class(36))
        assert "padm" in admin.list_topics()
        assert list(admin.describe_topics(["padm"])["padm"].partitions) == [0, 1, 2]
        description = admin.describe_cluster()
        assert description.cluster_id
        assert len(description.nodes) == 1
        with Producer(bootstrap(any_kafka)) as producer:
            for number in range(30):
                producer.send("padm", b"x", partition=number % 3)
        specs = {TopicPartition("padm", number): LATEST for number in range(3)}
        assert [found.offset for found in admin.list_offsets(specs).done.values()] == [10, 10, 10]
        first = TopicPartition("padm", 0)
        assert admin.list_offsets({first: EARLIEST})[first].offset == 0
        assert admin.delete_topics(["padm", "padm-none"]).done == {"padm": None}


@pytest.mark.nightly
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_compression_and_acknowledgement(any_kafka: KafkaCluster, compression: str, acks: str) -> None:
    topic = f"pca-{compression}-{acks}"
    any_kafka.create_topic(topic)
    properties = {**bootstrap(any_kafka), "compression.type": compression, "acks": acks}
    with Producer(properties) as producer:
        futures = [producer.send(topic, b"%d" % number * 10, headers=[("h", None)]) for number in range(200)]
        producer.flush(30)
        if acks != "0":
            assert [future.result(0).offset for future in futures] == list(range(200))
    last = TopicPartition(topic, 0)
    with Admin(bootstrap(any_kafka)) as admin:
        looks = (admin.list_offsets({last: LATEST})[last].offset for _ in range(LOOKS))
        assert 200 in looks  # without an acknowledgement the records may arrive after we have left


def test_a_batch_too_large_for_the_topic_is_split(any_kafka: KafkaCluster) -> None:
    with Admin(bootstrap(any_kafka)) as admin:
        admin.create_topics([NewTopic("psmall", 1, 1, configs={"max.message.bytes": "1000"})]).raise_first()
        producer = Producer(bootstrap(any_kafka))
        futures = [producer.send("psmall", bytes(100)) for _ in range(100)]
        futures.append(producer.send("psmall", bytes(5000)))
        with pytest.raises(UndeliveredError):
            producer.flush(30)
        assert [future.result(0).offset for future in futures[:100]] == list(range(100))
        assert producer.close(5)[:3] == (100, 1, 0)


def test_idempotence_survives_a_batch_of_unknown_fate(any_kafka: KafkaCluster) -> None:
    """The broker stands still until a batch is given up, then writes it after all; the next epoch follows it."""
    any_kafka.create_topic("pidem", 2)
    producer = Producer({**bootstrap(any_kafka), "delivery.timeout.ms": 3000, "request.timeout.ms": 2500})
    assert producer.send("pidem", b"0", partition=0).result(30).offset == 0
    node = any_kafka.node(1)
    node.freeze()
    try:
        lost = producer.send("pidem", b"1", partition=0)
        assert isinstance(lost.exception(30), DeliveryTimeout)
    finally:
        node.thaw()
    offsets = []
    for number in range(5):
        try:
            offsets.append(producer.send("pidem", b"later %d" % number, partition=0).result(30).offset)
        except DeliveryTimeout:
            continue  # a thawed broker may need a moment
    assert offsets == sorted(offsets)
    assert len(offsets) >= 3
    assert producer.send("pidem", b"x", partition=1).result(30).offset == 0
    result = producer.close(5)
    assert result.unknown >= 1
    last = TopicPartition("pidem", 0)
    with Admin(bootstrap(any_kafka)) as admin:
        end = admin.list_offsets({last: LATEST})[last].offset
    assert len(offsets) + 1 <= end <= result.delivered - 1 + result.unknown
