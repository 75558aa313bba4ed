"""From lists to Arrow batches: exact types, values of every kind, gaps, and what is the same in all rows."""

from typing import Any

import pyarrow as pa
import pytest

from kctl.client.errors import ConfigError, CorruptBatchError
from kctl.client.records import BatchReader
from kctl.pipeline.record_columns import COLUMN_NAMES, ROWS_PER_BATCH, TYPES, RecordColumns, schema_of
from tests.unit.records.handmade import batch, record

LOG = batch(
    record(0, b"k", b"value", [(b"n", b"1"), (b"\xff", None)], 5),
    record(1, None, None, (), 6),
    record(4, b"", b"", (), 6),
    last_offset_delta=4,
    base_timestamp=1_700_000_000_000,
) + batch(record(0), base_offset=9, attributes=0x08, max_timestamp=77)


def table(data: bytes, *columns: str) -> Any:
    maker = RecordColumns("t", 3, columns)
    filled = maker.begin()
    BatchReader(data).columns(filled, ROWS_PER_BATCH)
    return maker.batch(filled)


def test_every_column() -> None:
    found = table(LOG, *COLUMN_NAMES)
    assert found.schema == schema_of(COLUMN_NAMES)
    assert found.column("key").to_pylist() == [b"k", None, b"", b"k"]
    assert found.column("value").to_pylist() == [b"value", None, b"", b"v"]
    assert found.column("topic").to_pylist() == ["t"] * 4
    assert found.column("partition").to_pylist() == [3] * 4
    assert found.column("offset").to_pylist() == [0, 1, 4, 9]
    us = found.column("timestamp").cast(pa.int64()).to_pylist()
    assert us == [1_700_000_000_005_000, 1_700_000_000_006_000, 1_700_000_000_006_000, 77_000]
    assert found.column("timestampType").to_pylist() == [0, 0, 0, 1]
    headers = [{"key": "n", "value": b"1"}, {"key": "�", "value": None}]
    assert found.column("headers").to_pylist() == [headers, None, None, None]


@pytest.mark.parametrize("name", COLUMN_NAMES)
def test_one_column_alone_is_the_same(name: str) -> None:
    found = table(LOG, name)
    assert found.schema.types == [TYPES[name]]
    assert found.column(0).equals(table(LOG, *COLUMN_NAMES).column(name))


def test_no_column_is_a_number_of_rows() -> None:
    assert table(LOG).num_rows == 4


def test_without_headers_the_column_is_null() -> None:
    assert table(batch(record(0), record(1)), "headers").column(0).null_count == 2


def test_a_time_that_no_table_can_hold() -> None:
    said = rf"^cannot convert the timestamp of t-3 offset 7 to microseconds: {1 << 60} ms since the epoch"
    with pytest.raises(CorruptBatchError, match=said) as caught:
        table(batch(record(0), base_offset=6) + batch(record(0), base_offset=7, base_timestamp=1 << 60), "timestamp")
    assert (caught.value.topic, caught.value.partition) == ("t", 3)


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown column 'valu'"):
        schema_of(["valu"])
