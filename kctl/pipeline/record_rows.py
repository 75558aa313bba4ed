"""Rows of an Arrow batch as columns of records, grouped by partition.

Rows have a column `value` (binary or string) and optionally `key` (binary or string), `topic`, `partition`, `timestamp`
and `headers` (a list of structs of key and value). Other columns are ignored.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kctl.client.errors import ConfigError
from kctl.client.records import Header, PackedColumn
from kctl.pipeline.packed_arrays import packed_parts

_TO_MS: Final = pc.CastOptions(target_type=pa.timestamp("ms"), allow_time_truncate=True)


class RecordRows(NamedTuple):
    """Columns of records with one entry for each row. A column is None if no row has an entry."""

    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None
    headers: list[Sequence[Header]] | None
    timestamps_ms: list[int | None] | None


class RowDestination(NamedTuple):
    """Destination of rows. If `partition` is None, the producer chooses the partition."""

    topic: str
    partition: int | None


def record_rows(batch: pa.RecordBatch, *, with_timestamps: bool) -> RecordRows:
    names = batch.schema.names
    if "value" not in names:
        raise ConfigError(
            f"the rows need a column named 'value'. Columns found: {', '.join(names) or 'none'}", key="value"
        )
    headers = _headers(batch) if "headers" in names else None
    timestamps_ms = _timestamps(batch) if with_timestamps and "timestamp" in names else None
    values = _bytes(batch, "value")
    keys = _bytes(batch, "key") if "key" in names else None
    return RecordRows(
        [None] * batch.num_rows if values is None else _packed(values),
        None if keys is None else _packed(keys),
        headers,
        timestamps_ms,
    )


def place_rows(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[RowDestination, pa.RecordBatch]]:
    """Yield the rows by destination, in order within each destination.

    Rows with and without a partition keep their relative order, because a key may choose the partition of another row.

    Args:
        topic: topic of all rows. None uses the column `topic`.

    Raises:
        ConfigError: the topic is missing, or the topic or partition column has an invalid type.
    """
    if not batch.num_rows:
        return
    if topic is None:
        batch = _with_topics(batch)
    partitions = _partitions(batch)
    if partitions is None or partitions.null_count == batch.num_rows:
        for name, rows in _by_topic(batch, topic):
            yield RowDestination(name, None), rows
    elif partitions.null_count:
        for first, end in _stretches(partitions):
            yield from place_rows(batch.slice(first, end - first), topic)
    else:
        for name, rows in _by_topic(batch, topic):
            for partition, part in _by_value(rows, "partition"):
                yield RowDestination(name, partition), part


def _stretches(partitions: pa.Array) -> Iterator[tuple[int, int]]:
    starts = [next(rows)[0] for _, rows in groupby(enumerate(partitions.is_null().to_pylist()), lambda row: row[1])]
    yield from pairwise([*starts, len(partitions)])


def _by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    if topic is not None:
        yield topic, batch
        return
    yield from _by_value(batch, "topic")


def _by_value(batch: pa.RecordBatch, name: str) -> Iterator[tuple[Any, pa.RecordBatch]]:
    column = batch.column(name)
    bounds = pc.min_max(column)
    if bounds["min"] == bounds["max"]:
        yield column[0].as_py(), batch
        return
    ordered = batch.take(pc.sort_indices(column))  # stable
    ends = pc.run_end_encode(ordered.column(name)).run_ends.to_pylist()
    for first, end in pairwise([0, *ends]):
        yield ordered.column(name)[first].as_py(), ordered.slice(first, end - first)


def _with_topics(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "topic" not in batch.schema.names:
        raise ConfigError("the rows have no topic: set the option topic, or add a column topic", key="topic")
    column = batch.column("topic")
    _expect(column.type, "topic", "string", pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
    if column.null_count:
        raise ConfigError(f"the column topic must not be null. Rows without a topic: {column.null_count}", key="topic")
    return batch


def _partitions(batch: pa.RecordBatch) -> pa.Array | None:
    if "partition" not in batch.schema.names:
        return None
    column = batch.column("partition")
    _expect(column.type, "partition", "int", pa.types.is_integer(column.type) or pa.types.is_null(column.type))
    least = None if column.null_count == len(column) else pc.min(column).as_py()
    if least is not None and least < 0:
        raise ConfigError(f"invalid partition '{least}': use 0 or more", key="partition")
    return column


def _bytes(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    column, types = batch.column(name), pa.types
    if not (types.is_null(column.type) or types.is_binary(column.type) or types.is_large_binary(column.type)):
        is_text = types.is_string(column.type) or types.is_large_string(column.type)
        _expect(column.type, name, "binary or string", is_text)
        column = column.cast(pa.large_binary() if types.is_large_string(column.type) else pa.binary())
    return None if column.null_count == len(column) else column


def _packed(column: pa.Array) -> Sequence[bytes | None]:
    if not pa.types.is_binary(column.type):
        found: list[bytes | None] = column.to_pylist()
        return found
    return PackedColumn(packed_parts(column))


def _timestamps(batch: pa.RecordBatch) -> list[int | None] | None:
    column = batch.column("timestamp")
    _expect(column.type, "timestamp", "timestamp", pa.types.is_timestamp(column.type) or pa.types.is_null(column.type))
    if column.null_count == len(column):
        return None
    try:
        times = column.cast(options=_TO_MS).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ConfigError(f"cannot convert the column timestamp to milliseconds: {error}", key="timestamp") from None
    found: list[int | None] = times.to_pylist()
    return found


def _headers(batch: pa.RecordBatch) -> list[Sequence[Header]] | None:
    column = batch.column("headers")
    is_list = pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type)
    names = [field.name for field in column.type.value_type] if is_list else []
    is_right = names == ["key", "value"] or pa.types.is_null(column.type)
    _expect(column.type, "headers", "an array of structs with a string key and a binary value", is_right)
    if column.null_count == len(column):
        return None
    if column.flatten().field(0).null_count:
        raise ConfigError("the key of a header must not be null: use an empty string instead", key="headers")
    rows = column.to_pylist()
    return [() if row is None else tuple((each["key"], each["value"]) for each in row) for row in rows]


def _expect(kind: pa.DataType, name: str, wanted: str, is_right: bool) -> None:
    if not is_right:
        raise ConfigError(f"column {name} has type {kind}, expected {wanted}", key=name)
