"""`kctl pipeline status`: offsets, lag, age and sizes of exports, for a person, a program and Prometheus."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin, NewTopic
from kctl.client.clock import ManualClock
from kctl.client.producer import Producer
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.status import StatusRequest, status
from kctl.pipeline.locations import DeltaTable, Location
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from tests.cli.processes import kctl
from tests.support.spark_in_process import session_in_process
from tests.unit.pipeline.lake_tables.test_table_targets import iceberg_table

NEWEST_MS = 1_700_000_000_000


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """A cluster with three records in t-0."""
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        send(served.bootstrap, 3)
        yield served.bootstrap


def send(bootstrap: str, count: int) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(count):
            producer.send("t", b"v", timestamp_ms=NEWEST_MS - number, partition=0)


def exported(bootstrap: str, location: Location) -> None:
    request = ExportRequest(Selection(topics=("t",)), location, {"bootstrap.servers": bootstrap})
    with session_in_process() as session:
        export(request, session=session)


@pytest.mark.parametrize("kind", ["folder", "delta", "iceberg"])
def test_status_of_an_export(bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    location: Location = tmp_path / "x"
    if kind != "folder":
        location = DeltaTable(str(tmp_path / "x")) if kind == "delta" else iceberg_table(tmp_path, monkeypatch)
    given = {"bootstrap.servers": bootstrap}
    with pytest.raises(FolderError, match="is not an export"):
        status(StatusRequest(location, given))
    exported(bootstrap, location)
    send(bootstrap, 2)
    found = status(StatusRequest(location, given, has_cluster=True))
    (each,) = found.partitions
    assert (each.topic, each.partition, each.offset, each.end, each.lag) == ("t", 0, 3, 5, 2)
    assert (each.newest_ms, each.state) == (NEWEST_MS, "current")
    assert (found.facts.records, found.facts.rounds) == (3, 1)
    assert found.facts.size_bytes > 100
    assert found.age_ms is not None
    (alone,) = status(StatusRequest(location, {"bootstrap.servers": "unused:1"})).partitions
    assert (alone.offset, alone.end, alone.lag, alone.state) == (3, None, None, "unknown")


def test_topic_that_is_not_the_exported_one_has_no_lag(bootstrap: str, tmp_path: Path) -> None:
    exported(bootstrap, tmp_path / "x")
    request = StatusRequest(tmp_path / "x", {"bootstrap.servers": bootstrap}, has_cluster=True)
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        admin.delete_topics(["t"]).raise_first()
        (gone,) = status(request).partitions
        assert (gone.lag, gone.state) == (None, "missing")
        admin.create_topics([NewTopic("t", 1)]).raise_first()
    (other,) = status(request).partitions
    assert (other.lag, other.state) == (None, "recreated")


def test_age_is_that_of_the_newest_record(bootstrap: str, tmp_path: Path) -> None:
    exported(bootstrap, tmp_path / "x")
    clock = ManualClock()
    (each,) = status(StatusRequest(tmp_path / "x", {}), clock).partitions
    assert each.age_ms == clock.wall_ms() - NEWEST_MS


def test_command_prints_a_table_json_and_metrics(bootstrap: str, tmp_path: Path) -> None:
    exported(bootstrap, tmp_path / "x")
    arguments = ("pipeline", "status", str(tmp_path / "x"), "-b", bootstrap)
    shown = kctl(*arguments)
    assert shown.code == 0, shown.stderr
    assert "kctl pipeline: 3 records in " in shown.stderr
    document = json.loads(kctl(*arguments, "--output", "json").stdout)
    assert document["records"] == 3
    assert document["rows"][0]["lag"] == 0
    page = kctl(*arguments, "--prometheus").stdout.decode().splitlines()
    assert 'kctl_export_offset{topic="t",partition="0"} 3' in page
    assert 'kctl_export_lag_records{topic="t",partition="0"} 0' in page
    assert f'kctl_export_newest_timestamp_seconds{{topic="t",partition="0"}} {NEWEST_MS // 1000}' in page
    assert "kctl_export_records 3" in page
    assert any(line.startswith("kctl_export_commit_timestamp_seconds ") for line in page)
    missing = kctl("pipeline", "status", str(tmp_path / "y"))
    assert missing.code == 2
    assert "is not an export" in missing.stderr
