"""The way out of a batch as columns: lists of keys, values, timestamps and headers, and runs of offsets.

Owns the loop that runs once per record of a table. Must not know Arrow, which makes arrays of these lists
(kctl/pipeline), nor why a column is wanted. Shown by tests/unit/records/test_columns.py.
"""

from __future__ import annotations

from typing import Final, final

from kctl.client.records._hot.cursor import RecordCursor
from kctl.client.records._hot.native_types import i64
from kctl.client.records._hot.record import CREATE_TIME, LOG_APPEND_TIME, Header, parse_headers
from kctl.client.records._hot.varint import FieldError

TIMESTAMP_TYPE_IDS: Final[dict[str, int]] = {CREATE_TIME: 0, LOG_APPEND_TIME: 1}
"""As Kafka numbers them; -1 for messages older than timestamps."""


@final
class Columns:
    """The columns of some records, each a list with an entry a record; one that is not wanted stays empty.

    Args:
        keys, values, timestamps, headers: whether that column is wanted.
        room_bytes: the columns are full once keys, values and headers have this many bytes together.

    Attributes:
        count: records in the columns.
        keys, values: bytes, None for null.
        timestamps_ms: numbers since the epoch.
        headers: as in a record; None where it has none.
        offset_runs: (offset, row): from that row on the offsets rise by one a row.
        type_runs: (timestamp type as Kafka numbers it, row): so it is from that row on.
    """

    def __init__(self, *, keys: bool, values: bool, timestamps: bool, headers: bool, room_bytes: i64) -> None:
        self.wants_keys = keys
        self.wants_values = values
        self.wants_timestamps = timestamps
        self.wants_headers = headers
        self.room_bytes: i64 = room_bytes
        self.count: i64 = 0
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps_ms: list[object] = []
        self.last_ms: i64 = -1
        self.last_object: object = -1
        """The last timestamp as an object: neighbours mostly have the same, and making one costs more than all else."""
        self.headers: list[tuple[Header, ...] | None] = []
        self.offset_runs: list[tuple[int, int]] = []
        self.type_runs: list[tuple[int, int]] = []
        self.next_offset: i64 = -1

    def is_full(self) -> bool:
        """Whether no byte more should be added."""
        return self.room_bytes <= 0

    def begin_type(self, timestamp_type: str) -> None:
        """The rows from here on have that timestamp type."""
        type_id = TIMESTAMP_TYPE_IDS.get(timestamp_type, -1)
        if not self.type_runs or self.type_runs[-1][0] != type_id:
            self.type_runs.append((type_id, self.count))


def read_columns(cursor: RecordCursor, columns: Columns, limit: i64) -> None:
    """Add up to `limit` records to the columns; stops earlier when they are full."""
    columns.begin_type(cursor.batch.timestamp_type)
    keys, values, timestamps_ms = columns.keys, columns.values, columns.timestamps_ms
    while limit > 0 and columns.room_bytes > 0 and cursor.advance():
        if columns.wants_headers:
            _take_headers(cursor, columns)
        if columns.wants_keys:
            keys.append(cursor.key())
            columns.room_bytes -= max(cursor.key_size, 0)
        if columns.wants_values:
            values.append(cursor.value())
            columns.room_bytes -= max(cursor.value_size, 0)
        if columns.wants_timestamps:
            if cursor.timestamp_ms != columns.last_ms:
                columns.last_ms = cursor.timestamp_ms
                columns.last_object = cursor.timestamp_ms
            timestamps_ms.append(columns.last_object)
        if cursor.offset != columns.next_offset:
            columns.offset_runs.append((cursor.offset, columns.count))
        columns.next_offset = cursor.offset + 1
        columns.count += 1
        limit -= 1


def _take_headers(cursor: RecordCursor, columns: Columns) -> None:
    """Add the record's headers."""
    raw = cursor.raw_headers()
    if not raw:
        columns.headers.append(None)
        return
    try:
        columns.headers.append(parse_headers(raw) or None)
    except (IndexError, FieldError) as error:
        cursor.give_back()
        raise cursor.damaged(f"headers: {error}") from None
    columns.room_bytes -= len(raw)
