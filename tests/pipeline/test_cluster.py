"""Jobs on a standalone cluster: kctl ships itself, and a worker that is killed costs nothing but its time.

The workers' Python sees pyarrow and nothing else, so what runs there of kctl and its dependencies was shipped.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.client.producer import Producer
from kctl.grammar.durations import parse_duration_ms
from kctl.pipeline import running as running_module
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import JobProgress, open_session
from kctl.pipeline.session import Session, SessionOptions
from tests.pipeline.bare_python import bare_interpreter
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.spark_classes import spark_java
from tests.pipeline.standalone import StandaloneCluster
from tests.pipeline.striking import Strike, byte_quota, replicate_positions
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.security import SCRAM_USER
from tests.support.kafka.waiting import wait_until
from tests.support.kafka.wire import active_controller

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 8_000
RANGE_BYTES = 40_000
WAIT_MS = bound(60_000)
QUOTA_BYTES = 100_000
API_TIMEOUT_MS = 15_000
"""Longer than it takes to kill an executor whose task has begun."""


@pytest.fixture(scope="module")
def standalone(local_spark: LocalSpark) -> Iterator[StandaloneCluster]:
    local_spark.close()
    with StandaloneCluster(executor_java=spark_java()) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def worker_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without site-packages, which sees pyarrow alone."""
    folder = tmp_path_factory.mktemp("python")
    return bare_interpreter(folder, "pyarrow")


def options_for(standalone: StandaloneCluster, worker_python: str) -> SessionOptions:
    memory = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    return SessionOptions(standalone.master, memory, worker_python=worker_python)


class Killer:
    """Kills a worker once when a job is so far, and starts it again at once."""

    def __init__(self, standalone: StandaloneCluster, worker: int, is_so_far: Callable[[JobProgress], bool]) -> None:
        self._standalone = standalone
        self._worker = worker
        self._is_so_far = is_so_far
        self.killed_at: JobProgress | None = None
        self.lost_tasks = 0

    def __call__(self, progress: JobProgress) -> None:
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
        executors = session.spark().sparkContext._jsc.sc().getExecutorMemoryStatus
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
    assert (result.offsets, result.records) == (RECORDS, RECORDS), "the killed attempt counts, too"
    assert content(committed_rows(kafka, f"{topic}-mirror")) == content(on_topic(properties, topic))


def killed_controller(kafka: KafkaCluster) -> KafkaNode:
    """Kill the broker that is the active controller; return it."""
    running = next(node for node in kafka.nodes if node.process.is_running)
    node = kafka.node(active_controller(running.ports["PLAINTEXT"]))
    node.kill()
    return node


def test_jobs_over_tls_outlast_quotas_skew_and_a_killed_controller(
    kafka_three: KafkaCluster,
    standalone: StandaloneCluster,
    worker_python: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker that is killed while a mirror reads and writes leads the partition with most records, too."""
    monkeypatch.setattr(mirror_module, "COMMIT_ROWS", 200)
    monkeypatch.setattr(mirror_module, "LOOK_EVERY_MS", 0)
    kafka = kafka_three
    topic, target = (kafka.create_topic(partitions=3, replication=3) for _ in range(2))
    replicate_positions(kafka)
    produce(kafka.bootstrap(), topic, 5_000, partitions=1)
    produce(kafka.bootstrap(), topic, 300, partitions=3, first=5_000)
    properties: dict[str, object] = {**kafka.client_properties("SASL_SSL", "SCRAM-SHA-512"), "max.block.ms": 60_000}
    (tmp_path / "jaas").write_text(str(properties["sasl.jaas.config"]))
    properties["sasl.jaas.config"] = f"file:{tmp_path}/jaas"
    exporting = ExportRequest(Selection(topics=(topic,)), tmp_path / "x", properties, range_bytes=RANGE_BYTES)
    mirroring = MirrorRequest((topic,), properties, properties, target)
    killed: list[KafkaNode] = []
    kill = Strike(
        lambda progress: progress.phase == "mirroring" and progress.records > 0,
        lambda: killed.append(killed_controller(kafka)),
    )
    with (
        open_session(options_for(standalone, worker_python), "kctl tests") as session,
        byte_quota(kafka, SCRAM_USER, QUOTA_BYTES),
    ):
        assert export(exporting, session=session).records == 5_300
        kafka.move_leader(topic, 0, kafka.node(active_controller(kafka.nodes[0].ports["PLAINTEXT"])))
        try:
            assert mirror(mirroring, session=session, on_progress=kill).offsets == 5_300
        finally:
            for node in killed:
                node.start()
    assert kill.struck_at is not None
    assert kill.struck_at.records < 5_300
    expected = on_topic(kafka.client_properties(), topic)
    assert in_export(tmp_path / "x") == expected
    assert content(committed_rows(kafka, target)) == content(expected)


def test_attempt_after_a_lost_executor_has_the_whole_timeout_while_a_broker_is_stopped(
    kafka_three: KafkaCluster, standalone: StandaloneCluster, tmp_path: Path
) -> None:
    """The executor is killed while its task waits; what the driver raises is the second attempt's own timeout."""
    topic = kafka_three.create_topic(partitions=1, replication=1)
    with Producer(kafka_three.client_properties()) as producer:
        producer.send(topic, b"value")
    leader = kafka_three.leader(topic)
    program = [sys.executable, str(Path(__file__).with_name("retrying.py")), standalone.master]
    with subprocess.Popen(
        [*program, kafka_three.bootstrap(), topic, f"{API_TIMEOUT_MS}ms", tmp_path.as_uri()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": spark_java()},
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert json.loads(process.stdout.readline()) == {"planned": 1, "loaded": [True]}
            leader.stop()
            process.stdin.write("read\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == "running"
            assert standalone.kill_executors() == 1
            reason = json.loads(process.stdout.readline())
        finally:
            process.kill()
            if not leader.process.is_running:
                leader.start()
    waited = re.match(r"ApiTimeout: timed out after (\S+) \(default\.api\.timeout\.ms ?(\S*)\) while (.*)", reason)
    assert waited is not None, reason
    assert parse_duration_ms(waited[2] or waited[1]) == API_TIMEOUT_MS
    assert f"waiting for offset 0 of {topic}-0" in waited[3]
    attempts = failed_attempts(tmp_path)
    assert [each["Task End Reason"]["Reason"] for each in attempts[:2]] == ["ExecutorLostFailure", "ExceptionFailure"]
    assert len(attempts) == 4
    first_timeout = attempts[1]["Task Info"]
    assert first_timeout["Finish Time"] - first_timeout["Launch Time"] >= API_TIMEOUT_MS


def failed_attempts(events: Path) -> list[Any]:
    """Return Spark's events of the ends of attempts that failed, in their order."""
    (log,) = events.iterdir()
    ends = [json.loads(line) for line in log.read_text().splitlines() if '"SparkListenerTaskEnd"' in line]
    failed = [each for each in ends if each["Task Info"]["Failed"]]
    return sorted(failed, key=lambda each: each["Task Info"]["Attempt"])


def test_source_reads_once_and_writes_all_where_spark_speculates(
    kafka_newest: KafkaCluster, standalone: StandaloneCluster, tmp_path: Path
) -> None:
    source, target = (kafka_newest.create_topic(partitions=2) for _ in range(2))
    with Producer(kafka_newest.client_properties()) as producer:
        for number in range(600):
            producer.send(source, b"%d" % number, partition=number % 2)
    program = [sys.executable, str(Path(__file__).with_name("speculating.py")), standalone.master]
    ended = subprocess.run(
        [*program, kafka_newest.bootstrap(), source, target, str(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_MS * 3 / 1000,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": spark_java()},
    )
    assert ended.returncode == 0, ended.stderr.decode()[-4000:]
    values = sorted(str(number) for number in range(600))
    assert sorted(json.loads(ended.stdout)) == values
    stages = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert {path.name for path in tmp_path.glob("*-0-1")} == {f"{stage}-0-1" for stage in stages}
    assert len(stages) == 2, "a read and a write"
    written = [(row.value or b"").decode() for row in on_topic(kafka_newest.client_properties(), target)]
    assert sorted(set(written)) == values, "at least once"


def test_workers_that_cannot_run_it_are_told_before_any_work(standalone: StandaloneCluster, tmp_path: Path) -> None:
    bare = bare_interpreter(tmp_path)
    with (
        pytest.raises(SparkSetUpError, match=r"worker on .* does not have pyarrow"),
        open_session(options_for(standalone, bare), "kctl tests"),
    ):
        pytest.fail("it has started")
