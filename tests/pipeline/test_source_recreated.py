"""A stream whose topic changes between two runs: recreated, or grown by a partition whose first records are gone."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kctl.client.admin import Admin
from kctl.client.producer import Producer
from kctl.pipeline import reason
from tests.pipeline.copies import delete_records
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
Run = Callable[..., list[Any]]


@pytest.fixture
def run(spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path) -> Run:
    """Return a call that runs the stream of a topic from its checkpoint to the present end, and returns its values."""
    found: list[Any] = []

    def values(topic: str, **options: str) -> list[Any]:
        found.clear()
        reading = spark.readStream.format("kctl").option("kafka.bootstrap.servers", kafka.bootstrap())
        table = reading.options(**{"subscribe": topic, "startingOffsets": "earliest", **options}).load()
        writing = table.writeStream.foreachBatch(lambda batch, _: found.extend(batch.collect()))
        query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return sorted(int(bytes(row.value)) for row in found)

    return values


def write(kafka: KafkaCluster, topic: str, start: int, end: int, partition: int = 0) -> None:
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for number in range(start, end):
            producer.send(topic, b"%d" % number, partition=partition)


def add_partition(kafka: KafkaCluster, topic: str) -> None:
    where = ("--bootstrap-server", kafka.bootstrap(), "--topic", topic)
    kafka.run_tool(TOPIC_COMMAND, *where, "--alter", "--partitions", "2")


@pytest.mark.parametrize("count", [5, 50], ids=["shorter", "longer"])
def test_stream_of_recreated_topic_stops_with_an_error(kafka: KafkaCluster, run: Run, count: int) -> None:
    topic = kafka.create_topic(partitions=1)
    write(kafka, topic, 0, 20)
    assert run(topic) == list(range(20))
    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
        admin.delete_topics([topic]).raise_first()
        wait_until(lambda: topic not in admin.list_topics(), bound(30_000), f"{topic} to be gone")
    kafka.create_topic(topic, partitions=1)
    write(kafka, topic, 100, 100 + count)
    with pytest.raises(Exception, match="KCTL: InvalidOffsetError") as stopped:
        run(topic)
    assert f"topic {topic} was deleted and recreated" in (reason(stopped.value) or "")
    assert run(topic, failOnDataLoss="false") == list(range(100, 100 + count)), "all of the new topic"


def test_stream_stops_at_added_partition_whose_first_records_are_gone(
    kafka: KafkaCluster, run: Run, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=1)
    write(kafka, topic, 0, 3)
    assert run(topic) == [0, 1, 2]
    kafka.run_tool(
        TOPIC_COMMAND, "--bootstrap-server", kafka.bootstrap(), "--alter", "--topic", topic, "--partitions", "2"
    )
    write(kafka, topic, 10, 20, partition=1)
    delete_records(kafka, tmp_path, topic, 1, before=4)
    with pytest.raises(Exception, match="KCTL: InvalidOffsetError") as stopped:
        run(topic)
    said = reason(stopped.value) or ""
    assert f"partition {topic}-1 was added, but its records before offset 4 are deleted" in said
    assert run(topic, failOnDataLoss="false") == list(range(14, 20))


def test_stream_reads_added_partition_from_its_first_record(kafka: KafkaCluster, run: Run) -> None:
    topic = kafka.create_topic(partitions=1)
    write(kafka, topic, 0, 3)
    assert run(topic) == [0, 1, 2]
    kafka.run_tool(
        TOPIC_COMMAND, "--bootstrap-server", kafka.bootstrap(), "--alter", "--topic", topic, "--partitions", "2"
    )
    write(kafka, topic, 10, 13, partition=1)
    assert run(topic) == [10, 11, 12]


@pytest.mark.parametrize("is_recreated", [False, True], ids=["deleted", "recreated"])
def test_batch_that_was_planned_before_its_topic_was_lost_is_skipped_where_loss_is_allowed(
    kafka: KafkaCluster, spark: "SparkSession", tmp_path: Path, is_recreated: bool
) -> None:
    """The first run fails in its batch, which stays in the checkpoint; the second one has to get past it."""
    topic = kafka.create_topic(partitions=1)
    other = kafka.create_topic(f"{topic}-other", partitions=1)
    write(kafka, topic, 0, 20)
    write(kafka, other, 0, 3)
    found: list[int] = []

    def refuse(_batch: Any, _number: int) -> None:
        raise AssertionError("stopped by the test")

    def take(batch: Any, _number: int) -> None:
        found.extend(int(bytes(row.value)) for row in batch.collect())

    def run_with(sink: Any, **options: str) -> None:
        reading = spark.readStream.format("kctl").option("kafka.bootstrap.servers", kafka.bootstrap())
        chosen = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest", **options}
        writing = reading.options(**chosen).load().writeStream.foreachBatch(sink)
        query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()

    with pytest.raises(Exception, match="stopped by the test"):
        run_with(refuse)
    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
        admin.delete_topics([topic]).raise_first()
        wait_until(lambda: topic not in admin.list_topics(), bound(30_000), f"{topic} to be gone")
    if is_recreated:
        kafka.create_topic(topic, partitions=1)
        write(kafka, topic, 100, 150)
    run_with(take, failOnDataLoss="false")
    assert sorted(found) == [0, 1, 2], "before Spark 4.2 the trigger has one batch: the one that is planned"
    run_with(take, failOnDataLoss="false")
    assert sorted(found) == [0, 1, 2, *(range(100, 150) if is_recreated else ())]
