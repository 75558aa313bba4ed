"""RecordColumns: Arrow batches in the schema of Spark's Kafka connector, from the columns of the record codec.

Every batch has exactly the declared types, because Spark checks only the first batch.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import pyarrow as pa
from pyarrow._compute import call_function  # pyarrow.compute takes 50 ms more to import, in each new worker

from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError, CorruptBatchError
from kctl.client.records import Columns, FilledParts

ROWS_PER_BATCH: Final = 16_384
BYTES_PER_BATCH: Final = 4 << 20
"""Size in bytes at which a batch ends. It also ends at ROWS_PER_BATCH rows."""

HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)
TYPES: Final[dict[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": HEADERS,
}
"""Type of each column, in the order of Spark's connector. Every column is nullable."""
EXACT: Final = pa.timestamp("ms", "UTC")
"""Type of timestamps that are copied to another topic or compared."""
REASON: Final = "reason"
"""Column with the error, in tables of undecodable records."""
COLUMN_NAMES: Final = tuple(TYPES)
DEFAULT_COLUMNS: Final = tuple(name for name in TYPES if name != "headers")
_US_PER_MS: Final = pa.scalar(1000, pa.int64())


def schema_of(columns: Sequence[str]) -> pa.Schema:
    for name in columns:
        if name not in TYPES:
            raise ConfigError(f"unknown column {name!r} of a record: use {', '.join(TYPES)}", key=name)
    return pa.schema([pa.field(name, TYPES[name]) for name in columns])


class RecordColumns:
    """Builder of the batches of one partition.

    Args:
        columns: column names, in output order.
        is_exact: use timestamps in ms, because some do not fit into microseconds.
    """

    def __init__(self, topic: str, partition: int, columns: Sequence[str], *, is_exact: bool = False) -> None:
        schema = schema_of(columns)
        if is_exact and "timestamp" in columns:
            schema = schema.set(schema.get_field_index("timestamp"), pa.field("timestamp", EXACT))
        self.schema = schema
        self._is_exact = is_exact
        self._names = tuple(columns)
        self._partition = TopicPartition(topic, partition)
        self._same: dict[str, pa.Array] = {}
        for name, constant in (("topic", topic), ("partition", partition)):
            if name in columns:
                self._same[name] = pa.repeat(pa.scalar(constant, TYPES[name]), ROWS_PER_BATCH)
        if "timestampType" in columns:
            for type_id in (-1, 0, 1):
                self._same[_type_name(type_id)] = pa.repeat(pa.scalar(type_id, pa.int32()), ROWS_PER_BATCH)
        if "headers" in columns:
            self._same["headers"] = pa.nulls(ROWS_PER_BATCH, HEADERS)

    def begin(self) -> Columns:
        """Return empty columns for the next batch of at most ROWS_PER_BATCH records."""
        wanted = self._names
        return Columns(
            keys="key" in wanted,
            values="value" in wanted,
            timestamps="timestamp" in wanted,
            headers="headers" in wanted,
            room_bytes=BYTES_PER_BATCH,
        )

    def batch(self, columns: Columns) -> pa.RecordBatch:
        """Return the columns as one batch. Raise CorruptBatchError if a timestamp does not fit into microseconds."""
        arrays = [self._array(name, columns) for name in self._names]
        if not arrays:  # only the number of rows is requested
            return pa.RecordBatch.from_struct_array(pa.nulls(columns.count, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, name: str, columns: Columns) -> pa.Array:
        if name in ("key", "value"):
            filled = columns.keys if name == "key" else columns.values
            assert filled is not None
            return _contents(filled)
        if name == "offset":
            return _numbers(columns.offsets)
        if name == "timestamp":
            return self._timestamps(columns)
        if name == "timestampType":
            return self._types(columns)
        if name == "headers" and any(columns.headers):
            return _headers(columns)
        return self._same[name].slice(0, columns.count)

    def _timestamps(self, columns: Columns) -> pa.Array:
        assert columns.timestamps_ms is not None
        timestamps_ms = _numbers(columns.timestamps_ms)
        if self._is_exact:
            return timestamps_ms.view(EXACT)
        try:
            us = call_function("multiply_checked", [timestamps_ms, _US_PER_MS])
        except pa.ArrowInvalid:
            times_ms = timestamps_ms.to_pylist()
            row = max(range(columns.count), key=lambda row: abs(times_ms[row]))
            offset = _numbers(columns.offsets)[row].as_py()
            raise CorruptBatchError(
                f"cannot convert the timestamp of {self._partition} offset {offset} to microseconds: "
                f"{times_ms[row]} ms since the epoch is out of range",
                topic=self._partition.topic,
                partition=self._partition.partition,
            ) from None
        return us.view(TYPES["timestamp"])

    def _types(self, columns: Columns) -> pa.Array:
        runs = [*columns.type_runs, (0, columns.count)]
        parts = [self._same[_type_name(type_id)].slice(0, end - row) for (type_id, row), (_, end) in pairwise(runs)]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _type_name(type_id: int) -> str:
    return f"timestampType {type_id}"


def _contents(column: FilledParts) -> pa.Array:
    contents, ends, given = column
    bitmap = None
    if 0 in given:
        entries = pa.Array.from_buffers(pa.uint8(), len(given), [None, pa.py_buffer(given)])
        bitmap = entries.cast(pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(given), [bitmap, pa.py_buffer(ends), pa.py_buffer(contents)])


def _numbers(column: bytearray) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(column) // 8, [None, pa.py_buffer(column)])


def _headers(columns: Columns) -> pa.Array:
    """Return the headers column. As in Spark's connector, a record without headers has null."""
    names: list[str] = []
    values: list[bytes | None] = []
    starts: list[int | None] = []
    for headers in columns.headers:
        starts.append(None if headers is None else len(names))
        for name, value in headers or ():
            names.append(_readable(name))
            values.append(value)
    starts.append(len(names))
    fields = [HEADERS.value_type.field("key"), HEADERS.value_type.field("value")]
    entries = pa.StructArray.from_arrays([pa.array(names, pa.string()), pa.array(values, pa.binary())], fields=fields)
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), entries, type=HEADERS)


def _readable(name: str) -> str:
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
