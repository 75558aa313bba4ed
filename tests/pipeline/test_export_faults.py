"""`export` while brokers freeze and drivers are killed: it ends by its deadline, and the next run makes it whole.

Each record once is
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code
from kctl.client.errors import ApiTimeout
from kctl.grammar.properties import write_properties
from kctl.pipeline.export_files.manifests import MANIFESTS, read_manifests
from kctl.pipeline.jobs import export_rounds
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from kctl.pipeline.session_folders import PREFIX
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.processes import JobProcess
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import PLAIN_PASSWORD

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 6_000
RANGE_BYTES = 50_000
"""12 ranges: with six of them in a round two rounds."""
LIMIT_MS = 3_000


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture
def drive(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline export` into a folder as processes, each with a name for its scratch folder."""
    config = tmp_path / "client.properties"
    config.write_text(write_properties(kafka_newest.client_properties("SASL_PLAINTEXT", "PLAIN")))
    jobs: list[JobProcess] = []

    def start(name: str, folder: Path, *more: str) -> JobProcess:
        arguments = ("export", topic, "--to", str(folder), "--command-config", str(config))
        at_once = ("--master", "local[1]", "--range-size", f"{RANGE_BYTES}B")
        jobs.append(JobProcess(tmp_path / name, *arguments, *at_once, *more, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


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


def left_by(job: JobProcess) -> list[Path]:
    return sorted(path for path in job.temporary.rglob("*") if path.is_file())


def test_a_driver_that_is_killed_again_and_again(
    kafka_newest: KafkaCluster, topic: str, drive: Callable[..., JobProcess], tmp_path: Path
) -> None:
    """Once with files that no manifest has, once right after a manifest; the last run makes it whole.

    All have one temporary folder: what a killed run has left there the next one removes, and it has no secrets.
    """
    folder = tmp_path / "x"
    first = drive("jobs", folder)
    first.wait_for(lambda: len(data_files(folder)) > 2, "files of the first round")
    first.signal(signal.SIGKILL)
    first.ended()
    first.wait_for_children()
    assert data_files(folder) - of_manifests(folder), "nothing was under way"
    abandoned = set(first.temporary.glob(f"{PREFIX}*"))
    assert {path.suffix for path in abandoned} == {"", ".log"}
    left = left_by(first)
    assert "gateway" not in {path.name for path in left}, "Spark's own secret"
    assert not any(PLAIN_PASSWORD.encode() in path.read_bytes() for path in left)

    second = drive("jobs", folder)
    second.wait_for(lambda: manifests(folder) > 0, "the first manifest")
    assert not abandoned & set(second.temporary.iterdir())
    second.signal(signal.SIGKILL)
    second.ended()
    kept = read_manifests(folder)
    assert sum(each.records for manifest in kept for each in manifest.ranges) < RECORDS, "it was done already"

    last = drive("jobs", folder, "--output", "json")
    code, out = last.ended()
    assert code == 0, last.said()
    assert f'"records": {RECORDS}' not in out, "it began anew"
    assert left_by(last) == []
    assert read_manifests(folder)[: len(kept)] == kept
    check_whole(kafka_newest, topic, folder)


def test_a_frozen_broker_ends_the_job_by_its_limit_with_the_cause(
    kafka_newest: KafkaCluster, topic: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_rounds, "ROUND_TASKS", 1_000)  # one round, so that what is kept is a part of it
    folder = tmp_path / "x"
    node = kafka_newest.node(1)
    properties = {"bootstrap.servers": kafka_newest.bootstrap(), "default.api.timeout.ms": str(LIMIT_MS)}
    request = ExportRequest(Selection(topics=(topic,)), folder, properties, range_bytes=RANGE_BYTES)
    is_frozen = False

    def freeze(progress: JobProgress) -> None:
        nonlocal is_frozen
        if progress.tasks_done and not is_frozen:
            is_frozen = True
            node.freeze()

    try:
        with pytest.raises(ApiTimeout, match=r"timed out after \S+ \(default.api.timeout.ms.*\) while") as caught:
            export(request, session=session, on_progress=freeze)
        assert is_frozen
        assert exit_code(caught.value) in (ExitCode.API_TIMEOUT, ExitCode.REQUEST_TIMEOUT, ExitCode.CONNECT_TIMEOUT)
        kept = in_export(folder)
        assert 0 < len(kept) < RECORDS
    finally:
        node.thaw()
    export(request._replace(properties={"bootstrap.servers": kafka_newest.bootstrap()}), session=session)
    check_whole(kafka_newest, topic, folder)


def test_two_drivers_at_once_never_write_a_record_twice(
    kafka_newest: KafkaCluster, topic: str, drive: Callable[..., JobProcess], tmp_path: Path
) -> None:
    """The second takes the folder; the first ends with an error, and nothing of it comes in afterwards."""
    folder = tmp_path / "x"
    first = drive("first", folder)
    first.wait_for(lambda: len(data_files(folder)) > 2, "files of the first round")
    first.freeze()
    second = drive("second", folder)
    second.wait_for(lambda: manifests(folder) > 0, "the first manifest of the second")
    first.signal(signal.SIGCONT)
    code, _ = first.ended()
    assert code == ExitCode.USAGE, first.said()
    assert "another export started in" in first.said()
    code, _ = second.ended()
    assert code == 0, second.said()
    check_whole(kafka_newest, topic, folder)
