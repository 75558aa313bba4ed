"""`export` while brokers freeze and drivers are killed: it ends by its deadline, and the next run makes it whole.

Each record once is shown by what is in the files, not by counts: offsets of all ranges, compared with the topic.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code
from kctl.client.errors import ApiTimeout
from kctl.pipeline.export_files.manifests import MANIFESTS, read_manifests
from kctl.pipeline.jobs import export as export_module
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import Progress, open_session
from kctl.pipeline.session import Session, SessionOptions
from tests.brokers.cluster import KafkaCluster
from tests.brokers.waiting import wait_until
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.processes import children_of, is_alive

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 6_000
RANGE_BYTES = 16_000
"""About 45 ranges: with one task at a time two rounds."""
LIMIT_MS = 3_000
WAIT_MS = 90_000


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture
def session() -> Iterator[Session]:
    with open_session(SessionOptions(master="local[2]"), "kctl tests") as opened:
        yield opened


class Driver:
    """`kctl pipeline export` as a process of its own, in a session of its own."""

    def __init__(self, kafka: KafkaCluster, topic: str, folder: Path, *more: str) -> None:
        arguments = [
            *("pipeline", "export", topic, "--to", str(folder), "--bootstrap", kafka.bootstrap()),
            *("--master", "local[1]", "--range-size", f"{RANGE_BYTES}B", *more),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kctl", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something while the driver runs."""

        def happened() -> bool:
            assert self.process.poll() is None, f"the driver ended before {what}: {self.process.communicate()}"
            return is_so()

        wait_until(happened, WAIT_MS, what, interval_ms=2)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal to the driver alone; return its exit status and what it said."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=WAIT_MS / 1000)
        return self.process.returncode, said


def manifests(folder: Path) -> int:
    return len(list((folder / MANIFESTS).glob("*.json"))) if folder.exists() else 0


def data_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}


def of_manifests(folder: Path) -> set[str]:
    return {f.path for manifest in read_manifests(folder) for each in manifest.ranges for f in each.files}


def check_whole(kafka: KafkaCluster, topic: str, folder: Path) -> None:
    """Every record once, by manifests and by the folder alone."""
    assert in_export(folder) == on_topic(kafka.client_properties(), topic)
    assert data_files(folder) == of_manifests(folder)


def test_a_driver_that_is_killed_again_and_again(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """Once with files that no manifest has, once right after a manifest; the last run makes it whole."""
    folder = tmp_path / "x"
    first = Driver(kafka_newest, topic, folder)
    first.wait_for(lambda: len(data_files(folder)) > 3, "files of the first round")
    started = children_of(first.process.pid)
    first.end(signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, started)), WAIT_MS, "the end of Spark after its driver's")
    assert data_files(folder) - of_manifests(folder), "nothing was under way"

    second = Driver(kafka_newest, topic, folder)
    second.wait_for(lambda: manifests(folder) > 0, "the first manifest")
    second.end(signal.SIGKILL)
    kept = read_manifests(folder)
    assert sum(each.records for manifest in kept for each in manifest.ranges) < RECORDS, "it was done already"

    last = Driver(kafka_newest, topic, folder, "--output", "json")
    out, said = last.process.communicate(timeout=WAIT_MS / 1000)
    assert last.process.returncode == 0, said
    assert f'"records": {RECORDS}' not in out, "it began anew"
    assert read_manifests(folder)[: len(kept)] == kept
    check_whole(kafka_newest, topic, folder)


def test_ctrl_c_ends_all_of_it_and_keeps_what_is_done(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    driver = Driver(kafka_newest, topic, folder, "--continuous")
    driver.wait_for(lambda: len(data_files(folder)) > 3, "files of the first round")
    started = children_of(driver.process.pid)
    assert started
    code, said = driver.end(signal.SIGINT)
    assert code == ExitCode.SIGINT, said
    assert said.splitlines()[-1] == "kctl pipeline: interrupted (Ctrl-C)"
    assert "Traceback" not in said
    assert "Exception" not in said
    wait_until(lambda: not any(map(is_alive, started)), WAIT_MS, "the end of Spark after its driver's")
    assert read_manifests(folder), "what was done is lost"
    properties = {"bootstrap.servers": kafka_newest.bootstrap()}
    with open_session(SessionOptions(master="local[2]"), "kctl tests") as session:
        export(ExportRequest(Selection(topics=(topic,)), folder, properties), session=session)
    check_whole(kafka_newest, topic, folder)


def test_a_frozen_broker_ends_the_job_by_its_limit_with_the_cause(
    kafka_newest: KafkaCluster, topic: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "ROUND_TASKS", 1_000)  # one round, so that what is kept is a part of it
    folder = tmp_path / "x"
    node = kafka_newest.node(1)
    properties = {"bootstrap.servers": kafka_newest.bootstrap(), "default.api.timeout.ms": str(LIMIT_MS)}
    request = ExportRequest(Selection(topics=(topic,)), folder, properties, range_bytes=RANGE_BYTES)
    is_frozen = False

    def freeze(progress: Progress) -> None:
        nonlocal is_frozen
        if progress.tasks_done and not is_frozen:
            is_frozen = True
            node.freeze()

    try:
        with pytest.raises(ApiTimeout, match=r"3000 ms \(--api-timeout\) passed while") as caught:
            export(request, session=session, on_progress=freeze)
        assert is_frozen
        assert exit_code(caught.value) in (ExitCode.API_TIMEOUT, ExitCode.REQUEST_TIMEOUT, ExitCode.CONNECT_TIMEOUT)
        kept = in_export(folder)
        assert 0 < len(kept) < RECORDS
    finally:
        node.thaw()
    export(request._replace(properties={"bootstrap.servers": kafka_newest.bootstrap()}), session=session)
    check_whole(kafka_newest, topic, folder)


def test_two_drivers_at_once_never_write_a_record_twice(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """The second takes the folder; the first ends with an error, and nothing of it comes in afterwards."""
    folder = tmp_path / "x"
    first = Driver(kafka_newest, topic, folder)
    first.wait_for(lambda: len(data_files(folder)) > 3, "files of the first round")
    os.killpg(first.process.pid, signal.SIGSTOP)
    second = Driver(kafka_newest, topic, folder)
    wait_until(lambda: manifests(folder) > 0, WAIT_MS, "the first manifest of the second")
    os.killpg(first.process.pid, signal.SIGCONT)
    _, said = first.process.communicate(timeout=WAIT_MS / 1000)
    assert first.process.returncode == ExitCode.USAGE, said
    assert "another export has taken" in said
    _, said = second.process.communicate(timeout=WAIT_MS / 1000)
    assert second.process.returncode == 0, said
    check_whole(kafka_newest, topic, folder)
