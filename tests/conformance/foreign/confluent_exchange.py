"""confluent-kafka as a filter: the command line is in client.py, the lines are in record.py, both beside this file.

With `transactional.id` all of `produce` is one transaction, aborted with `exchange.abort=true`. The caller bounds time.
"""

import sys
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.conformance.foreign.login import librdkafka_settings
from tests.conformance.foreign.record import ForeignRecord

WAIT_S = 30.0
NOW = 0
"""librdkafka's word for a timestamp of its own."""


def produce(topic: str, properties: dict[str, str]) -> None:
    """Send the lines of standard input."""
    defaults = {"acks": "all", "linger.ms": "50", "message.max.bytes": "67108864"}
    producer = Producer(defaults | librdkafka_settings(properties))
    failures: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    transactional = "transactional.id" in properties
    if transactional:
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
    for record in map(ForeignRecord.from_line, sys.stdin):
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            on_delivery=on_delivery,
            headers=list(record.headers),
            timestamp=record.timestamp_ms or NOW,
        )
        producer.poll(0)
    left = producer.flush(WAIT_S)
    if transactional and properties.get("exchange.abort") == "true":
        producer.abort_transaction(WAIT_S)
    elif transactional:
        producer.commit_transaction(WAIT_S)
    if left or failures:
        sys.exit(f"{left} records not acknowledged; failures: {failures[:5]}")


def consume(topic: str, properties: dict[str, str]) -> Iterator[str]:
    """Yield all records up to the present ends."""
    fixed = {"group.id": "unused", "enable.auto.commit": "false", "enable.partition.eof": "true"}
    consumer = Consumer(librdkafka_settings(properties) | fixed)
    try:
        partitions = consumer.list_topics(topic, WAIT_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        unfinished = len(partitions)
        while unfinished:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                yield to_record(message).to_line()
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished -= 1
            else:
                sys.exit(str(error))
    finally:
        consumer.close()


def to_record(message: Message) -> ForeignRecord:
    """Return what a message carries."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    headers = message.headers() or []
    assert isinstance(headers, list)
    return ForeignRecord(
        value=to_bytes(message.value()),
        key=to_bytes(message.key()),
        headers=tuple((name, to_bytes(value)) for name, value in headers),
        partition=partition,
        timestamp_ms=message.timestamp()[1],
        offset=offset,
    )


def to_bytes(data: str | bytes | None) -> bytes | None:
    """Return bytes as they are; the library's types also allow str, which it never gives here."""
    return data.encode() if isinstance(data, str) else data


def list_topics(properties: dict[str, str]) -> list[str]:
    """Return the names of all topics; end at once when a node refuses us, which the library would only go on trying."""

    def on_error(error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            sys.exit(str(error))

    client = Producer({**librdkafka_settings(properties), "error_cb": on_error})
    for _ in range(int(WAIT_S)):
        client.poll(0)
        try:
            return list(client.list_topics(timeout=1.0).topics)
        except KafkaException as error:
            failure = error
    raise failure


def main() -> None:
    """Do what the command line says."""
    mode, topic, *pairs = sys.argv[1:]
    properties = dict(pair.split("=", 1) for pair in pairs)
    if mode == "produce":
        produce(topic, properties)
    elif mode == "consume":
        sys.stdout.writelines(consume(topic, properties))
    elif mode == "list":
        sys.stdout.writelines(f"{name}\n" for name in list_topics(properties))


main()
