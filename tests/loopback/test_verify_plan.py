"""The plan of `verify` against an export that has grown in many rounds: its small ranges share tasks."""

from pathlib import Path

from kctl.client.producer import Producer
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify
from kctl.pipeline.session import SessionOptions
from kctl.sandbox.sandbox import Sandbox

ROUNDS = 400


def test_ranges_of_one_partition_share_tasks(tmp_path: Path) -> None:
    """Files need no consumer, which has a partition at one place only."""
    (tmp_path / MANIFESTS).mkdir()
    settings = {"format": "parquet", "layout": "topic"}
    ranges = tuple(ExportedRange("t", 0, at, at + 1, 1, ()) for at in range(ROUNDS))
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(Manifest(1, settings, ranges, 1)))
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        properties = {"bootstrap.servers": served.bootstrap}
        with Producer(properties) as producer:
            producer.send_columns("t", [b"v"] * ROUNDS, partition=0)
        plan = plan_verify(VerifyRequest("t", properties, folder=tmp_path), SessionOptions(master="local[2]"))
    ours, theirs = ([task for task in plan.tasks if task[0].is_target is side] for side in (False, True))
    assert (len(ours), len(theirs)) == (1, 8)
    assert [piece.exported for task in theirs for piece in task] == list(ranges)
