"""Exports in Azure Blob Storage, with Azurite as the server and pyarrow as the foreign reader: each record once.

Needs Node.js for Azurite, so `make soak-lakes` runs it and no tier of CI does.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kctl.pipeline.export_files.manifests import MANIFESTS
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.object_export import ObjectExport
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts
from kctl.pipeline.targets import FileKind
from tests.pipeline.exports import Row, on_topic, produce, rows_of
from tests.pipeline.processes import JobProcess
from tests.support.azure import CONTAINER, KEY, AzureServer, installed_azurite
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have

RECORDS = 6_000
SETTINGS = {"format": "parquet", "layout": "topic"}


@pytest.fixture(scope="module")
def azure() -> Iterator[AzureServer]:
    with AzureServer(have(installed_azurite)) as server, pytest.MonkeyPatch.context() as patched:
        for name, value in server.environment.items():
            patched.setenv(name, value)
        yield server


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture
def drive(kafka_newest: KafkaCluster, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline` as processes."""
    jobs: list[JobProcess] = []

    def start(*arguments: str) -> JobProcess:
        at = ("-b", kafka_newest.bootstrap(), "--master", "local[1]")
        jobs.append(JobProcess(tmp_path / str(len(jobs)), *arguments, *at, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def seen_by_others(azure: AzureServer, prefix: str) -> list[Row]:
    """Return what a reader sees that knows nothing of kctl: all Parquet below the prefix but hidden names."""
    found = ds.dataset(f"{CONTAINER}/{prefix}", filesystem=azure.files(), format="parquet")
    return sorted((row for batch in found.to_batches() for row in rows_of(batch)), key=lambda row: row[:3])


def test_killed_export_is_continued_verified_and_imported(
    kafka_newest: KafkaCluster, azure: AzureServer, topic: str, drive: Callable[..., JobProcess]
) -> None:
    url = azure.url("whole")
    store = ObjectStore(StoreUrl(url))
    first = drive("export", topic, "--to", url, "--range-size", "50000B")
    first.wait_for(lambda: any(store.list(MANIFESTS)), "the first round")
    first.signal(signal.SIGKILL)
    first.ended()
    said = [first.said()]
    for arguments in (
        ("export", topic, "--to", url, "--range-size", "50000B"),
        ("verify", topic, "--to-export", url),
        ("import", url, "--to-topic", f"{topic}-copy", "--create", "--keep-partitions", "--keep-timestamps"),
    ):
        job = drive(*arguments)
        assert job.ended()[0] == 0, job.said()
        said.append(job.said())
    assert seen_by_others(azure, f"whole/{topic}") == on_topic(kafka_newest.client_properties(), topic)
    there, here = (on_topic(kafka_newest.client_properties(), name) for name in (f"{topic}-copy", topic))
    assert [row[1:] for row in there] == [row[1:] for row in here]
    assert KEY not in "".join(said)


def test_of_two_runs_at_once_one_commits_and_the_other_is_named(azure: AzureServer) -> None:
    url = StoreUrl(azure.url("two"))
    runs = [ObjectExport(url, StoreTimeouts()) for _ in range(2)]
    for number, run in enumerate(runs):
        run.claim(f"run-{number}", SETTINGS)
        run.begin(1, FileKind("topic", "parquet", 1))
    runs[1].commit([], SETTINGS)
    with pytest.raises(FolderError, match="another export has written to abfs://"):
        runs[0].commit([], SETTINGS)
