"""Tasks of a job that read one range after the other share their worker's consumer: it connects once for a worker.

With a consumer for each range, a topic of 10,000 partitions cost each task two connections and its whole metadata.
"""

from pathlib import Path

import pytest

from kctl.client.producer import Producer
from kctl.client.runtime import Address
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.stats import StatsRequest, stats
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.broker.faulty_proxy import FaultyProxy
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
PARTITIONS = 12


@pytest.mark.parametrize("job", ["export", "stats"])
def test_job_of_many_ranges_connects_once_for_each_worker(
    session: Session, kafka_newest: KafkaCluster, job: str, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=PARTITIONS)
    with Producer({"bootstrap.servers": kafka_newest.bootstrap()}) as producer:
        for partition in range(PARTITIONS):
            producer.send(topic, b"value", partition=partition)
    host, port = kafka_newest.bootstrap().split(":")
    with FaultyProxy() as proxy:
        properties = {"bootstrap.servers": "{}:{}".format(*proxy.address_for(Address(host, int(port))))}
        if job == "export":
            request = ExportRequest(Selection(topics=(topic,)), tmp_path / "out", properties)
            assert export(request, session=session).ranges == PARTITIONS
        else:
            assert stats(StatsRequest(topic, properties), session=session).total.records == PARTITIONS
        # Three clients of the driver, one of each worker; Spark starts a third worker if both are not in its pool yet.
        assert 0 < proxy.accepted < PARTITIONS
