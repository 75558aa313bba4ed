"""Jobs on a standalone cluster: kctl ships itself, and a worker that is killed costs nothing but its time.

The workers' Python sees pyarrow and nothing else, so what runs there of kctl and its dependencies was shipped.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.report.job import plan_report, run_report
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import Progress, open_session
from kctl.pipeline.session import SessionOptions
from tests.brokers.cluster import KafkaCluster
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.standalone import StandaloneCluster
from tests.unit.pipeline.report.fleets import NodeTruth, probe_lines, write

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 6_000
RANGE_BYTES = 16_000


@pytest.fixture(scope="module")
def standalone() -> Iterator[StandaloneCluster]:
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


def test_a_worker_is_killed_in_mid_export_and_the_import_brings_it_back(
    kafka_newest: KafkaCluster, standalone: StandaloneCluster, worker_python: str, tmp_path: Path
) -> None:
    topic, target = (kafka_newest.create_topic(partitions=2) for _ in range(2))
    produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=2)
    folder = tmp_path / "x"
    properties = kafka_newest.client_properties()
    request = ExportRequest(Selection(topics=(topic,)), folder, properties, range_bytes=RANGE_BYTES)
    killed_at: list[Progress] = []

    def kill(progress: Progress) -> None:
        if progress.tasks_done > 3 and not killed_at:
            killed_at.append(progress)
            standalone.workers[1].kill()

    with open_session(options_for(standalone, worker_python), "kctl tests") as session:
        assert session.parallelism == 2
        result = export(request, session=session, on_progress=kill)
        assert killed_at
        assert 3 < killed_at[0].tasks_done < killed_at[0].tasks
        assert result.records == RECORDS
        expected = on_topic(properties, topic)
        assert in_export(folder) == expected
        copy = ImportRequest(folder, properties, topic=target, keep_partitions=True, keep_timestamps=True)
        assert import_files(copy, session=session).records == RECORDS
        assert on_topic(properties, target) == [row._replace(topic=target) for row in expected]
        mirror(MirrorRequest((topic,), properties, properties, f"{topic}-mirror", create=True), session=session)
        assert verify(VerifyRequest(topic, properties, f"{topic}-mirror", properties), session=session).is_equal
        assert verify(VerifyRequest(topic, properties, folder=folder), session=session).is_equal
        write(tmp_path / "probed.jsonl", probe_lines([NodeTruth("a:9092")], Random(1), 10))
        plan = plan_report([tmp_path / "probed.jsonl"], spark=True)
        assert run_report(plan, session=session).places[0].rounds == 10
    standalone.start_worker(1)
    standalone.wait_for_worker(1)


def test_workers_that_cannot_run_it_are_told_before_any_work(standalone: StandaloneCluster, tmp_path: Path) -> None:
    bare = _interpreter(tmp_path)
    with (
        pytest.raises(SparkSetUpError, match=r"worker on .* has no pyarrow"),
        open_session(options_for(standalone, bare), "kctl tests"),
    ):
        pytest.fail("it has started")
