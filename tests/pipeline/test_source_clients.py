"""Tasks of one Python worker share its clients: connecting is done once for a worker, not for each micro-batch."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kctl.client.producer import Producer
from kctl.client.runtime import Address
from tests.broker.faulty_proxy import FaultyProxy
from tests.pipeline.source_topics import read, rows
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
BATCHES = 12
CORES = 2


def test_stream_of_many_batches_connects_once_for_each_worker(
    spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Each client connects to bootstrap.servers once; beside the workers of tasks there is the planner's client."""
    source, sink = (kafka.create_topic(partitions=1) for _ in range(2))
    host, port = kafka.bootstrap().split(":")
    with FaultyProxy() as reads, FaultyProxy() as writes:

        def through(proxy: FaultyProxy) -> str:
            return "{}:{}".format(*proxy.address_for(Address(host, int(port))))

        stream = spark.readStream.format("kctl").option("kafka.bootstrap.servers", through(reads))
        table = stream.options(subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger="10").load()
        writer = table.select("value").writeStream.format("kctl").option("kafka.bootstrap.servers", through(writes))
        query = writer.options(topic=sink, checkpointLocation=str(tmp_path)).start()
        try:
            with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
                for number in range(10 * BATCHES):
                    producer.send(source, b"%d" % number)
            query.processAllAvailable()
            assert query.exception() is None
            assert len([each for each in query.recentProgress if each["numInputRows"]]) >= BATCHES
        finally:
            query.stop()
        values = [row[1] for row in rows(read(spark, "kafka", kafka, subscribe=sink))]
        assert sorted(values) == sorted(b"%d" % number for number in range(10 * BATCHES))
        assert 0 < reads.accepted <= CORES + 1
        assert 0 < writes.accepted <= CORES
