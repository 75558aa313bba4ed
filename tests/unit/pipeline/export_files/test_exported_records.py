"""Exported ranges are read back in the order of their offsets, and what is not as the manifest says is told."""

from pathlib import Path

import pytest

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
    with pytest.raises(ExportDataError, match="has 2 records, but its manifest has 3"):
        list(read_exported(tmp_path, ranged._replace(records=3), {}))
    twice = ranged._replace(files=(ranged.files[0], ranged.files[0]), records=2)
    with pytest.raises(ExportDataError, match="an offset is in two files"):
        list(read_exported(tmp_path, twice, {}))
    with pytest.raises(FolderError, match="No such file"):
        list(read_exported(tmp_path, ranged._replace(files=(ExportedFile("orders/gone.parquet", 2, 9),)), {}))
