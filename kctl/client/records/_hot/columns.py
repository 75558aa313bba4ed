"""Records of a batch as columns: keys, values, offsets, and timestamps in buffers, headers in a list."""

from __future__ import annotations

from typing import Final, final

from kctl.client.records._hot.cursor import RecordCursor
from kctl.client.records._hot.filled import FilledParts, append_entry, append_number, empty_column
from kctl.client.records._hot.native_types import i64
from kctl.client.records._hot.record import CREATE_TIME, HEADER_BYTES, LOG_APPEND_TIME, Header, parse_headers
from kctl.client.records._hot.varint import FieldError

TIMESTAMP_TYPE_IDS: Final[dict[str, int]] = {CREATE_TIME: 0, LOG_APPEND_TIME: 1}
"""Kafka's number of each timestamp type; messages without timestamps have -1."""

_SINGLY: Final = 16
"""Number of records to read one by one after a record that is not plain, because the next are probably not plain."""


@final
class Columns:
    """Columns with an entry for each record. Unwanted columns are None, unwanted headers an empty list.

    Args:
        keys, values, timestamps, headers: whether the column is wanted.
        room_bytes: size of keys, values, and headers at which the columns are full.
    Attributes:
        keys, values: columns in the form of `filled.FilledParts`.
        offsets, timestamps_ms: signed 64-bit numbers.
        headers: headers of each record; None for records without headers.
        type_runs: (Kafka's number of the timestamp type, first row with that type).
    """

    def __init__(self, *, keys: bool, values: bool, timestamps: bool, headers: bool, room_bytes: i64) -> None:
        self.wants_headers = headers
        self.room_bytes: i64 = room_bytes
        self.count: i64 = 0
        self.keys: FilledParts | None = empty_column() if keys else None
        self.values: FilledParts | None = empty_column() if values else None
        self.timestamps_ms: bytearray | None = bytearray() if timestamps else None
        self.offsets = bytearray()
        self.headers: list[tuple[Header, ...] | None] = []
        self.type_runs: list[tuple[int, int]] = []

    def is_full(self) -> bool:
        return self.room_bytes <= 0

    def begin_type(self, timestamp_type: str) -> None:
        type_id = TIMESTAMP_TYPE_IDS.get(timestamp_type, -1)
        if not self.type_runs or self.type_runs[-1][0] != type_id:
            self.type_runs.append((type_id, self.count))


def read_columns(cursor: RecordCursor, columns: Columns, limit: i64) -> None:
    columns.begin_type(cursor.batch.timestamp_type)
    while limit > 0 and columns.room_bytes > 0:
        taken, room_bytes = cursor.take_columns(
            limit,
            columns.room_bytes,
            columns.wants_headers,
            columns.keys,
            columns.values,
            columns.offsets,
            columns.timestamps_ms,
        )
        columns.room_bytes = room_bytes
        columns.count += taken
        if columns.wants_headers:
            columns.headers.extend([None] * taken)
        limit -= taken
        singly: i64 = 1 if taken > 0 else _SINGLY
        while singly > 0 and limit > 0 and columns.room_bytes > 0:
            if not cursor.advance():
                return
            _take(cursor, columns)
            limit -= 1
            singly -= 1


def _take(cursor: RecordCursor, columns: Columns) -> None:
    if columns.wants_headers:
        _take_headers(cursor, columns)
    if columns.keys is not None:
        append_entry(columns.keys, cursor.key())
        columns.room_bytes -= max(cursor.key_size, 0)
    if columns.values is not None:
        append_entry(columns.values, cursor.value())
        columns.room_bytes -= max(cursor.value_size, 0)
    if columns.timestamps_ms is not None:
        append_number(columns.timestamps_ms, cursor.timestamp_ms)
    append_number(columns.offsets, cursor.offset)
    columns.count += 1


def _take_headers(cursor: RecordCursor, columns: Columns) -> None:
    raw = cursor.raw_headers()
    if not raw:
        columns.headers.append(None)
        return
    try:
        headers = parse_headers(raw)
        columns.headers.append(headers or None)
    except (IndexError, FieldError) as error:
        cursor.give_back()
        raise cursor.damaged(f"headers: {error}") from None
    columns.room_bytes -= len(raw) + HEADER_BYTES * len(headers)
