"""Exported ranges are read back in the order of their offsets, and what is not as the manifest says is told."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kctl.pipeline.export_files import exported_records, json_lines
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange
from kctl.pipeline.export_files.range_files import FilePlace, RangeFiles, RangeName
from kctl.pipeline.job_errors import ExportDataError, FolderError
from tests.unit.pipeline.export_files.test_range_files import DAY_US, NOON_US, batch

NAME = RangeName("orders", 3, 100, 200)


def exported(folder: Path, *days: int) -> ExportedRange:
    """Return a range whose records, from offset 100 on, are of these days."""
    (folder / "_tmp").mkdir()
    with RangeFiles(FilePlace(folder, folder / "_tmp", "date", "parquet", 1, 1), NAME) as files:
        files.write(batch(*((100 + at, NOON_US + day * DAY_US) for at, day in enumerate(days))))
        return ExportedRange(*NAME, len(days), files.finish())


@pytest.mark.parametrize("days", [(0,), (0, 0, 1, 1, 2), (1, 0, 1, 0, 0, 2, 1), (2, 1, 0)])
def test_records_of_several_files_come_in_the_order_of_their_offsets(tmp_path: Path, days: tuple[int, ...]) -> None:
    ranged = exported(tmp_path, *days)
    assert len(ranged.files) == len(set(days))
    offsets = [offset for batch in read_exported(tmp_path, ranged, {}) for offset in batch.column("offset").to_pylist()]
    assert offsets == list(range(100, 100 + len(days)))


def test_files_that_differ_from_the_manifest_are_refused(tmp_path: Path) -> None:
    ranged = exported(tmp_path, 0, 1)
    with pytest.raises(ExportDataError, match="has 2 records, but its manifest lists 3"):
        list(read_exported(tmp_path, ranged._replace(records=3), {}))
    twice = ranged._replace(files=(ranged.files[0], ranged.files[0]), records=2)
    with pytest.raises(ExportDataError, match="two files of a range have records with the same offset"):
        list(read_exported(tmp_path, twice, {}))
    with pytest.raises(FolderError, match="No such file"):
        list(read_exported(tmp_path, ranged._replace(files=(ExportedFile("orders/gone.parquet", 2, 9),)), {}))


def file_in(folder: Path) -> Path:
    """Return the one file of an export."""
    (path,) = folder.rglob("*.parquet")
    return path


def rewritten(folder: Path, ranged: ExportedRange, table: pa.Table, **options: object) -> ExportedRange:
    """Write other content to the file of a range; return the range as a manifest of the same stranger describes it."""
    path = file_in(folder)
    pq.write_table(table, path, compression="zstd", **options)
    return ranged._replace(files=(ranged.files[0]._replace(size_bytes=path.stat().st_size),))


def test_value_that_a_dictionary_has_once_is_not_copied_to_every_row(tmp_path: Path) -> None:
    count = 100
    ranged = exported(tmp_path, *([0] * count))
    table = pq.ParquetFile(file_in(tmp_path)).read()
    large = pa.array([bytes(8 << 20)] * count, pa.binary())
    table = table.set_column(table.schema.get_field_index("value"), "value", large)
    bomb = rewritten(tmp_path, ranged, table, use_dictionary=["value"], dictionary_pagesize_limit=64 << 20)
    assert bomb.files[0].size_bytes < 1 << 20
    with pytest.raises(ExportDataError, match="column value has a dictionary"):
        list(read_exported(tmp_path, bomb, {}))


def test_row_group_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranged = exported(tmp_path, 0, 0)
    assert list(read_exported(tmp_path, ranged, {}))
    monkeypatch.setattr(exported_records, "MOST_GROUP_BYTES", 100)
    with pytest.raises(ExportDataError, match=r"row group of \d+ bytes, which is over the limit of 100 bytes"):
        list(read_exported(tmp_path, ranged, {}))


def test_footer_with_a_large_text_is_refused(tmp_path: Path) -> None:
    ranged = exported(tmp_path, 0)
    table = pq.ParquetFile(file_in(tmp_path)).read().replace_schema_metadata({"note": "x" * (20 << 20)})
    with pytest.raises(FolderError, match="size limit"):
        list(read_exported(tmp_path, rewritten(tmp_path, ranged, table, use_dictionary=False), {}))


def test_line_above_the_limit_is_refused_and_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "MOST_LINE_BYTES", 1000)
    (tmp_path / "_tmp").mkdir()
    path = tmp_path / "orders.jsonl.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for _ in range(1000):
            file.write(b" " * (1 << 20))
    bomb = ExportedRange(*NAME, 1, (ExportedFile(path.name, 1, path.stat().st_size),))
    with pytest.raises(ExportDataError, match="has a line of more than 1000 bytes"):
        list(read_exported(tmp_path, bomb, {}))
