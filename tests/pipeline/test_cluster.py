"""Jobs on a standalone cluster: kctl ships itself, and a worker that is killed costs nothing but its time.

The workers' Python sees pyarrow and nothing else, so what runs there of kctl and its dependencies was shipped.
"""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kctl.pipeline import running as running_module
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import Progress, open_session
from kctl.pipeline.session import Session, SessionOptions
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.standalone import StandaloneCluster
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 8_000
RANGE_BYTES = 40_000
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def standalone(local_spark: LocalSpark) -> Iterator[StandaloneCluster]:
    local_spark.close()
    with StandaloneCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def worker_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without site-packages, which sees pyarrow alone."""
    folder = tmp_path_factory.mktemp("python")
    return _interpreter(folder, "pyarrow")


def _interpreter(folder: Path, *packages: str) -> str:
    (folder / "lib").mkdir()
    for name in packages:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).parent
        (folder / "lib" / name).symlink_to(source)
        for facts in source.parent.glob(f"{name}-*.dist-info"):
            (folder / "lib" / facts.name).symlink_to(facts)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}/lib" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return str(program)


def options_for(standalone: StandaloneCluster, worker_python: str) -> SessionOptions:
    memory = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    return SessionOptions(standalone.master, memory, worker_python=worker_python)


class Killer:
    """Kills a worker once when a job is so far, and starts it again at once."""

    def __init__(self, standalone: StandaloneCluster, worker: int, is_so_far: Callable[[Progress], bool]) -> None:
        self._standalone = standalone
        self._worker = worker
        self._is_so_far = is_so_far
        self.killed_at: Progress | None = None
        self.lost_tasks = 0

    def __call__(self, progress: Progress) -> None:
        self.lost_tasks = max(self.lost_tasks, progress.lost_tasks)
        if self.killed_at is None and self._is_so_far(progress):
            self.killed_at = progress
            self._standalone.workers[self._worker].kill()
            self._standalone.start_worker(self._worker)


def test_a_worker_is_killed_in_the_middle_of_export_and_mirror(
    kafka_newest: KafkaCluster,
    standalone: StandaloneCluster,
    worker_python: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirror_module, "COMMIT_ROWS", 100)
    monkeypatch.setattr(mirror_module, "LOOK_EVERY_MS", 0)
    monkeypatch.setattr(running_module, "TRACK_EVERY_MS", 0)
    topic, target = (kafka_newest.create_topic(partitions=2) for _ in range(2))
    produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=2)
    folder = tmp_path / "x"
    properties = kafka_newest.client_properties()
    request = ExportRequest(Selection(topics=(topic,)), folder, properties, range_bytes=RANGE_BYTES)
    with open_session(options_for(standalone, worker_python), "kctl tests") as session:
        assert session.parallelism == 2
        kill = Killer(standalone, 1, lambda progress: progress.tasks_done > 3)
        result = export(request, session=session, on_progress=kill)
        assert kill.killed_at is not None
        assert 3 < kill.killed_at.tasks_done < kill.killed_at.tasks
        assert result.records == RECORDS
        expected = on_topic(properties, topic)
        assert in_export(folder) == expected
        copy = ImportRequest(folder, properties, topic=target, keep_partitions=True, keep_timestamps=True)
        assert import_files(copy, session=session).records == RECORDS
        assert on_topic(properties, target) == [row._replace(topic=target) for row in expected]
        executors = session.context._jsc.sc().getExecutorMemoryStatus
        wait_until(lambda: int(executors().size()) == 1 + 2, WAIT_MS, "the worker that was killed")
        check_mirror(kafka_newest, standalone, session, topic)
        assert verify(VerifyRequest(topic, properties, f"{topic}-mirror", properties), session=session).is_equal
        assert verify(VerifyRequest(topic, properties, folder=folder), session=session).is_equal
    for number in range(2):
        standalone.wait_for_worker(number)


def check_mirror(kafka: KafkaCluster, standalone: StandaloneCluster, session: Session, topic: str) -> None:
    """Mirror while a worker is killed, between two transactions of its task or in one.

    It is the one that was not killed before: the other is still starting when this one has a task in its middle.
    """
    properties = kafka.client_properties()
    request = MirrorRequest((topic,), properties, properties, f"{topic}-mirror", create=True)
    kill = Killer(standalone, 0, lambda progress: progress.phase == "mirroring" and progress.records > 0)
    result = mirror(request, session=session, on_progress=kill)
    assert kill.killed_at is not None
    assert (kill.killed_at.tasks_done, kill.killed_at.records < RECORDS, kill.lost_tasks > 0) == (0, True, True)
    assert (result.offsets, result.records < RECORDS) == (RECORDS, True), "what was committed was written again"
    assert content(committed_rows(kafka, f"{topic}-mirror")) == content(on_topic(properties, topic))


def test_workers_that_cannot_run_it_are_told_before_any_work(standalone: StandaloneCluster, tmp_path: Path) -> None:
    bare = _interpreter(tmp_path)
    with (
        pytest.raises(SparkSetUpError, match=r"worker on .* has no pyarrow"),
        open_session(options_for(standalone, bare), "kctl tests"),
    ):
        pytest.fail("it has started")
