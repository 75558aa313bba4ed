"""The files of a range: whole or not at all, by day or hour, in both formats."""

import os
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kctl.pipeline.export_files import range_files
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.folder import hidden
from kctl.pipeline.export_files.json_lines import read_json_lines
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.export_files.range_files import FilePlace, RangeFiles, RangeName
from kctl.pipeline.job_errors import DiskError, FolderError
from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of

SCHEMA = schema_of([name for name in COLUMN_NAMES if name != "timestampType"])
NAME = RangeName("orders", 3, 100, 200)
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
NOON_US = 1_700_000_000_000_000 // DAY_US * DAY_US + 12 * HOUR_US


@pytest.fixture
def place(tmp_path: Path) -> FilePlace:
    (tmp_path / "_tmp").mkdir()
    return FilePlace(tmp_path, tmp_path / "_tmp", "topic", "parquet", 1, 7)


def batch(*rows: tuple[int, int]) -> pa.RecordBatch:
    """Return records of (offset, timestamp in microseconds)."""
    made = [
        {
            "key": None if offset % 2 else b"k\xff",
            "value": f"value {offset}".encode(),
            "topic": NAME.topic,
            "partition": NAME.partition,
            "offset": offset,
            "timestamp": timestamp_us,
            "headers": [{"key": "a", "value": None}] if offset % 3 == 0 else None,
        }
        for offset, timestamp_us in rows
    ]
    return pa.RecordBatch.from_pylist(made, SCHEMA)


def show(place: FilePlace) -> None:
    """Give the files their names, as the driver does behind their manifest."""
    for path in list(place.folder.rglob(".*.parquet")):
        path.rename(path.with_name(path.name.removeprefix(".")))


def all_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("format", ["parquet", "json"])
@pytest.mark.parametrize("layout", ["topic", "date"])
def test_files_are_closed_at_the_target_size_and_read_back_in_order(place: FilePlace, layout: str, format: str) -> None:
    target_bytes, rng = 300_000, Random(1)
    limited = place._replace(layout=layout, format=format, file_bytes=target_bytes)
    with RangeFiles(limited, NAME) as files:
        for at in range(0, 3000, 60):
            plain = batch(*((offset, NOON_US + offset * 20_000_000) for offset in range(at, at + 60)))
            values = pa.array([rng.randbytes(500) + bytes(500) for _ in range(60)], pa.binary())
            files.write(plain.set_column(plain.schema.get_field_index("value"), plain.schema.field("value"), values))
        done = files.finish()
    sizes = [file.size_bytes for file in done]
    assert len(done) > 4
    last = 2 if layout == "date" else 1
    assert sum(size_bytes < target_bytes * 0.9 for size_bytes in sizes) <= last, sizes
    assert max(sizes) < target_bytes * 1.3, "a batch more than wanted"
    exported = ExportedRange(NAME.topic, NAME.partition, 0, 3000, 3000, done)
    found = [
        offset for each in read_exported(place.folder, exported, {}) for offset in each.column("offset").to_pylist()
    ]
    assert found == [*range(3000)]


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_file_holds_what_was_written(place: FilePlace, format: str) -> None:
    batches = [batch(*((offset, NOON_US + offset * 1000) for offset in range(at, at + 10))) for at in (100, 110)]
    with RangeFiles(place._replace(format=format), NAME) as files:
        for each in batches:
            files.write(each)
        (done,) = files.finish()
    path = hidden(place.folder / done.path)
    extension = {"parquet": ".parquet", "json": ".jsonl.zst"}[format]
    assert (done.path, done.records) == (f"orders/orders-3-100-200{extension}", 20)
    assert done.size_bytes == path.stat().st_size
    if format == "parquet":
        back = pq.read_table(path)
        assert pq.read_metadata(path).metadata[b"kctl.range"] == (
            b'{"topic": "orders", "partition": 3, "start": 100, "end": 200}'
        )
    else:
        lines = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd").read().splitlines()
        back = pa.Table.from_batches(read_json_lines(lines, "file")).cast(SCHEMA)
    assert back.replace_schema_metadata(None).equals(pa.Table.from_batches(batches))
    assert all_files(place.round_folder) == []


def test_records_lie_in_the_folder_of_their_day(place: FilePlace) -> None:
    rows = [(100, NOON_US), (101, NOON_US + DAY_US), (102, NOON_US + 1), (103, -1000)]
    with RangeFiles(place._replace(layout="date"), NAME) as files:
        files.write(batch(*rows))
        done = files.finish()
    assert [(file.path, file.records) for file in done] == [
        ("orders/date=1969-12-31/orders-3-100-200.parquet", 1),
        ("orders/date=2023-11-14/orders-3-100-200.parquet", 2),
        ("orders/date=2023-11-15/orders-3-100-200.parquet", 1),
    ]
    with pytest.raises(KeyError):
        pq.read_table(place.folder / "orders")["offset"]  # a plain reader sees nothing before the manifest
    show(place)
    table = pq.read_table(place.folder / "orders")
    assert sorted(zip(table["offset"].to_pylist(), table["date"].to_pylist(), strict=True)) == [
        (100, "2023-11-14"),
        (101, "2023-11-15"),
        (102, "2023-11-14"),
        (103, "1969-12-31"),
    ]


def test_records_lie_in_the_folder_of_their_hour(place: FilePlace) -> None:
    with RangeFiles(place._replace(layout="hour"), NAME) as files:
        files.write(batch((100, NOON_US + HOUR_US - 1), (101, NOON_US + HOUR_US)))
        done = files.finish()
    assert [file.path.split("/")[1:3] for file in done] == [
        ["date=2023-11-14", "hour=12"],
        ["date=2023-11-14", "hour=13"],
    ]


def test_more_days_than_files_may_be_open_come_in_parts(place: FilePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_files, "MOST_OPEN", 2)
    with RangeFiles(place._replace(layout="date"), NAME) as files:
        for turn in range(2):
            for day in range(4):
                files.write(batch((100 + turn * 4 + day, NOON_US + day * DAY_US)))
        done = files.finish()
    assert sum(file.records for file in done) == 8
    assert [file.path for file in done][:2] == [
        "orders/date=2023-11-14/orders-3-100-200.1.parquet",
        "orders/date=2023-11-14/orders-3-100-200.parquet",
    ]
    show(place)
    assert sorted(pq.read_table(place.folder / "orders")["offset"].to_pylist()) == list(range(100, 108))


def test_unfinished_file_leaves_nothing(place: FilePlace) -> None:
    with RangeFiles(place, NAME) as files:
        files.write(batch((100, NOON_US)))
        assert len(all_files(place.folder)) == 1
    assert all_files(place.folder) == []


def descriptors(path: Path) -> list[int]:
    """Return the descriptors of this process for a file, or for files in a directory."""
    own = Path("/proc/self/fd")
    found = []
    for each in list(own.iterdir()):
        with suppress(FileNotFoundError):  # the descriptor of the listing
            if each.readlink().is_relative_to(path):
                found.append(int(each.name))
    return found


@pytest.mark.parametrize("format", ["parquet", "json"])
@pytest.mark.parametrize("first", [None, RuntimeError("first")])
def test_full_disk_leaves_the_first_error_and_no_file(
    place: FilePlace, format: str, first: RuntimeError | None
) -> None:
    """Of the files of two days, neither can be closed."""
    full = Path("/dev/full")

    def write() -> None:
        with RangeFiles(place._replace(layout="date", format=format), NAME) as files:
            files.write(batch((100, NOON_US), (101, NOON_US + DAY_US)))
            with full.open("wb") as device:
                for number in descriptors(place.round_folder):
                    os.dup2(device.fileno(), number)
            assert len(descriptors(full)) == 2
            if first is not None:
                raise first
            files.close()

    with pytest.raises(DiskError if first is None else RuntimeError, match=r"No space left on device|first"):
        write()
    assert list(place.round_folder.iterdir()) == []
    assert descriptors(full) == []


def test_a_range_without_records_has_no_file(place: FilePlace) -> None:
    with RangeFiles(place, NAME) as files:
        assert files.finish() == ()
    assert all_files(place.folder) == []


def test_a_round_that_is_over_takes_no_file(place: FilePlace) -> None:
    with RangeFiles(place, NAME) as files:
        files.write(batch((100, NOON_US)))
        place.round_folder.rename(place.folder / "_gone")
        with pytest.raises(FolderError, match="another export writes to the directory"):
            files.finish()
    assert [name for name in all_files(place.folder) if not name.startswith("_gone")] == []


def test_two_attempts_at_a_range_write_the_same_file(place: FilePlace) -> None:
    for attempt in (1, 2):
        with RangeFiles(place._replace(attempt=attempt), NAME) as files:
            files.write(batch((100, NOON_US)))
            files.finish()
    assert all_files(place.folder) == ["orders/.orders-3-100-200.parquet"]
