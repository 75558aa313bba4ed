"""Transactions on Kafka 4.3.1 (transaction.version 2), 3.9.1 and 2.8.2 (1): seen by read_committed consumers of kctl
and of Java."""

import pytest

from kctl.client.broker_errors import MessageTooLargeError
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.errors import (
    AbortableTransactionError,
    BrokerError,
    CommitFailedError,
    FatalTransactionError,
    TransactionAbortedError,
    TransactionError,
)
from kctl.client.producer import Producer
from tests.conformance.foreign.client import ExchangeClient
from tests.conformance.foreign.java import JAVA
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_for_markers

LOOKS = 100
"""Polls of 200 ms until what was written must have been read."""


def producer(kafka: KafkaCluster, name: str, **properties: object) -> Producer:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": name, "max.block.ms": 30_000, **given})


def seen(kafka: KafkaCluster, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """Return what a kctl consumer reads from start to the end that this isolation lets it see."""
    properties = {"bootstrap.servers": kafka.bootstrap(), "isolation.level": isolation}
    wait_for_markers(kafka.bootstrap(), topic)
    with Consumer(properties) as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        values: list[bytes] = []
        for _ in range(LOOKS):
            if all(consumer.position(partition) >= ends[partition] for partition in partitions):
                return sorted(values)
            values += [record.value or b"" for record in consumer.poll(0.2)]
    pytest.fail(f"{topic} is not read to its end: {values}")


def test_commit_and_abort(any_kafka: KafkaCluster) -> None:
    topic = "tx-basic"
    any_kafka.create_topic(topic, partitions=3)
    writer = producer(any_kafka, topic)
    writer.init_transactions()
    for number in range(6):
        writer.begin_transaction()
        for partition in range(3):
            writer.send(topic, b"%d-%d" % (number, partition), partition=partition)
        if number % 2:
            writer.flush()
            writer.abort_transaction()
        else:
            writer.commit_transaction()
    assert writer.close(10).transaction is None
    committed = sorted(b"%d-%d" % (number, partition) for number in (0, 2, 4) for partition in range(3))
    assert seen(any_kafka, topic) == committed
    assert len(seen(any_kafka, topic, "read_uncommitted")) == 18


@pytest.mark.parametrize("end", ["nothing sent", "begun only", "offsets only"])
def test_transactions_without_records(any_kafka: KafkaCluster, end: str) -> None:
    topic = f"tx-empty-{end.replace(' ', '-')}"
    any_kafka.create_topic(topic)
    offset = {TopicPartition(topic, 0): 5}
    with producer(any_kafka, topic) as writer:
        writer.init_transactions()
        for call in (writer.commit_transaction, writer.abort_transaction, writer.commit_transaction):
            writer.begin_transaction()
            if end == "offsets only":
                writer.send_offsets_to_transaction(offset, GroupMetadata(topic))
            call()
        if end == "begun only":
            writer.begin_transaction()
        writer.close(10)
    stable = {"bootstrap.servers": any_kafka.bootstrap(), "group.id": topic, "isolation.level": "read_committed"}
    with Consumer(stable) as consumer:
        found = consumer.committed(list(offset))[TopicPartition(topic, 0)]
    assert (found is not None and found.offset == 5) == (end == "offsets only")


def test_open_transaction_is_aborted_by_close_and_by_the_next_instance(any_kafka: KafkaCluster) -> None:
    topic = "tx-open"
    any_kafka.create_topic(topic)
    first = producer(any_kafka, topic, linger_ms=60_000)
    first.init_transactions()
    first.begin_transaction()
    first.send(topic, b"sent")
    first.flush()
    waiting = first.send(topic, b"waiting")
    result = first.close(10)
    assert (result.delivered, result.undelivered, result.aborted, result.transaction) == (0, 0, 2, "aborted")
    assert isinstance(waiting.exception(), TransactionAbortedError)
    left = producer(any_kafka, topic)
    left.init_transactions()
    left.begin_transaction()
    left.send(topic, b"left open").result()
    assert left.close(0).transaction == "open"
    with producer(any_kafka, topic) as second:
        second.init_transactions()
        second.begin_transaction()
        second.send(topic, b"of the second")
        second.commit_transaction()
    assert seen(any_kafka, topic) == [b"of the second"]


def test_a_second_instance_fences_the_first(any_kafka: KafkaCluster) -> None:
    topic = "tx-fence"
    any_kafka.create_topic(topic)
    first, second = producer(any_kafka, topic), producer(any_kafka, topic)
    first.init_transactions()
    first.begin_transaction()
    first.send(topic, b"of the first").result()
    second.init_transactions()
    second.begin_transaction()
    second.send(topic, b"of the second").result()
    with pytest.raises(FatalTransactionError) as caught:
        first.commit_transaction()
    assert isinstance(caught.value.cause, BrokerError)
    assert caught.value.cause.name == "PRODUCER_FENCED"
    assert first.close(5).transaction == "aborted", "by the second, which fenced the first"
    second.commit_transaction()
    second.close()
    assert seen(any_kafka, topic) == [b"of the second"]


def test_a_record_of_a_fenced_instance_is_refused_and_only_close_is_left(any_kafka: KafkaCluster) -> None:
    topic = "tx-late"
    any_kafka.create_topic(topic)
    first, second = producer(any_kafka, topic), producer(any_kafka, topic)
    first.init_transactions()
    first.begin_transaction()
    first.send(topic, b"early").result()
    second.init_transactions()
    assert first.send(topic, b"late").exception() is not None
    with pytest.raises(TransactionError):
        first.commit_transaction()
    with pytest.raises(FatalTransactionError):
        first.abort_transaction()
    first.close(5)
    second.close(5)
    assert seen(any_kafka, topic) == []


@pytest.mark.nightly
def test_a_transaction_open_for_too_long_is_aborted_by_the_broker(any_kafka: KafkaCluster) -> None:
    topic = "tx-expired"
    any_kafka.create_topic(topic)
    writer = producer(any_kafka, topic, transaction_timeout_ms=500)
    writer.init_transactions()
    writer.begin_transaction()
    writer.send(topic, b"x").result()
    partition = TopicPartition(topic, 0)
    properties = {"bootstrap.servers": any_kafka.bootstrap(), "isolation.level": "read_committed"}
    with Consumer(properties) as reader:
        reader.assign([partition])
        reader.seek_to_beginning()
        for _ in range(LOOKS):  # Kafka looks for such transactions every 10 s
            assert reader.poll(0.2) == []
            if reader.end_offsets([partition])[partition] > 0:
                break
    with pytest.raises(FatalTransactionError, match=r"PRODUCER_FENCED|INVALID_TXN_STATE"):
        writer.commit_transaction()
    writer.close()


def test_a_record_too_large_aborts_and_the_next_transaction_is_whole(any_kafka: KafkaCluster) -> None:
    topic = "tx-large"
    any_kafka.create_topic(topic, partitions=2)
    with producer(any_kafka, topic, max_request_size=20_000_000, buffer_memory=30_000_000) as writer:
        writer.init_transactions()
        writer.begin_transaction()
        writer.send(topic, b"small", partition=0).result()
        lost = writer.send(topic, bytes(5_000_000), partition=1)
        with pytest.raises(AbortableTransactionError) as caught:
            writer.commit_transaction()
        assert repr(caught.value.cause) == repr(lost.exception())
        assert isinstance(caught.value.cause, MessageTooLargeError)
        writer.abort_transaction()
        writer.begin_transaction()
        for partition in (0, 1):
            writer.send(topic, b"next", partition=partition)
        writer.commit_transaction()
    assert seen(any_kafka, topic) == [b"next", b"next"]


def test_read_process_write_with_a_member_and_one_that_is_left_behind(any_kafka: KafkaCluster) -> None:
    source, target = "tx-in", "tx-out"
    for name in (source, target):
        any_kafka.create_topic(name)
    with Producer({"bootstrap.servers": any_kafka.bootstrap()}) as filler:
        for number in range(100):
            filler.send(source, b"%d" % number)
    properties = {
        "bootstrap.servers": any_kafka.bootstrap(),
        "group.id": "tx-copiers",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "max.poll.records": 10,
        "isolation.level": "read_committed",
        "session.timeout.ms": 10_000,
    }
    writer = producer(any_kafka, "tx-copier")
    writer.init_transactions()
    reader = Consumer(properties)
    reader.subscribe([source])
    copied = 0
    for _ in range(LOOKS):
        records = reader.poll(0.2)
        if records:
            writer.begin_transaction()
            for record in records:
                writer.send(target, record.value)
            after = {TopicPartition(source, 0): records[-1].offset + 1}
            writer.send_offsets_to_transaction(after, reader.group_metadata())
            if copied == 50 and after[TopicPartition(source, 0)] == 60:  # once: back to what is committed
                writer.abort_transaction()
                reader.seek(TopicPartition(source, 0), 50)
                copied = -1
                continue
            writer.commit_transaction()
            copied = after[TopicPartition(source, 0)]
        if copied == 100:
            break
    assert seen(any_kafka, target) == sorted(b"%d" % number for number in range(100))
    member = reader.group_metadata()
    found = reader.committed([TopicPartition(source, 0)])[TopicPartition(source, 0)]
    assert found is not None
    assert found.offset == 100
    reader.close()
    writer.begin_transaction()
    with pytest.raises(AbortableTransactionError) as caught:
        writer.send_offsets_to_transaction({TopicPartition(source, 0): 7}, member)
    assert isinstance(caught.value.cause, CommitFailedError)
    writer.abort_transaction()
    writer.close()


@pytest.mark.nightly
@pytest.mark.parametrize("foreign", [JAVA], ids=lambda client: client.name)
def test_the_java_consumer_sees_the_same(any_kafka: KafkaCluster, foreign: ExchangeClient) -> None:
    topic = "tx-java"
    any_kafka.create_topic(topic)
    with producer(any_kafka, topic) as writer:
        writer.init_transactions()
        for number in range(4):
            writer.begin_transaction()
            writer.send(topic, b"%d" % number)
            if number % 2:
                writer.flush()
                writer.abort_transaction()
            else:
                writer.commit_transaction()
    wait_for_markers(any_kafka.bootstrap(), topic)
    found = foreign.consume(any_kafka.bootstrap(), topic, 2, "read_committed")
    assert [record.value for record in found] == [b"0", b"2"]
