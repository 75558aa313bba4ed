"""Both sources over a topic that is written to all the while: row for row the same, batch and stream."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kctl.client.errors import KafkaError
from kctl.client.producer import Producer
from tests.pipeline.source_topics import START_MS, read, rows, settled
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
PARTITIONS = 3
BATCHES = 3
WITHIN_MS = bound(120_000)


@contextmanager
def growing(kafka: KafkaCluster, topic: str) -> Iterator[None]:
    """Write to all partitions, a few records at a time, until the block ends."""
    enough = threading.Event()
    errors: list[KafkaError] = []

    def write() -> None:
        try:
            with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
                n = 0
                while not enough.is_set():
                    for partition in range(PARTITIONS):
                        headers = [("n", b"%d" % n)] if n % 3 else []
                        key = None if n % 2 else b"key-%d" % n
                        producer.send(
                            topic, b"%d" % n, key, partition=partition, headers=headers, timestamp_ms=START_MS + n
                        )
                        n += 1
                    producer.flush()
        except KafkaError as error:
            errors.append(error)

    writer = threading.Thread(target=write, name="writer")
    writer.start()
    try:
        grown(kafka, topic)
        yield
    finally:
        enough.set()
        writer.join()
    assert not errors


def grown(kafka: KafkaCluster, topic: str) -> None:
    """Wait until every partition has more than now."""
    before = settled(kafka, topic)
    wait_until(lambda: all(end > before[tp] for tp, end in settled(kafka, topic).items()), WITHIN_MS, "the writer")


def test_a_batch_ends_where_it_was_planned(spark: "SparkSession", kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(partitions=PARTITIONS)
    with growing(kafka, topic):
        ours = read(spark, "kctl", kafka, subscribe=topic, includeHeaders="true", minPartitions="5")
        first = rows(ours)
        grown(kafka, topic)
        assert rows(ours) == first, "what came since is not part of the plan"
        ends = {str(number): max(row[4] for row in first if row[3] == number) + 1 for number in range(PARTITIONS)}
        to_there = {"subscribe": topic, "includeHeaders": "true", "endingOffsets": json.dumps({topic: ends})}
        assert first == rows(read(spark, "kafka", kafka, **to_there))


def test_streams_of_both_sources_side_by_side(spark: "SparkSession", kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(partitions=PARTITIONS)

    def start(source: str) -> "StreamingQuery":
        stream = spark.readStream.format(source).option("kafka.bootstrap.servers", kafka.bootstrap())
        table = stream.options(subscribe=topic, startingOffsets="earliest", includeHeaders="true").load()
        return table.writeStream.format("memory").queryName(f"growing_{source}").start()

    with growing(kafka, topic):
        queries = [start(source) for source in ("kctl", "kafka")]
        for query in queries:
            wait_until(partial(has_had_batches, query), WITHIN_MS, "batches of a stream")
    for query in queries:
        query.processAllAvailable()
    ours, theirs = (rows(spark.table(f"growing_{source}")) for source in ("kctl", "kafka"))
    for query in queries:
        query.stop()
    assert ours == theirs == rows(read(spark, "kafka", kafka, subscribe=topic, includeHeaders="true"))


def has_had_batches(query: "StreamingQuery") -> bool:
    """Whether several batches brought something; raises what ended the query."""
    error = query.exception()
    if error is not None:
        raise error
    rows_of_batches: list[int] = [progress["numInputRows"] for progress in query.recentProgress]
    return len([count for count in rows_of_batches if count]) >= BATCHES
