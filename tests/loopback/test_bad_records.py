"""Exports of records that a target cannot hold: errors name them, lists have them, and the good ones are written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.producer import Producer
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.job_errors import RecordDataError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.export_rounds import ExportResult
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location
from kctl.pipeline.ranges import Selection
from kctl.pipeline.targets import exported_ranges
from kctl.sandbox.sandbox import Sandbox
from tests.support.spark_in_process import session_in_process

YEAR_12000_MS, NANOSECONDS = 316_517_328_000_000, 1_700_000_000_000_000_000
TIMES_MS = [1_700_000_000_000, NANOSECONDS, -1, YEAR_12000_MS, 5]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A cluster with the topic `odd`, whose records 1 and 3 have late timestamps."""
    with Sandbox(nodes=1, topics={"odd": 1}).serve() as served:
        given: dict[str, object] = {"bootstrap.servers": served.bootstrap}
        with Admin(given) as admin:
            unlimited = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
            admin.alter_configs({ConfigResource(ResourceType.TOPIC, "odd"): unlimited}).raise_first()
        with Producer(given) as producer:
            for number, at_ms in enumerate(TIMES_MS):
                producer.send("odd", b"%d" % number, timestamp_ms=at_ms, partition=0)
        yield served.bootstrap


def exported(bootstrap: str, location: Location, policy: str = "error", **options: Any) -> ExportResult:
    request = ExportRequest(
        Selection(topics=("odd",)), location, {"bootstrap.servers": bootstrap}, on_bad_record=policy, **options
    )
    with session_in_process() as session:
        return export(request, session=session)


def rows(folder: Path) -> list[tuple[int, int | None]]:
    """Return offsets and timestamps in milliseconds, read by pyarrow."""
    table = pyarrow.dataset.dataset(folder, exclude_invalid_files=True).to_table(["offset", "timestamp"])
    return offsets_and_times(table)


def offsets_and_times(table: Any) -> list[tuple[int, int | None]]:
    times = [None if us is None else us // 1000 for us in table.column("timestamp").cast("int64").to_pylist()]
    return sorted(zip(table.column("offset").to_pylist(), times, strict=True))


GOOD = [(number, at_ms) for number, at_ms in enumerate(TIMES_MS) if at_ms != NANOSECONDS]


def test_record_that_does_not_fit_is_named(bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(
        RecordDataError,
        match=rf"cannot write the record odd-0 offset 1: .* {NANOSECONDS} ms "
        rf"\(--on-bad-record",
    ):
        exported(bootstrap, tmp_path / "x")


@pytest.mark.parametrize(("policy", "kept"), [("null", sorted([*GOOD, (1, None)])), ("skip", GOOD)])
@pytest.mark.parametrize("layout", ["topic", "hour"])
def test_bad_record_is_listed_and_the_others_are_written(
    bootstrap: str, tmp_path: Path, policy: str, kept: list[tuple[int, int | None]], layout: str
) -> None:
    folder = tmp_path / "x"
    result = exported(bootstrap, folder, policy, layout=layout)
    assert (result.records, result.bad_records, result.gaps) == (5, 1, 0)
    assert rows(folder / "odd") == kept
    (wrong,) = pyarrow.dataset.dataset(next((folder / "_errors").rglob("*.parquet"))).to_table().to_pylist()
    assert (wrong["topic"], wrong["partition"], wrong["offset"], wrong["value"]) == ("odd", 0, 1, b"1")
    assert wrong["reason"] == f"the target cannot store the timestamp {NANOSECONDS} ms"
    ranges = exported_ranges(folder, "odd", {})
    read = [at for each in ranges for batch in read_exported(folder, each, {}) for at in batch["offset"].to_pylist()]
    assert read == [offset for offset, _ in kept], "import and verify read them"


@pytest.mark.parametrize("layout", ["topic", "date"])
def test_json_lines_hold_every_timestamp(bootstrap: str, tmp_path: Path, layout: str) -> None:
    folder = tmp_path / "x"
    assert exported(bootstrap, folder, format="json", layout=layout).bad_records == 0
    read = [
        row
        for each in exported_ranges(folder, "odd", {})
        for batch in read_exported(folder, each, {})
        for row in zip(batch["offset"].to_pylist(), batch["timestamp"].view("int64").to_pylist(), strict=True)
    ]
    assert read == [*enumerate(TIMES_MS)]


def test_bad_records_of_a_table_are_in_its_table_of_errors(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import deltalake

    table = tmp_path / "table"
    assert exported(bootstrap, DeltaTable(str(table)), "skip").bad_records == 1
    assert offsets_and_times(deltalake.DeltaTable(table).to_pyarrow_table()) == GOOD
    assert deltalake.DeltaTable(f"{table}_errors").to_pyarrow_table().column("offset").to_pylist() == [1]

    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    assert exported(bootstrap, IcebergTable("lake.db.odd"), "null", layout="hour").bad_records == 2
    catalog = pyiceberg.catalog.load_catalog("lake")
    found = offsets_and_times(catalog.load_table("db.odd").scan().to_arrow())
    assert found == [(0, TIMES_MS[0]), (1, None), (2, -1), (3, None), (4, 5)]
    wrong = catalog.load_table("db.odd_errors").scan().to_arrow()
    assert sorted(wrong.column("offset").to_pylist()) == [1, 3]
