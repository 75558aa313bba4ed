"""Jobs on many small partitions: few tasks, each record once, also where a worker dies in the middle of one."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.producer import Producer
from kctl.pipeline.export_files.manifests import ExportedRange, read_manifests
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.jobs import export as export_module
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.export_task import ExportTask, export_ranges
from kctl.pipeline.jobs.stats import StatsRequest, plan_stats, stats
from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import Attempt, JobProgress
from kctl.pipeline.session import Session
from tests.pipeline.exports import in_export, on_topic
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

PARTITIONS = 300
EACH = 4
DIES_AFTER = 20
"""Ranges of a task whose worker then dies."""


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    """A topic of many partitions, every tenth of them empty."""
    name = kafka_newest.create_topic(partitions=PARTITIONS)
    with Producer({"bootstrap.servers": kafka_newest.bootstrap(), "linger.ms": 20}) as producer:
        for partition in range(PARTITIONS):
            if partition % 10:
                values = [b"%d of %d" % (number, partition) for number in range(EACH)]
                producer.send_columns(name, values, partition=partition)
        producer.flush(60)
    return name


def dying_once(task: ExportTask, attempt: Attempt) -> Iterator[ExportedRange]:
    """Write ranges, but for a worker that dies in the middle of the first attempt at the first task."""
    for number, done in enumerate(export_ranges(task, attempt)):
        if number == DIES_AFTER and attempt.number == 0 and task.ranges[0].partition < PARTITIONS // 8:
            os.kill(os.getpid(), signal.SIGKILL)
        yield done


def test_an_export_has_few_tasks_and_each_record_once_though_a_worker_dies(
    kafka_newest: KafkaCluster, session: Session, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = kafka_newest.client_properties()
    request = ExportRequest(Selection(topics=(topic,)), tmp_path / "export", properties)
    seen: list[JobProgress] = []
    monkeypatch.setattr(export_module, "export_ranges", dying_once)
    done = export(request, session=session, on_progress=seen.append)

    records = on_topic(properties, topic)
    assert in_export(tmp_path / "export") == records
    full = PARTITIONS - PARTITIONS // 10
    assert (done.records, done.ranges, done.files, done.rounds) == (full * EACH, full, full, 1)
    assert max(each.tasks for each in seen) == 4 * session.parallelism + 1
    files = {str(path.relative_to(tmp_path / "export")) for path in (tmp_path / "export").rglob("*.parquet")}
    kept = [each for manifest in read_manifests(tmp_path / "export") for each in manifest.ranges]
    assert files == {file.path for each in kept for file in each.files}
    assert plan_export(request).tasks == ()

    assert verify(VerifyRequest(topic, properties, folder=tmp_path / "export"), session=session).is_equal
    found = stats(StatsRequest(topic, properties), session=session)
    assert [each.statistics.records for each in found.partitions] == [
        EACH if partition % 10 else 0 for partition in range(PARTITIONS)
    ]


def failing(task: ExportTask, attempt: Attempt) -> Iterator[ExportedRange]:
    """Write some ranges, then end with an error of the client."""
    for number, done in enumerate(export_ranges(task, attempt)):
        if number == DIES_AFTER:
            raise ExportDataError("on purpose")
        yield done


def test_ranges_written_before_an_error_of_their_task_are_kept(
    kafka_newest: KafkaCluster, session: Session, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = kafka_newest.client_properties()
    folder = tmp_path / "export"
    request = ExportRequest(Selection(topics=(topic,)), folder, properties)
    monkeypatch.setattr(export_module, "export_ranges", failing)
    with pytest.raises(ExportDataError, match="on purpose"):
        export(request, session=session)
    kept = sum(len(manifest.ranges) for manifest in read_manifests(folder))
    assert kept >= DIES_AFTER
    monkeypatch.undo()
    rest = export(request, session=session)
    assert rest.ranges == PARTITIONS - PARTITIONS // 10 - kept
    assert in_export(folder) == on_topic(properties, topic)


def test_plans_of_other_jobs_have_few_tasks(kafka_newest: KafkaCluster, session: Session, topic: str) -> None:
    properties = kafka_newest.client_properties()
    least, full = 4 * session.parallelism, PARTITIONS - PARTITIONS // 10
    counted = plan_stats(StatsRequest(topic, properties), session=session)
    assert (len(counted.ranges), len(counted.tasks)) == (full, least + 1)
    compared = plan_verify(VerifyRequest(topic, properties, topic, properties), session=session)
    assert (len(compared.pieces), len(compared.tasks)) == (2 * full, 2 * (least + 1))
