"""Ctrl-C and every job as a whole process: its exit code and words, nothing left running, and the next run goes on.

All jobs are in the middle of it at once, on one broker, which then freezes: what waits for it has to end all the same.
"""

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.export_task import ExportTask, export_ranges
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import OffsetRange, Selection
from kctl.pipeline.session import Session
from kctl.pipeline.session_folders import remove_abandoned
from kctl.pipeline.targets import FileKind, FolderTarget
from kctl.pipeline.task_rounds import Attempt
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.processes import JobProcess, children_of
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 4_000
SETTINGS = {"format": "parquet", "layout": "topic"}


class Gate:
    """A Python for workers that starts only when it is let in: until then a job's tasks wait."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.program = folder / "python"
        self._asked, self._is_open = folder / "asked", folder / "open"
        lines = [
            "#!/bin/sh",
            f"touch {self._asked}",
            f'while [ ! -e {self._is_open} ]; do kill -0 "$PPID" || exit 1; sleep 0.05; done',
            f'exec {sys.executable} "$@"',
        ]
        self.program.write_text("\n".join(lines))
        self.program.chmod(0o755)

    def is_asked(self) -> bool:
        return self._asked.exists()

    def open(self) -> None:
        self._is_open.touch()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """Starts a job; its scratch folder is named as the job is."""
    jobs: list[JobProcess] = []

    def start(*arguments: str) -> JobProcess:
        jobs.append(JobProcess(tmp_path / arguments[0], *arguments, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def export_here(kafka: KafkaCluster, topic: str, path: Path) -> None:
    """Export partition 0 without Spark: the same code as in a task."""
    folder = FolderTarget(path)
    folder.claim("here", SETTINGS)
    place = folder.begin(1, FileKind("topic", "parquet", 1))
    task = ExportTask((OffsetRange(topic, 0, 0, RECORDS // 2),), place, False, dict(kafka.client_properties()), {})
    folder.commit(list(export_ranges(task, Attempt(0, 0))), SETTINGS)
    folder.leave()


def is_in_a_task(job: JobProcess) -> bool:
    """Whether a worker has been made for it: a fork of the process that makes them."""
    lines = [_command_line(pid) for pid in children_of(job.process.pid)]
    return sum("pyspark.daemon" in line for line in lines) >= 2


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""


def interrupt(job: JobProcess, *, is_impatient: bool) -> None:
    """Send Ctrl-C; again and again until the job has ended, or once."""
    job.signal(signal.SIGINT)
    if is_impatient:
        while job.process.poll() is None:
            job.signal(signal.SIGINT)


def check_ended(job: JobProcess, *, is_impatient: bool = False) -> None:
    code, out = job.ended()
    assert (code, out) == (ExitCode.SIGINT, ""), job.said()
    if not is_impatient:
        assert job.said().splitlines()[-1] == "kctl pipeline: interrupted (Ctrl-C)"
    assert "Traceback" not in job.said()
    assert "Exception" not in job.said()
    job.wait_for_children()
    assert job.started
    if is_impatient:  # who leaves at once cannot clear away; the next session does
        remove_abandoned(job.temporary)
    assert list(job.temporary.iterdir()) == []


class Jobs(NamedTuple):
    """All of them, each in the middle of it or, the mirror, between two looks."""

    export: JobProcess
    mirror: JobProcess
    import_: JobProcess
    verify: JobProcess


def all_in_the_middle(
    kafka: KafkaCluster, start: Callable[..., JobProcess], tmp_path: Path, topic: str, target: str
) -> Jobs:
    """Start all jobs; return when they are where they should be, and the broker is frozen."""
    gates = [Gate(tmp_path / f"gate-{number}") for number in range(3)]
    gated = [("--master", "local[1]", "--worker-python", str(gate.program)) for gate in gates]
    at = ("--bootstrap", kafka.bootstrap(), "--api-timeout", "120s")
    exported, copied = tmp_path / "exported", f"{topic}-copy"
    kept = ("--keep-partitions", "--keep-timestamps")
    free = ("--master", "local[1]", "--continuous")
    jobs = Jobs(
        start("export", topic, "--to", str(tmp_path / "x"), *at, *gated[0], "--continuous", "--range-size", "50000B"),
        start("mirror", topic, "--to-topic", copied, "--create", *at, *free),
        start("import", str(exported), "--to-topic", target, *kept, *at, *gated[1]),
        start("verify", topic, "--to-export", str(exported), *at, *gated[2]),
    )
    for job, gate in zip((jobs.export, *jobs[2:]), gates, strict=True):
        job.wait_for(gate.is_asked, "a task")
    jobs.mirror.wait_for_words("waiting for records")
    gates[0].open()
    jobs.export.wait_for(lambda: len(list((tmp_path / "x").rglob("*.parquet"))) > 1, "files of the export")
    kafka.node(1).freeze()
    for gate in gates[1:3]:
        gate.open()
    jobs.import_.wait_for(lambda: is_in_a_task(jobs.import_), "a worker")
    jobs.verify.wait_for(lambda: is_in_a_task(jobs.verify), "a worker")
    return jobs


def test_ctrl_c_ends_every_job_and_the_next_run_goes_on(
    kafka_newest: KafkaCluster, session: Session, start: Callable[..., JobProcess], tmp_path: Path
) -> None:
    topic, target = (kafka_newest.create_topic(partitions=2) for _ in range(2))
    produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=2)
    export_here(kafka_newest, topic, tmp_path / "exported")
    try:
        jobs = all_in_the_middle(kafka_newest, start, tmp_path, topic, target)
        impatient = (jobs.import_, jobs.mirror)
        for job in jobs:
            interrupt(job, is_impatient=job in impatient)
        for job in jobs:
            check_ended(job, is_impatient=job in impatient)
    finally:
        kafka_newest.node(1).thaw()
    for path in (tmp_path / "x").rglob("*.parquet"):
        assert pq.read_table(path).num_rows, f"{path} is half a file"
    check_next_runs(kafka_newest, session, tmp_path, topic, target)


def check_next_runs(kafka: KafkaCluster, session: Session, tmp_path: Path, topic: str, target: str) -> None:
    """Run all jobs again: nothing is missing, and what is to be there once is."""
    properties = kafka.client_properties()
    source, copied = on_topic(properties, topic), f"{topic}-copy"
    result = export(ExportRequest(Selection(topics=(topic,)), tmp_path / "x", properties), session=session)
    assert 0 < result.records < RECORDS, "what was done is lost"
    assert in_export(tmp_path / "x") == source
    mirror(MirrorRequest((topic,), properties, properties, copied), session=session)
    assert content(committed_rows(kafka, copied)) == content(source)
    request = ImportRequest(tmp_path / "exported", properties, topic=target, keep_partitions=True, keep_timestamps=True)
    import_files(request, session=session)
    there = Counter(content(on_topic(properties, target)))
    assert all(there[row] >= 1 for row in content(source) if row[0] == 0)
    assert verify(VerifyRequest(topic, properties, copied, properties), session=session).is_equal


def test_ctrl_c_while_spark_starts_ends_it_at_once(start: Callable[..., JobProcess], tmp_path: Path) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        fill(served.bootstrap, "t", {0: 10})
        job = start("export", "t", "--to", str(tmp_path / "x"), "-b", served.bootstrap, "--master", "local[1]")
        job.wait_for(lambda: bool(children_of(job.process.pid)), "the JVM")
        interrupt(job, is_impatient=False)
        check_ended(job)
