"""Exports in Google Cloud Storage: each record once after kills of job and store; verify and import from there.

The server is moto's S3 behind a front that speaks Google's XML API, with its conditions and its names of headers. The
foreign reader is pyarrow on the S3 side, so it sees what the store has and nothing of the front.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset
import pyarrow.fs
import pytest

from kctl.pipeline.export_files.manifests import MANIFESTS
from kctl.pipeline.job_errors import FolderError, StoreError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.object_export import ObjectExport
from kctl.pipeline.object_store.store import PART_BYTES, ObjectStore, StoreTimeouts
from kctl.pipeline.targets import FileKind
from tests.pipeline.exports import Row, data_of, on_topic, produce, rows_of
from tests.pipeline.processes import JobProcess
from tests.support.gcs.front import GoogleFront
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.server import ACCESS_KEY, SECRET_KEY, S3Server

RECORDS = 6_000
SETTINGS = {"format": "parquet", "layout": "topic"}


@pytest.fixture(scope="module")
def google(s3: S3Server) -> Iterator[GoogleFront]:
    """The store, and what a shell would have exported for it."""
    with GoogleFront(s3.port) as front, pytest.MonkeyPatch.context() as patched:
        for name, value in front.environment.items():
            patched.setenv(name, value)
        yield front


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture
def drive(kafka_newest: KafkaCluster, google: GoogleFront, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline` as processes."""
    jobs: list[JobProcess] = []

    def start(*arguments: str) -> JobProcess:
        at = ("-b", kafka_newest.bootstrap(), "--master", "local[1]")
        jobs.append(JobProcess(tmp_path / str(len(jobs)), *arguments, *at, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def seen_by_others(s3: S3Server, prefix: str) -> list[Row]:
    """Return what a reader sees that knows nothing of kctl: all Parquet below the prefix but hidden names."""
    files = pyarrow.fs.S3FileSystem(
        access_key=ACCESS_KEY, secret_key=SECRET_KEY, endpoint_override=s3.endpoint, scheme="http", region="us-east-1"
    )
    found = pyarrow.dataset.dataset(f"kafka/{prefix}", filesystem=files, format="parquet")
    return sorted((row for batch in found.to_batches() for row in rows_of(batch)), key=lambda row: row[:3])


def test_export_is_continued_after_kills_of_job_and_store_verified_and_imported(
    kafka_newest: KafkaCluster, google: GoogleFront, s3: S3Server, topic: str, drive: Callable[..., JobProcess]
) -> None:
    url = "gs://kafka/google"

    def objects() -> set[str]:
        return {key for key in s3.keys("google") if not key.startswith("_")}

    def finished_rounds() -> int:
        return sum(key.startswith(MANIFESTS) for key in s3.keys("google"))

    first = drive("export", topic, "--to", url, "--range-size", "50000B")
    first.wait_for(lambda: bool(objects()), "objects of the first round")
    google.kill()  # requests are cut off, and further ones refused
    google.start()
    first.wait_for(lambda: finished_rounds() == 1, "the first round")
    first.signal(signal.SIGKILL)
    first.ended()
    for arguments in (
        ("export", topic, "--to", url, "--range-size", "50000B"),
        ("verify", topic, "--to-export", url),
        ("import", url, "--to-topic", f"{topic}-copy", "--create", "--keep-partitions", "--keep-timestamps"),
    ):
        job = drive(*arguments)
        assert job.ended()[0] == 0, job.said()
    expected = on_topic(kafka_newest.client_properties(), topic)
    assert seen_by_others(s3, f"google/{topic}") == expected
    assert not any(key.rpartition("/")[2].startswith(".") for key in objects())
    copy = on_topic(kafka_newest.client_properties(), f"{topic}-copy")
    assert list(map(data_of, copy)) == list(map(data_of, expected))


def test_of_two_runs_at_once_one_commits_and_the_other_is_named(google: GoogleFront) -> None:
    url = StoreUrl("gs://kafka/two")
    runs = [ObjectExport(url, StoreTimeouts()) for _ in range(2)]
    for number, run in enumerate(runs):
        run.claim(f"run-{number}", SETTINGS)
        run.begin(1, FileKind("topic", "parquet", 1))
    runs[1].commit([], SETTINGS)
    with pytest.raises(FolderError, match="another export has written to gs://kafka/two"):
        runs[0].commit([], SETTINGS)


def test_object_that_exists_is_not_created_again(google: GoogleFront) -> None:
    store = ObjectStore(StoreUrl("gs://kafka/once"))
    store.create("a", b"first")
    store.create("a", b"first")  # as after a response that was lost
    with pytest.raises(FileExistsError):
        store.create("a", b"second")
    assert store.read("a") == b"first"


def test_server_without_tls_is_used_only_where_that_is_allowed(
    google: GoogleFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_ALLOW_HTTP")
    with pytest.raises(StoreError, match=r"^gs://kafka/plain/a: the server has no TLS$") as caught:
        ObjectStore(StoreUrl("gs://kafka/plain")).read("a")
    assert "GOOGLE_ALLOW_HTTP=true" in (caught.value.hint or "")


def test_upload_in_parts_appears_whole_and_is_copied_and_deleted(google: GoogleFront, tmp_path: Path) -> None:
    store, content = ObjectStore(StoreUrl("gs://kafka/parts")), os.urandom(2 * PART_BYTES + 1000)
    (tmp_path / "file").write_bytes(content)
    store.upload("folder/.hidden", tmp_path / "file")
    store.copy("folder/.hidden", "folder/shown")
    store.delete("folder/.hidden")
    store.delete("folder/.hidden")
    assert [(each.key, each.size_bytes) for each in store.list("folder")] == [("folder/shown", len(content))]
    with store.open("folder/shown", len(content)) as file:
        assert file.read(len(content)) == content
