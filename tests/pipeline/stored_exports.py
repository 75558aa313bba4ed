"""What the tests of exports in one store or another share: a topic, jobs on it, and what holds in every store."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.dataset
import pyarrow.fs
import pytest

from kctl.pipeline.export_files.manifests import MANIFESTS
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.object_export import ObjectExport
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts
from kctl.pipeline.targets import FileKind
from tests.pipeline.exports import Row, data_of, on_topic, produce, rows_of
from tests.pipeline.processes import JobProcess
from tests.support.kafka.cluster import KafkaCluster

RECORDS = 6_000
PARTITIONS = 2
SMALL = ("--range-size", "50000B")
"""12 ranges: with six of them in a round two rounds."""
SETTINGS = {"format": "parquet", "layout": "topic"}
Drive = Callable[..., JobProcess]


def filled_topic(kafka: KafkaCluster) -> str:
    """Return a topic with RECORDS records of every kind."""
    name = kafka.create_topic(partitions=PARTITIONS)
    produce(kafka.bootstrap(), name, RECORDS, partitions=PARTITIONS)
    return name


@contextmanager
def driving(kafka: KafkaCluster, scratch: Path) -> Iterator[Drive]:
    """Yield what starts `kctl pipeline` as a process; those that still run at the end are killed."""
    jobs: list[JobProcess] = []

    def start(*arguments: str) -> JobProcess:
        at = ("-b", kafka.bootstrap(), "--master", "local[1]")
        jobs.append(JobProcess(scratch / str(len(jobs)), *arguments, *at, takes_small_steps=True))
        return jobs[-1]

    try:
        yield start
    finally:
        for job in jobs:
            job.close()


def seen_by_others(files: pyarrow.fs.FileSystem, path: str) -> list[Row]:
    """Return what a reader sees that knows nothing of kctl: all Parquet below a path but hidden names."""
    found = pyarrow.dataset.dataset(path, filesystem=files, format="parquet")
    return sorted((row for batch in found.to_batches() for row in rows_of(batch)), key=lambda row: row[:3])


def kill_after_a_round(job: JobProcess, url: str) -> None:
    """Kill an export as soon as it has committed a round."""
    store = ObjectStore(StoreUrl(url))
    job.wait_for(lambda: any(store.list(MANIFESTS)), "the first round")
    job.signal(signal.SIGKILL)
    job.ended()


def continue_and_copy_back(drive: Drive, kafka: KafkaCluster, topic: str, url: str) -> str:
    """Continue an export, verify it, and import it into another topic, which has the same records; return all said."""
    copy, said = f"{topic}-copy", []
    for arguments in (
        ("export", topic, "--to", url, *SMALL),
        ("verify", topic, "--to-export", url),
        ("import", url, "--to-topic", copy, "--create", "--keep-partitions", "--keep-timestamps"),
    ):
        job = drive(*arguments)
        assert job.ended()[0] == 0, job.said()
        said.append(job.said())
    there, here = (on_topic(kafka.client_properties(), name) for name in (copy, topic))
    assert list(map(data_of, there)) == list(map(data_of, here))
    return "".join(said)


def assert_one_of_two_runs_commits(url: str) -> None:
    """Assert that of two runs at once the first to commit does, and the other one is named."""
    runs = [ObjectExport(StoreUrl(url), StoreTimeouts()) for _ in range(2)]
    for number, run in enumerate(runs):
        run.claim(f"run-{number}", SETTINGS)
        run.begin(1, FileKind("topic", "parquet", 1))
    runs[1].commit([], SETTINGS)
    with pytest.raises(FolderError) as caught:
        runs[0].commit([], SETTINGS)
    assert str(caught.value) == f"another export wrote to {url} during this run"
