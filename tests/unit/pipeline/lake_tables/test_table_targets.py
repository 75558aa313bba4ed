"""Tables of Iceberg and Delta as targets, on the local disk: positions with the data, one of two runs, other writers.

What is in a table is read by the formats' own libraries, which know nothing of kctl.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.export_files.range_files import RangeName
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.lake_tables.table_target import TableTarget
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location
from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.targets import FileKind, files_of, open_target, read_export

SCHEMA = schema_of(COLUMN_NAMES)
DAY_US = 86_400_000_000
Open = Callable[[], TableTarget]
WANTED = [("t", 0), ("t", 1)]


@pytest.fixture(params=["iceberg", "delta"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    if request.param == "delta":
        return DeltaTable(str(tmp_path / "table"))
    return iceberg_table(tmp_path, monkeypatch)


def iceberg_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergTable:
    """Return a table of a catalog in SQLite, which a process reads from its environment when it starts."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    return IcebergTable("lake.db.orders")


def claimed(location: Location, run_id: str = "run", layout: str = "topic") -> TableTarget:
    target = open_target(location, {})
    assert isinstance(target, TableTarget)
    target.claim(run_id, {"format": "parquet", "layout": layout})
    target.resume_points(WANTED)
    return target


def written(target: TableTarget, start: int, end: int, layout: str = "topic") -> ExportedRange:
    """Write a range as a task does, a record a day."""
    name = RangeName("t", 0, start, end)
    with target.begin(1, FileKind(layout, "parquet", 1)).open(name, 0) as files:
        rows = [
            {"topic": "t", "partition": 0, "offset": offset, "timestamp": offset * DAY_US, "value": b"%d" % offset}
            for offset in range(start, end)
        ]
        files.write(pa.RecordBatch.from_pylist(rows, SCHEMA))
        return ExportedRange(*name, files.records, files.finish(), "an-id", 99)


def commit(target: TableTarget, start: int, end: int, layout: str = "topic") -> None:
    target.commit([written(target, start, end, layout)], {})


def rows(location: Location) -> list[tuple[int, bytes]]:
    """Return what the format's own library reads."""
    found: Any
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        found = load_catalog(location.catalog).load_table(location.identifier).scan().to_arrow()
    else:
        import deltalake

        found = deltalake.DeltaTable(location).to_pyarrow_table()
    return sorted((row["offset"], row["value"]) for row in found.select(["offset", "value"]).to_pylist())


def expected(*offsets: int) -> list[tuple[int, bytes]]:
    return [(offset, b"%d" % offset) for offset in offsets]


def append_as_another_program(location: Location) -> None:
    """Commit a row as a program that is no export does."""
    row = pa.Table.from_pylist([{"topic": "other", "partition": 0, "offset": 7, "timestamp": 0, "value": b"7"}], SCHEMA)
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        load_catalog(location.catalog).load_table(location.identifier).append(row)
    else:
        import deltalake

        deltalake.write_deltalake(location, row, mode="append")


@pytest.mark.parametrize("layout", ["topic", "date", "hour"])
def test_rounds_are_continued_by_the_next_run(location: Location, layout: str) -> None:
    first = claimed(location, layout=layout)
    commit(first, 0, 3, layout)
    commit(first, 3, 5, layout)
    second = claimed(location, "second", layout)
    assert second.last_number == 2
    point = second.resume_points(WANTED)[("t", 0)]
    assert point.offset == 5
    assert point.topic_id == "an-id"
    assert rows(location) == expected(*range(5))


def test_commit_logs_nothing_to_the_terminal(location: Location, caplog: pytest.LogCaptureFixture) -> None:
    commit(claimed(location), 0, 3)
    assert caplog.messages == []


def test_files_of_no_commit_are_no_part_of_the_table(location: Location) -> None:
    target = claimed(location)
    written(target, 0, 3)
    assert rows(location) == []
    assert claimed(location, "second").resume_points(WANTED) == {}


def test_of_two_runs_at_once_one_commits_and_the_other_ends(location: Location) -> None:
    first, second = claimed(location, "first"), claimed(location, "second")
    mine = written(first, 0, 3)
    commit(second, 0, 3)
    with pytest.raises(FolderError, match=r"another export has written to .* meanwhile"):
        first.commit([mine], {})
    assert rows(location) == expected(0, 1, 2)


def test_commit_of_another_program_in_between_is_no_conflict(location: Location) -> None:
    target = claimed(location)
    commit(target, 0, 3)
    append_as_another_program(location)
    commit(target, 3, 5)
    assert rows(location) == sorted([*expected(0, 1, 2, 3, 4), (7, b"7")])
    assert claimed(location, "next").resume_points(WANTED)[("t", 0)].offset == 5


def racing(target: TableTarget, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen between a target's look at its table and its commit, once."""
    name = "_commit" if isinstance(target, IcebergTarget) else "_round_of"
    whole = getattr(target, name)
    happened: list[bool] = []

    def interrupted(*arguments: object) -> object:
        found = None if isinstance(target, IcebergTarget) else whole(*arguments)
        if not happened:
            happened.append(True)
            act()
        return whole(*arguments) if isinstance(target, IcebergTarget) else found

    monkeypatch.setattr(target, name, interrupted)


def test_commit_of_another_program_within_a_commit_is_passed(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = claimed(location)
    done = written(target, 0, 3)
    racing(target, lambda: append_as_another_program(location), monkeypatch)
    target.commit([done], {})
    assert rows(location) == sorted([*expected(0, 1, 2), (7, b"7")])


def test_commit_of_another_run_within_a_commit_ends_this_one(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = claimed(location), claimed(location, "other")
    done = written(target, 0, 3)
    racing(target, lambda: commit(other, 0, 3), monkeypatch)
    with pytest.raises(FolderError, match=r"another export has written to .* meanwhile"):
        target.commit([done], {})
    assert rows(location) == expected(0, 1, 2)


def test_offsets_without_a_record_are_passed_over(location: Location) -> None:
    target = claimed(location)
    target.commit([ExportedRange("t", 0, 0, 10, 0, (), "an-id", 10)], {})
    assert claimed(location, "next").resume_points(WANTED)[("t", 0)].offset == 10


def test_records_of_a_table_are_read_back_to_be_compared(location: Location) -> None:
    target = claimed(location, layout="date")
    commit(target, 0, 3, "date")
    commit(target, 3, 5, "date")
    base = files_of(location, {})
    ranges = [each for manifest in read_export(location, {}) for each in manifest.ranges]
    assert [(each.start, each.end, each.records) for each in ranges] == [(0, 3, 3), (3, 5, 2)]
    offsets = [
        offset for each in ranges for batch in read_exported(base, each, {}) for offset in batch["offset"].to_pylist()
    ]
    assert offsets == list(range(5))


def test_files_of_another_program_cannot_be_compared(location: Location) -> None:
    commit(claimed(location), 0, 3)
    append_as_another_program(location)
    with pytest.raises(ExportDataError, match="was not written by kctl"):
        read_export(location, {})


def test_other_layout_is_refused(location: Location) -> None:
    commit(claimed(location), 0, 3)
    with pytest.raises(FolderError, match="is partitioned by nothing, which is not layout date"):
        claimed(location, "second", "date")


def test_rolled_back_table_is_exported_again_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.catalog import load_catalog

    location = iceberg_table(tmp_path, monkeypatch)
    target = claimed(location)
    commit(target, 0, 3)
    commit(target, 3, 5)
    table = load_catalog("lake").load_table("db.orders")
    table.manage_snapshots().set_current_snapshot(table.history()[0].snapshot_id).commit()
    again = claimed(location, "again")
    assert again.resume_points() == {("t", 0): ResumePoint(3, "an-id", 99)}
    commit(again, 3, 5)
    assert rows(location) == expected(*range(5))
