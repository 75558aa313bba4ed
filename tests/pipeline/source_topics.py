"""Topics with all that a table of records can meet, and both sources over them.

Owns how such topics are written.
"""

from typing import TYPE_CHECKING, Any

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_for_markers, wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

START_MS = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CLEANED_WITHIN_MS = bound(60_000)


def read(
    spark: "SparkSession", source: str, kafka: KafkaCluster, *, schema: "str | StructType | None" = None, **options: str
) -> "DataFrame":
    """Return a table of one of the sources; options by name."""
    reader = spark.read.format(source).option("kafka.bootstrap.servers", kafka.bootstrap()).options(**options)
    return (reader if schema is None else reader.schema(schema)).load()


def rows(table: "DataFrame") -> list[tuple[Any, ...]]:
    """Return the rows as plain tuples, by topic, partition and offset."""
    found = [tuple(_plain(value) for value in row) for row in table.collect()]
    at = [table.columns.index(name) for name in ("topic", "partition", "offset")]
    return sorted(found, key=lambda row: tuple(row[index] for index in at))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [tuple(_plain(each) for each in entry) for entry in value]
    return bytes(value) if isinstance(value, bytearray) else value


def write_all_kinds(kafka: KafkaCluster) -> list[str]:
    """Return the names of fresh topics with nulls, headers, both timestamp types, every codec, transactions, gaps."""
    mixed = kafka.create_topic(partitions=3)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for n in range(300):
            producer.send(
                mixed,
                (None, b"", b"value-%d" % n, b"\xff\x00")[n % 4],
                (None, b"key-%d" % n, b"")[n % 3],
                partition=n % 3,
                headers=[(), [("one", b"1")], [("same", b"a"), ("same", None), ("", b""), ("naïve-☃", b"\xfe")]][n % 3],
                timestamp_ms=START_MS + (n * 37) % 101,  # not in order
            )
    appended = kafka.create_topic(partitions=1, configs={"message.timestamp.type": "LogAppendTime"})
    coded = kafka.create_topic(partitions=1)
    for codec in CODECS:
        with Producer({"bootstrap.servers": kafka.bootstrap(), "compression.type": codec}) as producer:
            for n in range(50):
                producer.send(coded, codec.encode() * 20, b"%d" % n)
                producer.send(appended, b"%d" % n, timestamp_ms=START_MS)
    return [mixed, appended, coded, write_transactions(kafka), write_compacted(kafka)]


def write_transactions(kafka: KafkaCluster) -> str:
    """Return the name of a fresh topic with committed and aborted transactions, the last one aborted."""
    topic = kafka.create_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": topic})
    with producer:
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            for n in range(20):
                producer.send(topic, b"%d-%d" % (number, n), partition=n % 2)
            producer.flush()
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    wait_for_markers(kafka.bootstrap(), topic)
    return topic


def write_compacted(kafka: KafkaCluster) -> str:
    """Return the name of a fresh topic of which the cleaner has taken records out."""
    configs = {"cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.01"}
    topic = kafka.create_topic(partitions=1, configs=configs)
    tp = TopicPartition(topic, 0)
    turn = 0

    def is_cleaned() -> bool:
        """Write once more, which rolls a segment, and look whether offsets are missing."""
        nonlocal turn
        turn += 1
        with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
            for n in range(50):
                producer.send(topic, b"%d" % turn, b"key-%d" % (n % 7) if n % 10 else b"once-%d-%d" % (turn, n))
        with Consumer({"bootstrap.servers": kafka.bootstrap(), "auto.offset.reset": "earliest"}) as consumer:
            consumer.assign([tp])
            end = consumer.end_offsets([tp])[tp]
            seen = 0
            while consumer.position(tp) < end:
                seen += len(consumer.poll(1))
        return seen <= end - 40

    wait_until(is_cleaned, CLEANED_WITHIN_MS, "the cleaner", interval_ms=200)
    return topic


def settled(kafka: KafkaCluster, topic: str) -> dict[TopicPartition, int]:
    """Return the end of each partition of a topic."""
    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
        partitions = admin.describe_topics([topic])[topic].partitions
        specs = {TopicPartition(topic, number): -1 for number in partitions}
        return {tp: found.offset for tp, found in admin.list_offsets(specs).done.items()}
