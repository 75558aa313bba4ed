"""A scan of many small partitions: tasks read several of them, as far as the options let them."""

from typing import TYPE_CHECKING

import pytest

from kctl.client.producer import Producer
from kctl.pipeline.source.batch_reader import LEAST_TASKS
from tests.pipeline.source_topics import read
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
PARTITIONS = 2 * LEAST_TASKS
EACH = 3


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster) -> str:
    name = kafka.create_topic(partitions=PARTITIONS)
    with Producer({"bootstrap.servers": kafka.bootstrap(), "linger.ms": 20}) as producer:
        for partition in range(PARTITIONS):
            producer.send_columns(name, [b"%d" % number for number in range(EACH)], partition=partition)
        producer.flush(60)
    return name


def test_tasks_share_partitions_and_each_record_comes_once(
    spark: "SparkSession", kafka: KafkaCluster, topic: str
) -> None:
    table = read(spark, "kctl", kafka, subscribe=topic)
    assert table.rdd.getNumPartitions() == LEAST_TASKS
    found = sorted((row.partition, row.offset, bytes(row.value)) for row in table.collect())
    assert found == [(p, number, b"%d" % number) for p in range(PARTITIONS) for number in range(EACH)]


def test_options_bound_what_tasks_share(spark: "SparkSession", kafka: KafkaCluster, topic: str) -> None:
    def tasks(**options: str) -> int:
        return read(spark, "kctl", kafka, subscribe=topic, **options).rdd.getNumPartitions()

    assert tasks(minPartitions=str(PARTITIONS)) == PARTITIONS
    assert tasks(maxRecordsPerPartition=str(EACH)) == PARTITIONS
    assert tasks(maxRecordsPerPartition=str(2 * EACH)) == LEAST_TASKS
