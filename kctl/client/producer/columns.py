"""What send_columns takes: columns of one length, checked as a whole before any row is accepted, then cut into runs.

Used on application threads. Shown by tests/unit/producer/test_columns.py.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from kctl.client.producer.record import (
    ENCODED_OVERHEAD_BYTES,
    MEMORY_OVERHEAD_BYTES,
    Headers,
    check_timestamp,
    check_topic,
    checked_headers_bytes,
)
from kctl.client.producer.record_run import ColumnsFuture, RecordRun
from kctl.client.records import BATCH_OVERHEAD_BYTES, checked_timestamps, cut_rows

T = TypeVar("T")

_ROW_BYTES: Final = ENCODED_OVERHEAD_BYTES + 2
"""What a row takes in a batch beside its contents, or a little more: so a run that fills a batch is not cut again."""


class RowLimits(NamedTuple):
    """How large a run should be: a batch, but at most half of `buffer_memory_bytes`."""

    batch_size_bytes: int
    buffer_memory_bytes: int


class Run(NamedTuple):
    """Rows `first` to before `end`, and what they take of buffer.memory."""

    first: int
    end: int
    size_bytes: int


class GivenColumns:
    """The columns of one call.

    Attributes: `runs`; `count` rows; `largest_row` and its `largest_bytes` of memory, -1 without rows.
    Raises: TypeError, ValueError: naming the row and what no record can have.
    """

    def __init__(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        partition: int | None,
        headers: Sequence[Headers] | None,
        timestamps_ms: Sequence[int | None] | int | None,
        limits: RowLimits,
        now_ms: int,
    ) -> None:
        check_topic(topic)
        if partition is not None and (not isinstance(partition, int) or partition < 0):
            raise ValueError(f"partition must be a number from 0 on, not {partition!r}")
        self.count = len(values)
        self._values = _listed(values, "values", self.count)
        self._keys = None if keys is None else _listed(keys, "keys", self.count)
        self._headers: list[Headers] | None = None
        if headers is not None:
            self._headers = [tuple(each) for each in _listed(headers, "headers", self.count)]
        self._headers_bytes = None if self._headers is None else list(_headers_bytes(self._headers))
        self._timestamp_ms = now_ms
        self._timestamps_ms: list[int] | None = None
        if isinstance(timestamps_ms, int):
            check_timestamp(timestamps_ms)
            self._timestamp_ms = timestamps_ms
        elif timestamps_ms is not None:
            self._timestamps_ms = checked_timestamps(_listed(timestamps_ms, "timestamps_ms", self.count), now_ms)
        quarter_bytes = limits.buffer_memory_bytes // 4
        beside_bytes = MEMORY_OVERHEAD_BYTES - _ROW_BYTES
        room_bytes = min(limits.batch_size_bytes - BATCH_OVERHEAD_BYTES, quarter_bytes)
        most_rows = max(1, quarter_bytes // beside_bytes)
        cuts, self.largest_row, largest_bytes = cut_rows(
            self._values, self._keys, self._headers_bytes, _ROW_BYTES, room_bytes, most_rows
        )
        self.largest_bytes = largest_bytes + beside_bytes if cuts else -1
        self.runs: list[Run] = []
        first = 0
        for end, run_bytes in cuts:
            self.runs.append(Run(first, end, run_bytes + beside_bytes * (end - first)))
            first = end

    def made(self, run: Run, columns: ColumnsFuture, partition: int) -> RecordRun:
        """Return the run with its own columns, so that its rows can be released before those behind them.

        `created_at_ms` is left to be set when the run is accepted.
        """
        rows = slice(run.first, run.end)
        return RecordRun(
            columns,
            partition,
            self._values[rows],
            None if self._keys is None else self._keys[rows],
            None if self._headers is None else self._headers[rows],
            None if self._headers_bytes is None else self._headers_bytes[rows],
            None if self._timestamps_ms is None else self._timestamps_ms[rows],
            self._timestamp_ms,
            0,
            run.size_bytes,
        )


def _listed(column: Sequence[T], name: str, count: int) -> list[T]:
    if len(column) != count:
        raise ValueError(f"{name} has {len(column)} entries, values {count}")
    return list(column)


def _headers_bytes(headers: Sequence[Headers]) -> Iterator[int]:
    for row, each in enumerate(headers):
        try:
            yield checked_headers_bytes(each) if each else 0
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {row}: {error}") from None
