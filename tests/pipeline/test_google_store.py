"""Exports in Google Cloud Storage: each record once after kills of job and store; verify and import from there.

The server is moto's S3 behind a front that speaks Google's XML API, with its conditions and its names of headers. The
foreign reader is pyarrow on the S3 side, so it sees what the store has and nothing of the front.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kctl.pipeline.job_errors import StoreError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import PART_BYTES, ObjectStore
from tests.pipeline.exports import on_topic
from tests.pipeline.stored_exports import (
    SMALL,
    Drive,
    assert_one_of_two_runs_commits,
    continue_and_copy_back,
    driving,
    filled_topic,
    kill_after_a_round,
    seen_by_others,
)
from tests.support.gcs.front import GoogleFront
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.server import S3Server


@pytest.fixture(scope="module")
def google(s3: S3Server) -> Iterator[GoogleFront]:
    """The store, and what a shell would have exported for it."""
    with GoogleFront(s3.port) as front, pytest.MonkeyPatch.context() as patched:
        for name, value in front.environment.items():
            patched.setenv(name, value)
        yield front


@pytest.fixture
def drive(kafka_newest: KafkaCluster, google: GoogleFront, tmp_path: Path) -> Iterator[Drive]:
    """`kctl pipeline` as processes."""
    with driving(kafka_newest, tmp_path) as start:
        yield start


def test_export_is_continued_after_kills_of_job_and_store_verified_and_imported(
    kafka_newest: KafkaCluster, google: GoogleFront, s3: S3Server, drive: Drive
) -> None:
    url, topic = "gs://kafka/google", filled_topic(kafka_newest)

    def objects() -> set[str]:
        return {key for key in s3.keys("google") if not key.startswith("_")}

    first = drive("export", topic, "--to", url, *SMALL)
    first.wait_for(lambda: bool(objects()), "objects of the first round")
    google.kill()  # requests are cut off, and further ones refused
    google.start()
    kill_after_a_round(first, url)
    continue_and_copy_back(drive, kafka_newest, topic, url)
    assert seen_by_others(s3.files(), f"kafka/google/{topic}") == on_topic(kafka_newest.client_properties(), topic)
    assert not any(key.rpartition("/")[2].startswith(".") for key in objects())


def test_of_two_runs_at_once_one_commits_and_the_other_is_named(google: GoogleFront) -> None:
    assert_one_of_two_runs_commits("gs://kafka/two")


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
    with pytest.raises(StoreError, match=r"^gs://kafka/plain/a: the server does not use TLS$") as caught:
        ObjectStore(StoreUrl("gs://kafka/plain")).read("a")
    assert "GOOGLE_ALLOW_HTTP=true" in (caught.value.hint or "")


def test_upload_in_parts_appears_whole_and_is_copied_and_deleted(google: GoogleFront, tmp_path: Path) -> None:
    store, content = ObjectStore(StoreUrl("gs://kafka/parts")), Random(1).randbytes(2 * PART_BYTES + 1000)
    (tmp_path / "file").write_bytes(content)
    store.upload("folder/.hidden", tmp_path / "file")
    store.copy("folder/.hidden", "folder/shown")
    store.delete("folder/.hidden")
    store.delete("folder/.hidden")
    assert [(each.key, each.size_bytes) for each in store.list("folder")] == [("folder/shown", len(content))]
    with store.open("folder/shown", len(content)) as file:
        assert file.read(len(content)) == content
