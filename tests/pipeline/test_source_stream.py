"""A streaming read of `format("kctl")`: exact over restarts, limits and growing topics; equal to Spark's connector."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kctl.client.admin import Admin, NewTopic
from kctl.client.producer import Producer
from kctl.pipeline.job_errors import worker_start_error
from kctl.pipeline.jobs.sync import MOST_LATE_STARTS
from tests.pipeline.source_topics import read, rows
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
WITHIN_S = bound(120)


def produce(kafka: KafkaCluster, topic: str, start: int, count: int, partitions: int) -> None:
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for n in range(start, start + count):
            producer.send(topic, b"%d" % n, partition=n % partitions)


def to_files(
    spark: "SparkSession", kafka: KafkaCluster, folder: Path, source: str = "kctl", *, now: bool = True, **options: str
) -> "StreamingQuery":
    """Start a query from the beginning of topics into JSON files; with `now` it ends with what is there."""
    stream = spark.readStream.format(source).option("kafka.bootstrap.servers", kafka.bootstrap())
    table = stream.option("startingOffsets", "earliest").options(**options).load()
    writer = table.selectExpr("cast(value as string) as value", "topic", "partition", "offset").writeStream.format(
        "json"
    )
    writer = writer.option("path", str(folder / "out")).option("checkpointLocation", str(folder / "checkpoint"))
    return (writer.trigger(availableNow=True) if now else writer).start()


def run(start: "Callable[[], StreamingQuery]", wait: "Callable[[StreamingQuery], object]") -> "StreamingQuery":
    """Start a query and wait; start it again if Spark's 10 s for the start of its worker were too short."""
    for _ in range(MOST_LATE_STARTS):
        query = start()
        try:
            wait(query)
        except Exception as error:
            if worker_start_error(str(error), "") is None:
                raise
        else:
            return query
    pytest.fail("the worker of the query connects too late each time")


def to_the_end(query: "StreamingQuery") -> None:
    assert query.awaitTermination(WITHIN_S)


def written(spark: "SparkSession", folder: Path) -> list[tuple[Any, ...]]:
    table = spark.read.schema("value string, topic string, partition int, offset long").json(str(folder / "out"))
    return rows(table)


def whole(spark: "SparkSession", kafka: KafkaCluster, topics: str) -> list[tuple[Any, ...]]:
    """What the connector reads of it now."""
    table = read(spark, "kafka", kafka, subscribe=topics)
    return rows(table.selectExpr("cast(value as string) as value", "topic", "partition", "offset"))


def test_a_restart_goes_on_exactly(spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=2)
    for turn in range(3):
        produce(kafka, topic, turn * 200, 200, 2)
        run(lambda: to_files(spark, kafka, tmp_path, subscribe=topic, minPartitions="3"), to_the_end)
        assert written(spark, tmp_path) == whole(spark, kafka, topic)
    assert len(written(spark, tmp_path)) == 600


def test_a_topic_that_grows_meanwhile(spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path) -> None:
    """Records, partitions and a topic come while the query runs; batches keep to their limit."""
    first, later = kafka.create_topic(partitions=1), None
    produce(kafka, first, 0, 100, 1)
    options = {"subscribePattern": f"{first}.*", "maxOffsetsPerTrigger": "60", "commitToGroup": f"{first}-progress"}
    query = run(lambda: to_files(spark, kafka, tmp_path, now=False, **options), lambda it: it.processAllAvailable())
    try:
        assert query.exception() is None
        assert written(spark, tmp_path) == whole(spark, kafka, first)
        later = f"{first}-later"
        with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
            admin.create_topics([NewTopic(later, 2, 1)]).raise_first()
        produce(kafka, later, 0, 100, 2)
        produce(kafka, first, 100, 50, 1)
        query.processAllAvailable()
        assert written(spark, tmp_path) == whole(spark, kafka, f"{first},{later}")
        sizes = [progress["numInputRows"] for progress in query.recentProgress]
        assert sum(sizes) == 250
        assert max(sizes) <= 60
        last = query.recentProgress[-1]
        offsets = json.loads(last["sources"][0]["endOffset"].replace("'", '"'))
        ends = {first: {"0": 150}, later: {"0": 50, "1": 50}}
        assert {**offsets, "#topic_ids": {}} == {**ends, "#topic_ids": {}, "#log_ends": ends}
        assert set(offsets["#topic_ids"]) == {first, later}
        with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:

            def committed() -> dict[str, dict[str, int]]:
                found: dict[str, dict[str, int]] = {}
                for tp, each in admin.list_group_offsets(f"{first}-progress").done.items():
                    assert each is not None
                    found.setdefault(tp.topic, {})[str(tp.partition)] = each.offset
                return found

            wait_until(lambda: committed() == ends, bound(30_000), "the progress of the last batch in the group")
    finally:
        query.stop()


def test_options_of_a_batch_are_refused(spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="option endingOffsets is only for batch reads"):
        run(lambda: to_files(spark, kafka, tmp_path, subscribe="t", endingOffsets="latest"), to_the_end)
