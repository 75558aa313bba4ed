"""The exit as columns: the same records as objects give, in buffers; full columns, gaps, timestamp types and damage."""

from itertools import pairwise

import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Columns, Record
from tests.unit.records.column_contents import entries, longs
from tests.unit.records.handmade import batch, message, record

LOG = (
    batch(
        record(0, b"k", b"value", [(b"n", b"1"), (b"n", None)], 5),
        record(1, None, None, (), 5),
        record(4, b"", b"", [(b"\xff", b"")], -7),
        last_offset_delta=4,
    )
    + batch(record(0), record(1), base_offset=9, attributes=0x08, max_timestamp=77_000)
    + batch(record(0, value=b"x" * 100), base_offset=11)
)


def everything(room_bytes: int = 1 << 20) -> Columns:
    return Columns(keys=True, values=True, timestamps=True, headers=True, room_bytes=room_bytes)


def rows(columns: Columns) -> list[tuple[object, ...]]:
    """The columns as rows, runs written out."""
    types: list[int] = []
    for (type_id, row), (_, end) in pairwise([*columns.type_runs, (0, columns.count)]):
        types.extend([type_id] * (end - row))
    offsets, times = longs(columns.offsets), longs(columns.timestamps_ms)
    keys, values = entries(columns.keys), entries(columns.values)
    return list(zip(offsets, types, times, keys, values, columns.headers, strict=True))


def as_row(found: Record) -> tuple[object, ...]:
    type_id = {"create_time": 0, "log_append_time": 1, "none": -1}[found.timestamp_type]
    return found.offset, type_id, found.timestamp_ms, found.key, found.value, found.headers or None


def expected(data: bytes, start: int = 0, stop: int = 1 << 60) -> list[tuple[object, ...]]:
    reader = BatchReader(data, fetch_offset=start, stop_offset=stop)
    return [as_row(found) for chunk in reader for found in chunk]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("data", [LOG, message(0, magic=0) + message(1)], ids=["v2", "v0 and v1"])
def test_the_same_records_as_objects_give(data: bytes, chunk: int) -> None:
    reader, columns = BatchReader(data), everything()
    while not reader.exhausted:
        reader.columns(columns, chunk)
    assert rows(columns) == expected(data)
    assert (columns.count, reader.count) == (len(rows(columns)), columns.count)


@pytest.mark.parametrize("start", range(13))
@pytest.mark.parametrize("stop", [0, 1, 4, 5, 10, 12, 99])
def test_only_wanted_offsets_come_out(start: int, stop: int) -> None:
    reader, columns = BatchReader(LOG, fetch_offset=start, stop_offset=stop), everything()
    while not reader.exhausted:
        reader.columns(columns, 2)
    assert rows(columns) == expected(LOG, start, stop)


def test_columns_that_are_not_wanted_stay_empty() -> None:
    reader = BatchReader(LOG)
    columns = Columns(keys=False, values=True, timestamps=False, headers=False, room_bytes=1 << 20)
    reader.columns(columns, 100)
    assert entries(columns.values) == [b"value", None, b"", b"v", b"v", b"x" * 100]
    assert (columns.keys, columns.timestamps_ms, columns.headers) == (None, None, [])
    assert longs(columns.offsets) == [0, 1, 4, 9, 10, 11]
    assert columns.type_runs == [(0, 0), (1, 3), (0, 5)]


def test_full_columns_end_the_reading_and_the_next_go_on() -> None:
    reader = BatchReader(LOG)
    found = []
    while not reader.exhausted:
        columns = everything(room_bytes=6)
        reader.columns(columns, 100)
        assert columns.count <= 3
        found += rows(columns)
    assert found == expected(LOG)


def test_damage_comes_after_the_records_before_it() -> None:
    data = batch(record(0), record(1, tail=b"\x04\x02"))
    reader, columns = BatchReader(data), everything()
    reader.columns(columns, 100)
    assert (columns.count, len(rows(columns)), reader.next_offset) == (1, 1, 1)
    with pytest.raises(CorruptBatchError, match="headers"):
        reader.columns(columns, 100)
