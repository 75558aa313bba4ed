"""Copies that have gone past a transaction which is still open wait for its end: the topic is no other one for that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin
from kctl.client.producer import Producer
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.jobs.export import ExportRequest, plan_export
from kctl.pipeline.jobs.mirror import MirrorRequest, plan_mirror
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, create_positions_topic
from kctl.pipeline.jobs.mirror_task import choose_positions
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync
from kctl.pipeline.ranges import Selection
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.source.failures import SourceError
from kctl.pipeline.source.options import read_options
from kctl.pipeline.source.stream_reader import KctlStreamReader
from kctl.sandbox.sandbox import Sandbox

COMMITTED = "read_committed"
END = 5
"""Of the log; its last record is in an open transaction."""


@pytest.fixture
def properties() -> Iterator[dict[str, object]]:
    with Sandbox(nodes=1, topics={"t": 1, "copy": 1}).serve() as served:
        properties: dict[str, object] = {"bootstrap.servers": served.bootstrap}
        opening = {**properties, "transactional.id": "open"}
        with Producer(properties) as producer, Producer(opening) as transaction:
            for _ in range(END - 1):
                producer.send("t", b"v")
            producer.flush()
            transaction.init_transactions()
            transaction.begin_transaction()
            transaction.send("t", b"v")
            transaction.flush()
            yield properties
            transaction.abort_transaction()


def exporting(folder: Path, properties: dict[str, object], end: int) -> ExportRequest:
    """Return the export of a topic that has been exported up to an offset."""
    exported = ExportedRange("t", 0, 0, end, 0, ())
    settings = {"format": "parquet", "layout": "topic"}
    (folder / MANIFESTS).mkdir(parents=True)
    (folder / MANIFESTS / "00000001.json").write_text(manifest_text(Manifest(1, settings, (exported,), 1)))
    return ExportRequest(Selection(topics=("t",)), folder, properties)


def test_export_and_sync_that_are_past_an_open_transaction_have_nothing_to_do(
    properties: dict[str, object], tmp_path: Path
) -> None:
    request = exporting(tmp_path / "x", properties, END)
    assert plan_export(request).ranges == ()
    assert plan_sync(SyncRequest(request, tmp_path / "checkpoint")).starts == {("t", 0): END}
    further = exporting(tmp_path / "further", properties, END + 1)
    with pytest.raises(ExportDataError, match=f"ends at offset {END}, but an earlier run found offset {END + 1}"):
        plan_export(further)
    with pytest.raises(ExportDataError, match=f"ends at offset {END}, but an earlier run found offset {END + 1}"):
        plan_sync(SyncRequest(further, tmp_path / "checkpoint"))


@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("most", ["0", "1"], ids=["no limit", "limit"])
def test_a_stream_that_is_past_an_open_transaction_reads_nothing_twice(
    properties: dict[str, object], fails: str, most: str
) -> None:
    options = {"kafka.bootstrap.servers": str(properties["bootstrap.servers"]), "subscribe": "t"}
    options |= {"failOnDataLoss": fails} | ({"maxOffsetsPerTrigger": most} if most != "0" else {})
    before = KctlStreamReader(read_options(options, is_stream=True), ["value"])
    after = KctlStreamReader(read_options({**options, "kafka.isolation.level": COMMITTED}, is_stream=True), ["value"])
    try:
        seen = before.reportLatestOffset()
        assert seen["t"] == {"0": END}
        assert after.partitions(seen, seen) == []
        assert after.latestOffset() == seen
        after._goal = after._latest()
        assert after.latestOffset() == seen, "with the trigger AvailableNow"
        lost = {**seen, "t": {"0": END + 1}}
        if fails == "true":
            with pytest.raises(SourceError, match=f"ends at offset {END}, but an earlier run found offset {END + 1}"):
                after.partitions(lost, seen)
    finally:
        before.stop()
        after.stop()


def test_mirror_that_is_past_an_open_transaction_has_nothing_to_do(properties: dict[str, object]) -> None:
    request = MirrorRequest(("t",), properties, properties, "copy", name="m")
    with Admin(properties) as admin:
        create_positions_topic(admin)
    target = MirrorTarget("copy", "kctl-mirror.m.t")
    choose_positions(properties, target, {0: MirrorPosition(ResumePoint(END), "")})
    assert plan_mirror(request).ranges == ()
