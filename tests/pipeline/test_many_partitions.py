"""Jobs on many small partitions: few tasks, each record once, also where a worker dies in the middle of one."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kctl.client.producer import Producer
from kctl.pipeline.export_files.manifests import ExportedRange, read_manifests
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.jobs import export_rounds
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs import replay as replay_module
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.export_task import ExportTask, export_ranges
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_task import MirrorTask, mirror_ranges
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.pipeline.jobs.replay_task import Replayed, replay_ranges
from kctl.pipeline.jobs.stats import StatsRequest, plan_stats, stats
from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from kctl.pipeline.task_rounds import Attempt
from tests.pipeline.copies import committed_rows, content
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
    monkeypatch.setattr(export_rounds, "export_ranges", dying_once)
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
    monkeypatch.setattr(export_rounds, "export_ranges", failing)
    with pytest.raises(ExportDataError, match="on purpose"):
        export(request, session=session)
    kept = sum(len(manifest.ranges) for manifest in read_manifests(folder))
    assert kept >= DIES_AFTER
    monkeypatch.undo()
    rest = export(request, session=session)
    assert rest.ranges == PARTITIONS - PARTITIONS // 10 - kept
    assert in_export(folder) == on_topic(properties, topic)


def killed_at_a_commit(
    tasks: Sequence[Any],
    attempt: Attempt,
    *,
    work: Callable[[Sequence[Any], Attempt], Iterator[Any]],
    is_open: bool,
) -> Iterator[Any]:
    """Do the work of a task, but for the first attempt at the first task, which dies at its third transaction.

    Args: is_open: whether that stays open.
    """
    offsets = tasks[0].range if isinstance(tasks[0], MirrorTask) else tasks[0].offsets
    if attempt.number == 0 and offsets.partition == 0:
        commit, commits = Producer.commit_transaction, []

        def killed(self: Producer, timeout: float | None = None) -> None:
            commits.append(1)
            if is_open and len(commits) == 3:
                self.flush(30)
                os.kill(os.getpid(), signal.SIGKILL)
            commit(self, timeout)
            if len(commits) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        Producer.commit_transaction = killed  # type: ignore[method-assign,assignment]  # of a worker that dies of it
    return work(tasks, attempt)


FEW = 24
"""Partitions: three for each of eight tasks."""


@pytest.fixture(scope="module")
def small_topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=FEW)
    with Producer({"bootstrap.servers": kafka_newest.bootstrap()}) as producer:
        for partition in range(FEW):
            values = [b"%d of %d" % (number, partition) for number in range(EACH)]
            producer.send_columns(name, values, partition=partition)
    return name


def test_mirror_has_few_tasks_and_each_record_once_though_a_worker_dies(
    kafka_newest: KafkaCluster, session: Session, small_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = kafka_newest.client_properties()
    request = MirrorRequest((small_topic,), given, given, f"{small_topic}-copy", create=True)
    least = 4 * session.parallelism
    assert [len(each) for each in plan_mirror(request, session=session).tasks] == [FEW // least] * least
    monkeypatch.setattr(mirror_module, "mirror_ranges", partial(killed_at_a_commit, work=mirror_ranges, is_open=True))
    seen: list[JobProgress] = []
    done = mirror(request, session=session, on_progress=seen.append)
    assert (done.records, done.transactions, done.partitions) == (FEW * EACH, FEW, FEW)
    assert max(each.tasks for each in seen) == least
    assert content(committed_rows(kafka_newest, f"{small_topic}-copy")) == content(on_topic(given, small_topic))


def test_replay_has_few_tasks_and_each_record_once_though_a_worker_dies(
    kafka_newest: KafkaCluster, session: Session, small_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, target = kafka_newest.client_properties(), kafka_newest.create_topic(partitions=1)
    request = ReplayRequest(small_topic, given, given, to_topic=target)
    # An open transaction hides the positions of all tasks: those that wait for them leave the next attempt no slot.
    monkeypatch.setattr(replay_module, "replay_ranges", partial(killed_at_a_commit, work=replay_ranges, is_open=False))
    seen: list[JobProgress] = []
    done = replay(request, session=session, on_progress=seen.append)
    assert done == Replayed(FEW * EACH, ((target, FEW * EACH),))
    assert max(each.tasks for each in seen) == 4 * session.parallelism
    values = sorted(row.value or b"" for row in committed_rows(kafka_newest, target))
    assert values == sorted(row.value or b"" for row in on_topic(given, small_topic))
    assert replay(request, session=session) == Replayed(resumed=True)


def test_plans_of_other_jobs_have_few_tasks(kafka_newest: KafkaCluster, session: Session, topic: str) -> None:
    properties = kafka_newest.client_properties()
    least, full = 4 * session.parallelism, PARTITIONS - PARTITIONS // 10
    counted = plan_stats(StatsRequest(topic, properties), session=session)
    assert (len(counted.ranges), len(counted.tasks)) == (full, least + 1)
    compared = plan_verify(VerifyRequest(topic, properties, topic, properties), session=session)
    assert (len(compared.pieces), len(compared.tasks)) == (2 * full, 2 * (least + 1))
