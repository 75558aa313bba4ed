"""Commits to an Iceberg table have of each file what pyiceberg finds in it, and do not read it from the store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import PyArrowFileIO, parquet_file_to_data_file

from kctl.pipeline.lake_tables import table_files
from kctl.pipeline.locations import IcebergTable
from tests.unit.pipeline.lake_tables.test_table_targets import claimed, commit, expected, iceberg_table, rows

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

FACTS = (
    *("record_count", "file_size_in_bytes", "partition", "column_sizes", "value_counts", "null_value_counts"),
    *("nan_value_counts", "lower_bounds", "upper_bounds", "split_offsets"),
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergTable:
    return iceberg_table(tmp_path, monkeypatch)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The data files that pyiceberg reads from the table's storage."""
    found: list[str] = []
    new_input: Callable[..., Any] = PyArrowFileIO.new_input

    def noted(storage: PyArrowFileIO, location: str) -> Any:
        found.extend([location] if location.endswith(".parquet") else [])
        return new_input(storage, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", noted)
    return found


def check_facts(location: IcebergTable, files: int) -> None:
    """Compare what the table has of each file with what is in the file, and find rows by it."""
    table = load_catalog(location.catalog).load_table(location.identifier)
    tasks = list(table.scan().plan_files())
    assert len(tasks) == files
    for task in tasks:
        found = parquet_file_to_data_file(table.io, table.metadata, task.file.file_path)
        assert {name: getattr(task.file, name) for name in FACTS} == {name: getattr(found, name) for name in FACTS}
        assert task.file.lower_bounds
    for offset in (0, 2, 4):
        scan = table.scan(row_filter=f"offset = {offset}")
        assert len(list(scan.plan_files())) == 1
        assert scan.to_arrow()["offset"].to_pylist() == [offset]
    assert table.scan(row_filter="offset > 4").to_arrow() == pa.table(table.schema().as_arrow().empty_table())
    assert rows(location) == expected(*range(5))


@pytest.mark.parametrize(("layout", "files"), [("topic", 2), ("date", 5), ("hour", 5), ("column:partition", 2)])
def test_commit_has_the_facts_of_each_file_and_reads_none(
    table: IcebergTable, layout: str, files: int, read: list[str]
) -> None:
    target = claimed(table, layout=layout)
    commit(target, 0, 3, layout)
    commit(target, 3, 5, layout)
    assert read == []
    check_facts(table, files)


def test_footer_that_is_too_large_to_send_is_read_from_the_table(
    table: IcebergTable, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = claimed(table)
    monkeypatch.setattr(table_files, "LARGEST_FOOTER_BYTES", 100)
    commit(target, 0, 3)
    assert len(set(read)) == 1
    commit(target, 3, 5)
    assert len(set(read)) == 2
    check_facts(table, 2)
