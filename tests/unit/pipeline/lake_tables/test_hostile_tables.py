"""Tables whose metadata was written by another program, or to mislead: what an import or a comparison refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyiceberg.catalog
import pytest

from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.lake_tables.delta import BY_TIME, _newest_in
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.lake_tables.table_files import LiveFile, manifest_of, partitions_in
from kctl.pipeline.lake_tables.table_target import POSITIONS, ROUND, RUN, files_from
from kctl.pipeline.locations import DeltaTable
from kctl.pipeline.targets import open_target, read_raw_export
from tests.unit.pipeline.lake_tables.test_table_targets import iceberg_table

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

DIGEST = "0" * 32


def name_of(partition: object = 0, start: object = 0, end: object = 10) -> str:
    return f"t-{partition}-{start}-{end}.{DIGEST}.parquet"


@pytest.mark.parametrize(
    ("path", "records", "size_bytes", "reason"),
    [
        (f"../secret/{name_of()}", 10, 1, "is outside of the export"),
        (f"t/../../secret/{name_of()}", 10, 1, "is outside of the export"),
        (f"/etc/{name_of()}", 10, 1, "is outside of the export"),
        (f"file:///etc/{name_of()}", 10, 1, "'file:' is not a valid topic name"),
        (f"s3://another/{name_of()}", 10, 1, "'s3:' is not a valid topic name"),
        (f"\x1b[31m\nt/{name_of()}", 10, 1, r"'\\x1b\[31m\\nt' is not a valid topic name"),
        ("\x1b[31m\nt/a.parquet", 10, 1, "was not written by kctl"),
        (f"t/{name_of(partition=2**31)}", 10, 1, "invalid range of t-2147483648"),
        (f"t/{name_of(partition='9' * 5000)}", 10, 1, "is not an export file"),
        (f"t/{name_of(end=2**63)}", 10, 1, "invalid range of t-0: offsets 0 to 9223372036854775808"),
        (f"t/{name_of(start=11)}", 10, 1, "invalid range of t-0: offsets 11 to 10"),
        (f"t/{name_of(end='9' * 4000)}", 10, 1, "invalid range of t-0: offsets 0 to 9999"),
        (f"t/{name_of()}", -1, 1, "invalid size of a file: 1 bytes and -1 records"),
        (f"t/{name_of()}", 11, 1, "invalid range of t-0: offsets 0 to 10 with 11 records"),
        (f"t/{name_of()}", None, 1, "is not an export file"),
        (f"t/{name_of()}", 10, "x", "is not an export file"),
        (f"t/{name_of()}", 10, -1, "invalid size of a file: -1 bytes and 10 records"),
        (f"t/{name_of()}", 10, 2**63, "invalid size of a file: 9223372036854775808 bytes"),
    ],
)
def test_file_that_no_export_writes_is_refused(path: str, records: Any, size_bytes: Any, reason: str) -> None:
    with pytest.raises(ExportDataError, match=reason) as caught:
        manifest_of([(path, records, size_bytes)], {})
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["t-0-0-10", "t-0-5-15"], "offset 5 of t-0 in two ranges"),
        (["t-0-0-10", "t-0-0-5"], "offset 0 of t-0 in two ranges"),
        (["t-0-0-10", "t-0-0-10"], "2 files have the name 't/t-0-0-10.parquet' and differ only in the digest"),
        (["t-0-0-10.1", "t-0-0-10.2", "t-0-0-10.3"], "invalid range of t-0: offsets 0 to 10 with 12 records"),
    ],
)
def test_table_that_has_records_twice_is_refused(names: list[str], reason: str) -> None:
    files = [(f"t/{name}.{number:032x}.parquet", 4, 1) for number, name in enumerate(names)]
    with pytest.raises(ExportDataError, match=reason):
        manifest_of(files, {})
    others = [
        (f"t/{name.replace('-0-', f'-{number}-', 1)}.{DIGEST}.parquet", 4, 1) for number, name in enumerate(names)
    ]
    assert len(manifest_of(others, {})[0].ranges) == len(names)


def test_file_of_a_delta_table_without_a_count_of_records_is_refused(tmp_path: Path) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    columns = [("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())]
    deltalake.DeltaTable.create(location, pa.schema(columns))
    add = {"path": f"t/{name_of()}", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    (tmp_path / "table/_delta_log/00000000000000000001.json").write_text(json.dumps({"add": add}))
    with pytest.raises(ExportDataError, match="is not an export file"):
        read_raw_export(location, {})


@pytest.mark.parametrize("size", [-1, -(2**63)])
def test_file_of_a_delta_table_with_a_negative_size_is_refused(tmp_path: Path, size: int) -> None:
    """A file that is missing has the size -1 where sizes are compared."""
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    columns = [("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())]
    deltalake.DeltaTable.create(location, pa.schema(columns))
    add = {"path": f"t/{name_of()}", "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    add["stats"] = json.dumps({"numRecords": 10})
    (tmp_path / "table/_delta_log/00000000000000000001.json").write_text(json.dumps({"add": add}))
    with pytest.raises(
        ExportDataError, match=f"is not an export file: ValueError: invalid size of a file: {size} bytes"
    ):
        read_raw_export(location, {})


def test_file_of_a_partition_that_cannot_exist_has_no_wanted_partition() -> None:
    name = f"t/{name_of(partition='9' * 5000)}"
    assert partitions_in([LiveFile(name, (None, None), (None, None))], [("t", 0)]) == set()


def test_partitions_of_many_files_are_searched_once() -> None:
    class Wanted(list[tuple[str, int]]):
        passes = 0

        def __iter__(self) -> Iterator[tuple[str, int]]:
            self.passes += 1
            return super().__iter__()

    wanted = Wanted(("t", number) for number in range(200))
    files = [LiveFile(f"t/{name_of(partition=number)}", (None, None), (None, None)) for number in range(100)]
    assert partitions_in(files, wanted) == {("t", number) for number in range(100)}
    assert wanted.passes <= 2
    bounds = [LiveFile("t/compacted.parquet", ("t", "t"), (number, number)) for number in range(100)]
    assert partitions_in(bounds, wanted) == {("t", number) for number in range(100)}
    assert partitions_in([LiveFile("t/compacted.parquet", (None, None), (None, None))], wanted) == set(wanted)


@pytest.mark.parametrize("version", ["", "x", "9" * 5000, None])
def test_delta_table_restored_to_an_unknown_version_has_no_known_commit(version: str | None) -> None:
    commits = [{"version": 3, "operation": "RESTORE", "operationParameters": {"version": version}}]
    assert _newest_in([*commits, {"version": 1, RUN: "run"}]) == (None, BY_TIME)


@pytest.mark.parametrize("text", ["", "one", "-1", "9" * 5000, "\x1b[31m"])
def test_round_of_an_iceberg_table_that_is_no_number_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    location = iceberg_table(tmp_path, monkeypatch)
    target = open_target(location, {})
    target.claim("run", {"format": "parquet", "layout": "topic"})
    with pyiceberg.catalog.load_catalog("lake").load_table(location.identifier).transaction() as change:
        change.set_properties({POSITIONS: "{}", ROUND: text})
    with pytest.raises(ExportDataError, match=r"iceberg:lake\.db\.orders: property kctl\.round is damaged: ") as caught:
        target.read()
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["[" * 100_000, '{"t": {"id": "", "at": {"0": [Infinity, 1]}}}', "[]"])
def test_positions_of_an_iceberg_table_that_are_damaged_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    location = iceberg_table(tmp_path, monkeypatch)
    target = open_target(location, {})
    target.claim("run", {"format": "parquet", "layout": "topic"})
    with pyiceberg.catalog.load_catalog("lake").load_table(location.identifier).transaction() as change:
        change.set_properties({POSITIONS: text, ROUND: "1"})
    with pytest.raises(ExportDataError, match=r"iceberg:lake\.db\.orders: property kctl\.positions is damaged: "):
        target.read()


@pytest.mark.parametrize("text", ["[" * 100_000, '[["t", Infinity, 1]]', "1"])
def test_files_of_errors_that_are_damaged_are_named(text: str) -> None:
    with pytest.raises(ExportDataError, match=r"a table: property kctl\.errors is damaged: "):
        files_from(text, "a table")


def test_snapshots_of_an_iceberg_table_that_are_their_own_ancestors_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = iceberg_table(tmp_path, monkeypatch)
    target = open_target(location, {})
    assert isinstance(target, IcebergTarget)
    target.claim("run", {"format": "parquet", "layout": "topic"})
    schema = target.schema
    table = pyiceberg.catalog.load_catalog("lake").load_table(location.identifier)
    for _ in range(2):
        table.append(schema.empty_table())
    first, second = table.metadata.snapshots
    metadata = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(metadata.read_text())
    parents = {first.snapshot_id: second.snapshot_id, second.snapshot_id: first.snapshot_id}
    for each in content["snapshots"]:
        each["parent-snapshot-id"] = parents[each["snapshot-id"]]
    metadata.write_text(json.dumps(content))
    assert target.positions() == (0, {})
