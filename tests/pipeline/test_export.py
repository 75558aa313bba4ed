"""`export` on a local Spark with a real broker: what is in the files is what is on the topic, each record once."""

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kctl.client.errors import BrokerError, ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.export_files import manifests as manifests_module
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from tests.pipeline.exports import in_export, on_topic, produce, rows_of
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_for_markers

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def request_for(kafka: KafkaCluster, folder: Path, *topics: str, pattern: str = "") -> ExportRequest:
    properties = {"bootstrap.servers": kafka.bootstrap(), "default.api.timeout.ms": "30000"}
    return ExportRequest(Selection(topics=topics, pattern=pattern), folder, properties, range_bytes=100_000)


@pytest.mark.parametrize(("format", "layout"), [("parquet", "topic"), ("parquet", "hour"), ("json", "date")])
def test_the_files_hold_what_is_on_the_topic(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path, format: str, layout: str
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 6_000, partitions=2)
    request = request_for(kafka_newest, tmp_path / "x", topic)._replace(format=format, layout=layout)
    seen: list[JobProgress] = []
    result = export(request, session=session, on_progress=seen.append)
    expected = on_topic(kafka_newest.client_properties(), topic)
    assert in_export(tmp_path / "x") == expected
    assert (result.records, result.gaps, len(expected)) == (6_000, 0, 6_000)
    assert result.ranges > 2
    assert (seen[0].phase, seen[-1].phase) == ("planning", "exporting")
    if format == "parquet":  # any reader of folders finds the same
        table = ds.dataset(tmp_path / "x" / topic, partitioning="hive").to_table()
        rows = [row for batch in table.to_batches() for row in rows_of(batch)]
        assert sorted(rows, key=lambda row: row[:3]) == expected
        assert pq.read_table(tmp_path / "x" / topic).num_rows == 6_000


def test_the_next_run_adds_what_has_come_since(kafka_newest: KafkaCluster, session: Session, tmp_path: Path) -> None:
    topics = [kafka_newest.create_topic(f"grows-{letter}-{tmp_path.name}", partitions=2) for letter in "ab"]
    folder = tmp_path / "x"
    request = request_for(kafka_newest, folder, pattern=f"grows-.-{tmp_path.name}")
    for turn in range(2):
        for topic in topics:
            produce(kafka_newest.bootstrap(), topic, 500, partitions=2, first=turn * 500)
        plan = plan_export(request)
        assert (plan.offsets, plan.resumed) == (1_000, 4 * turn)
        assert 1_000 * 60 < sum(plan.topic_bytes.values()) < 1_000 * 200
        assert export(request, session=session).records == 1_000
    assert len(read_manifests(folder)) == 2
    expected = [row for topic in topics for row in on_topic(kafka_newest.client_properties(), topic)]
    assert in_export(folder) == expected
    assert export(request, session=session).ranges == 0


def test_a_continuous_export_takes_what_comes(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Enough(BaseException):
        pass

    monkeypatch.setattr(manifests_module, "FANOUT", 2)
    topic = kafka_newest.create_topic()
    produce(kafka_newest.bootstrap(), topic, 300, partitions=1)
    looks = 0

    def add_while_it_waits(progress: JobProgress) -> None:
        nonlocal looks
        if progress.phase == "waiting for records":
            looks += 1
            if looks == 4:
                raise Enough
            produce(kafka_newest.bootstrap(), topic, 100 * (looks % 2), partitions=1, first=looks * 1_000)

    request = request_for(kafka_newest, tmp_path / "x", topic)._replace(interval_ms=1)
    with pytest.raises(Enough):
        export(request, session=session, on_progress=add_while_it_waits)
    found = [(manifest.first, manifest.number) for manifest in read_manifests(tmp_path / "x")]
    assert found == [(1, 2), (3, 3)], "a look that finds nothing writes nothing, and old manifests are merged"
    expected = on_topic(kafka_newest.client_properties(), topic)
    assert (in_export(tmp_path / "x"), len(expected)) == (expected, 500)


@pytest.mark.smoke
def test_transactions_leave_gaps_and_what_was_aborted_is_left_out(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic()
    with Producer({"bootstrap.servers": kafka_newest.bootstrap(), "transactional.id": topic}) as producer:
        producer.init_transactions()
        for is_kept in (True, False, True):
            producer.begin_transaction()
            for number in range(100):
                producer.send(topic, b"%d" % number)
            producer.flush()
            (producer.commit_transaction if is_kept else producer.abort_transaction)()
    wait_for_markers(kafka_newest.bootstrap(), topic)
    request = request_for(kafka_newest, tmp_path / "x", topic)
    result = export(request, session=session)
    assert (result.records, result.gaps) == (200, 103)
    reading = {**kafka_newest.client_properties(), "isolation.level": "read_committed"}
    assert in_export(tmp_path / "x") == on_topic(reading, topic)
    verifying = VerifyRequest(topic, request.properties, folder=request.folder)
    assert verify(verifying, session=session).is_equal
    uncommitted = {**request.properties, "isolation.level": "read_uncommitted"}
    everything = request._replace(folder=tmp_path / "y", properties=uncommitted)
    assert export(everything, session=session).records == 300
    same = verifying._replace(folder=everything.folder, properties=uncommitted)
    assert verify(same, session=session).is_equal


def test_export_with_invalid_request_fails_before_spark_starts(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    request = request_for(kafka_newest, tmp_path / "x", "no-such-topic")
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        export(request)
    with pytest.raises(ConfigError, match="format 'csv': use one of parquet, json"):
        export(request._replace(format="csv"))
    with pytest.raises(ConfigError, match=r"ssl.key.password is a secret, which would be sent"):
        export(request._replace(properties={**request.properties, "ssl.key.password": "canary"}))
    assert not (tmp_path / "x").exists()
