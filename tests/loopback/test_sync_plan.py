"""The plan of `sync` on a sandbox: other topics of the same name and groups of others are refused before Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.job_errors import ExportDataError, SparkSetUpError
from kctl.pipeline.jobs.export import ExportRequest
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync, sync
from kctl.pipeline.jobs.sync_checkpoint import SyncCheckpoint, SyncFacts
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import SessionOptions
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox

RECORDS = 5
TP = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            for number in range(RECORDS):
                producer.send("t", b"%d" % number, partition=0)
        with Admin({"bootstrap.servers": served.bootstrap}) as admin:
            admin.alter_group_offsets("app", {TP: 2}).raise_first()
        yield served


def request_of(served: ServedSandbox, target: Path, group: str | None = None) -> SyncRequest:
    properties = {"bootstrap.servers": served.bootstrap}
    return SyncRequest(ExportRequest(Selection(topics=("t",)), target, properties), trigger_ms=None, group=group)


def write_export(target: Path, *, end: int, topic_id: str) -> None:
    exported = ExportedRange("t", 0, 0, end, end, (), topic_id, end)
    settings = {"format": "parquet", "layout": "topic"}
    (target / MANIFESTS).mkdir(parents=True)
    (target / MANIFESTS / "00000001.json").write_text(manifest_text(Manifest(1, settings, (exported,), 1)))


def keep_start(request: SyncRequest, offset: int) -> None:
    (request.checkpoint_folder.parents[1] / MANIFESTS).mkdir(parents=True, exist_ok=True)
    facts = SyncFacts(("t",), str(request.export.folder), {TP: offset})
    SyncCheckpoint(request.checkpoint_folder).create(facts)


@pytest.mark.parametrize(
    ("end", "topic_id", "problem"),
    [
        (8, "", "t-0 ends at offset 5, but an earlier run found offset 8"),
        (8, "AAAAAAAAAAAAAAAAAAAAAQ", "topic t was deleted and recreated"),
        (3, "AAAAAAAAAAAAAAAAAAAAAQ", "topic t was deleted and recreated"),
    ],
)
def test_topic_that_was_recreated_is_refused(
    served: ServedSandbox, tmp_path: Path, end: int, topic_id: str, problem: str
) -> None:
    write_export(tmp_path, end=end, topic_id=topic_id)
    with pytest.raises(ExportDataError, match=problem) as caught:
        plan_sync(request_of(served, tmp_path))
    assert "another target" in caught.value.hint


def test_partition_that_ends_before_the_sync_began_is_refused(served: ServedSandbox, tmp_path: Path) -> None:
    request = request_of(served, tmp_path)
    keep_start(request, RECORDS)
    assert plan_sync(request).starts == {TP: RECORDS, TopicPartition("t", 1): 0}
    keep_start(request, RECORDS + 1)
    with pytest.raises(ExportDataError, match="t-0 ends at offset 5, but an earlier run found offset 6"):
        plan_sync(request)


def test_group_with_offsets_of_others_is_refused_by_a_new_sync(served: ServedSandbox, tmp_path: Path) -> None:
    assert plan_sync(request_of(served, tmp_path / "new", "unused")).offsets == RECORDS
    with pytest.raises(ConfigError, match=r"to group app: the group already has offsets, such as 2 for t-0\. "):
        plan_sync(request_of(served, tmp_path / "new", "app"))
    continued = request_of(served, tmp_path / "continued", "app")
    keep_start(continued, 0)
    assert plan_sync(continued).offsets == RECORDS
    write_export(tmp_path / "lost-checkpoint", end=3, topic_id="")
    assert plan_sync(request_of(served, tmp_path / "lost-checkpoint", "app")).resumed == 1


def test_sync_through_spark_connect_is_rejected_before_it_connects(served: ServedSandbox, tmp_path: Path) -> None:
    with pytest.raises(SparkSetUpError, match=r"^a sync cannot use Spark Connect"):
        sync(request_of(served, tmp_path / "x"), options=SessionOptions(remote="sc://localhost:1"))
