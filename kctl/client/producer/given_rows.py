"""Columns of one send_columns call, checked as a whole and divided into runs of about one batch."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from kctl.client.arguments import NOT_LISTS, wrong_type
from kctl.client.producer.future import NO_PARTITION, ColumnsFuture
from kctl.client.producer.record import (
    ENCODED_OVERHEAD_BYTES,
    MEMORY_OVERHEAD_BYTES,
    Content,
    GivenHeaders,
    Headers,
    checked_headers_bytes,
    checked_timestamp_ms,
    plain_content,
    plain_headers,
)
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import (
    BATCH_OVERHEAD_BYTES,
    Lines,
    PackedColumn,
    PackedRows,
    RecordBatchBuilder,
    Rows,
    check_contents,
    checked_timestamps,
)

T = TypeVar("T")
R = TypeVar("R")

_ROW_BYTES: Final = ENCODED_OVERHEAD_BYTES + 2
"""Upper estimate of a row's size in a batch without its contents, so that a run never exceeds its batch."""

_KEYED_RUN_BATCHES: Final = 4
"""Maximum size, in batches, of a run of keyed rows, which is later divided among partitions."""


class RowLimits(NamedTuple):
    """Size limits of a run: one batch, and a part of buffer.memory.

    Attributes: new_builder: makes batches for packed rows; None if packed rows are handled as objects.
    """

    batch_size_bytes: int
    buffer_memory_bytes: int
    new_builder: Callable[[], RecordBatchBuilder] | None = None


def given_rows(
    values: Sequence[Content],
    keys: Sequence[Content] | None,
    partition: int | None,
    headers: Sequence[GivenHeaders | None] | None,
    timestamps_ms: Sequence[int | datetime | None] | int | datetime | None,
    limits: RowLimits,
    now_ms: int,
) -> "GivenColumns | GivenPacked":
    """Return the checked rows of a send_columns call. Raises: TypeError, ValueError: as GivenColumns."""
    if headers is None and timestamps_ms is None and limits.new_builder is not None:
        packed = _packed(values, keys)
        if packed is not None:
            return GivenPacked(packed, limits.new_builder, limits, now_ms)
    return GivenColumns(values, keys, partition, headers, timestamps_ms, limits, now_ms)


def _packed(values: Sequence[Content], keys: Sequence[Content] | None) -> Lines | PackedRows | None:
    if isinstance(values, Lines):
        return values if keys is None else None
    if not isinstance(values, PackedColumn):
        return None
    if keys is None:
        return PackedRows(values)
    if not isinstance(keys, PackedColumn):
        return None
    _column(keys, "keys", len(values))
    return PackedRows(values, keys)


class GivenPacked:
    """Lines or packed rows, with the interface of GivenColumns. Large runs are encoded without an object per row."""

    def __init__(
        self,
        packed: Lines | PackedRows,
        new_builder: Callable[[], RecordBatchBuilder],
        limits: RowLimits,
        now_ms: int,
    ) -> None:
        self.count = len(packed)
        self.largest_bytes = packed.longest_bytes + MEMORY_OVERHEAD_BYTES if packed else -1
        self._packed = packed
        self._new_builder = new_builder
        self._now_ms = now_ms
        quarter_bytes = limits.buffer_memory_bytes // 4
        self._quarter_bytes = quarter_bytes
        self._batch_room_bytes = limits.batch_size_bytes - BATCH_OVERHEAD_BYTES
        self._room_bytes = min(self._batch_room_bytes, quarter_bytes)
        self._most_rows = max(1, quarter_bytes // MEMORY_OVERHEAD_BYTES)

    def memory_bytes(self, row: int) -> int:
        return self._packed.row_bytes(row) + MEMORY_OVERHEAD_BYTES

    def first_larger_than(self, limit_bytes: int) -> int:
        """Return the first row that needs more memory than the limit; such a row must exist."""
        return next(row for row in range(self.count) if self.memory_bytes(row) > limit_bytes)

    def runs(self, future: ColumnsFuture, partition: int) -> Iterator[RecordRun]:
        packed = self._packed
        if partition == NO_PARTITION and isinstance(packed, PackedRows) and packed.has_keys:
            yield from self._undivided_runs(packed, future)
            return
        room_bytes, at = self._even_room_bytes(), 0
        while at < packed.behind:
            records, count, end = packed.encoded_from(at, room_bytes, self._most_rows)
            size_bytes = packed.content_bytes(at, end, count) + MEMORY_OVERHEAD_BYTES * count
            rows: Rows | RecordBatchBuilder
            if 2 * len(records) < self._room_bytes:
                rows = packed.rows(at, end, self._now_ms)
            else:
                rows = self._new_builder()
                rows.set_records(records, count, self._now_ms)
            yield RecordRun(future.topic, partition, rows, future, 0, size_bytes)
            at = end

    def _even_room_bytes(self) -> int:
        """Return a run size that fills all batches about equally."""
        packed, count = self._packed, self.count
        total_bytes = packed.content_bytes(0, packed.behind, count) + _ROW_BYTES * count
        batches = -(-total_bytes // self._room_bytes)
        return min(self._room_bytes, total_bytes // max(batches, 1) + packed.longest_bytes + _ROW_BYTES)

    def _undivided_runs(self, packed: PackedRows, future: ColumnsFuture) -> Iterator[RecordRun]:
        at, room_bytes = 0, min(_KEYED_RUN_BATCHES * self._batch_room_bytes, self._quarter_bytes)
        while at < packed.behind:
            end = packed.end_within(at, _ROW_BYTES, room_bytes, self._most_rows)
            size_bytes = packed.content_bytes(at, end, end - at) + MEMORY_OVERHEAD_BYTES * (end - at)
            yield RecordRun(future.topic, NO_PARTITION, packed.part(at, end, self._now_ms), future, 0, size_bytes)
            at = end


class GivenColumns:
    """Columns of one send_columns call, checked before any row is accepted.

    Attributes: largest_bytes: memory of the largest row; -1 without rows.
    Raises: TypeError, ValueError: a row is invalid; the message has the row and the value.
    """

    def __init__(
        self,
        values: Sequence[Content],
        keys: Sequence[Content] | None,
        partition: int | None,
        headers: Sequence[GivenHeaders | None] | None,
        timestamps_ms: Sequence[int | datetime | None] | int | datetime | None,
        limits: RowLimits,
        now_ms: int,
    ) -> None:
        copied_values = _contents(_column(values, "values"), "value")
        self.count = count = len(copied_values)
        copied_keys = None if keys is None else _contents(_column(keys, "keys", count), "key")
        copied_headers: list[Headers] | None = None
        headers_bytes = None
        if headers is not None:
            copied_headers = _each_row(plain_headers, _column(headers, "headers", count))
            headers_bytes = _each_row(checked_headers_bytes, copied_headers)
        timestamps = None
        if isinstance(timestamps_ms, int | datetime):
            now_ms = checked_timestamp_ms(timestamps_ms)
        elif timestamps_ms is not None:
            timestamps = _timestamps(_column(timestamps_ms, "timestamps_ms", count), now_ms)
        self._rows = Rows(copied_values, copied_keys, copied_headers, headers_bytes, timestamps, now_ms)
        quarter_bytes = limits.buffer_memory_bytes // 4
        self._beside_bytes = MEMORY_OVERHEAD_BYTES - _ROW_BYTES
        is_divided = keys is not None and partition is None
        batches = _KEYED_RUN_BATCHES if is_divided else 1
        room_bytes = min(batches * (limits.batch_size_bytes - BATCH_OVERHEAD_BYTES), quarter_bytes)
        most_rows = max(1, quarter_bytes // self._beside_bytes)
        self._cuts, largest_bytes = self._rows.cut(_ROW_BYTES, room_bytes, most_rows)
        self.largest_bytes = largest_bytes + self._beside_bytes if count else -1

    def memory_bytes(self, row: int) -> int:
        return self._rows.size_bytes(row, row + 1, MEMORY_OVERHEAD_BYTES)

    def first_larger_than(self, limit_bytes: int) -> int:
        return next(row for row in range(self.count) if self.memory_bytes(row) > limit_bytes)

    def runs(self, future: ColumnsFuture, partition: int) -> Iterator[RecordRun]:
        """Yield runs with separate columns; the caller sets `created_at_ms`."""
        first = 0
        for end, run_bytes in self._cuts:
            size_bytes = run_bytes + self._beside_bytes * (end - first)
            yield RecordRun(future.topic, partition, self._rows.copied(first, end), future, 0, size_bytes)
            first = end


def has_rows_of_now(timestamps_ms: Sequence[int | datetime | None] | int | datetime | None) -> bool:
    if isinstance(timestamps_ms, Sequence) and not isinstance(timestamps_ms, NOT_LISTS):
        return None in timestamps_ms
    return timestamps_ms is None


def _column(column: Sequence[T], name: str, count: int | None = None) -> Sequence[T]:
    if isinstance(column, NOT_LISTS) or not hasattr(column, "__len__"):
        raise wrong_type(name, column, "a list")
    if count is not None and len(column) != count:
        raise ValueError(f"{name} has {len(column)} entries instead of {count}, the number of values")
    return column


def _contents(column: Sequence[Content], what: str) -> list[bytes | None]:
    copied: list[Any] = list(column)
    try:
        check_contents(copied, what)
    except TypeError:  # buffers or a wrong type; the usual column needs one check only
        copied = _each_row(lambda each: plain_content(each, what), copied)
    return copied


def _timestamps(column: Sequence[int | datetime | None], now_ms: int) -> list[int]:
    try:
        return checked_timestamps(column, now_ms)
    except ValueError:  # datetimes or a wrong value
        return _each_row(lambda each: now_ms if each is None else checked_timestamp_ms(each), column)


def _each_row(taken: Callable[[T], R], column: Sequence[T]) -> list[R]:
    found: list[R] = []
    for row, each in enumerate(column):
        try:
            found.append(taken(each))
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {row}: {error}") from None
    return found
