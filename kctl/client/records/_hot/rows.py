"""Rows: records as columns, which are measured and divided before builder.py encodes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from kctl.client.records._hot.murmur2 import murmur2, partitions_of_keys
from kctl.client.records._hot.native_types import i64, mypyc_attr
from kctl.client.records._hot.record import Header

FIRST_TIMESTAMP_MS: Final = -(1 << 63)
LAST_TIMESTAMP_MS: Final = (1 << 63) - 1
"""Bounds of timestamps; brokers store any signed 64-bit number."""

_SHORT_KEY_BYTES: Final = 24
_SAMPLE: Final = 4
_LONG_BYTES: Final = 300
"""Average size of the first _SAMPLE parts from which searching for each delimiter is faster than bytes.split."""


@final
@mypyc_attr(acyclic=True)
class Rows:
    """Columns of equal length.

    Args:
        keys, headers: columns; None if no row has one.
        headers_bytes: maximum encoded size of each row's headers.
        timestamps_ms: timestamp of each row; None if all have `timestamp_ms`.
    """

    __slots__ = ("headers", "headers_bytes", "keys", "timestamp_ms", "timestamps_ms", "values")

    def __init__(
        self,
        values: list[bytes | None],
        keys: list[bytes | None] | None = None,
        headers: list[Sequence[Header]] | None = None,
        headers_bytes: list[int] | None = None,
        timestamps_ms: list[int] | None = None,
        timestamp_ms: i64 = -1,
    ) -> None:
        self.values = values
        self.keys = keys
        self.headers = headers
        self.headers_bytes = headers_bytes
        self.timestamps_ms = timestamps_ms
        self.timestamp_ms = timestamp_ms

    @property
    def is_plain(self) -> bool:
        """Whether rows have only key and value, and share one timestamp."""
        return self.headers is None and self.timestamps_ms is None

    def size_bytes(self, first: i64, end: i64, overhead_bytes: i64) -> int:
        """Return the total size of the rows, with `overhead_bytes` added for each."""
        total_bytes: i64 = 0
        for at in range(first, end):
            total_bytes += overhead_bytes + self._content_bytes(at)
        return total_bytes

    def count_filling(self, first: i64, end: i64, overhead_bytes: i64, room_bytes: i64) -> int:
        """Return how many rows use up the room; the last one may exceed it."""
        for at in range(first, end):
            room_bytes -= overhead_bytes + self._content_bytes(at)
            if room_bytes <= 0:
                return at + 1 - first
        return end - first

    def _content_bytes(self, at: i64) -> i64:
        value = self.values[at]
        size_bytes: i64 = 0 if value is None else len(value)
        if self.keys is not None:
            key = self.keys[at]
            if key is not None:
                size_bytes += len(key)
        if self.headers_bytes is not None:
            size_bytes += self.headers_bytes[at]
        return size_bytes

    def partitions(self, first: i64, end: i64, partition_count: i64, other: int) -> list[int]:
        """Return the partition of each row by its key; rows without a key get `other`."""
        if self.keys is None:
            return [other] * (end - first)
        return partitions_of_keys(self.keys, first, end, partition_count, other)

    def by_key(
        self, first: i64, end: i64, partition_count: i64, overhead_bytes: i64
    ) -> list[tuple[int, Rows, int]] | None:
        """Divide rows by the partitions of their keys.

        Returns: (partition, rows, size as from `size_bytes`) for each partition with rows. None if a row has no key,
            rows have headers, or there are fewer rows than partitions; the caller then uses `partitions` and
            `selected`.
        """
        keys, values, times = self.keys, self.values, self.timestamps_ms
        if keys is None or self.headers is not None or end - first < partition_count:
            return None
        key_columns: list[list[bytes | None]] = [[] for _ in range(partition_count)]
        value_columns: list[list[bytes | None]] = [[] for _ in range(partition_count)]
        time_columns: list[list[int]] = [[] for _ in range(partition_count)]
        sizes: list[int] = [0] * partition_count
        for at in range(first, end):
            key = keys[at]
            if key is None:
                return None
            partition: i64 = (murmur2(key) & 0x7FFFFFFF) % partition_count
            value = values[at]
            size: i64 = overhead_bytes + len(key)
            if value is not None:
                size += len(value)
            key_columns[partition].append(key)
            value_columns[partition].append(value)
            if times is not None:
                time_columns[partition].append(times[at])
            sizes[partition] += int(size)
        found: list[tuple[int, Rows, int]] = []
        for number in range(partition_count):
            if len(value_columns[number]) > 0:
                column = None if times is None else time_columns[number]
                rows = Rows(value_columns[number], key_columns[number], None, None, column, self.timestamp_ms)
                found.append((number, rows, sizes[number]))
        return found

    def copied(self, first: int, end: int) -> Rows:
        return Rows(
            self.values[first:end],
            None if self.keys is None else self.keys[first:end],
            None if self.headers is None else self.headers[first:end],
            None if self.headers_bytes is None else self.headers_bytes[first:end],
            None if self.timestamps_ms is None else self.timestamps_ms[first:end],
            self.timestamp_ms,
        )

    def selected(self, rows: list[int]) -> Rows:
        return Rows(
            [self.values[row] for row in rows],
            None if self.keys is None else [self.keys[row] for row in rows],
            None if self.headers is None else [self.headers[row] for row in rows],
            None if self.headers_bytes is None else [self.headers_bytes[row] for row in rows],
            None if self.timestamps_ms is None else [self.timestamps_ms[row] for row in rows],
            self.timestamp_ms,
        )

    def cut(self, overhead_bytes: i64, room_bytes: i64, most_rows: i64) -> tuple[list[tuple[int, int]], int]:
        """Divide the rows into runs of at most `most_rows` and `room_bytes`; one row may be larger.

        Returns: (end, size) of each run, and the size of the largest row; -1 without rows.
        """
        cuts: list[tuple[int, int]] = []
        run_bytes: i64 = 0
        run_first: i64 = 0
        largest_bytes: i64 = -1
        count: i64 = len(self.values)
        for at in range(count):
            size_bytes = overhead_bytes + self._content_bytes(at)
            if (run_bytes + size_bytes > room_bytes and at > run_first) or at - run_first >= most_rows:
                cuts.append((at, run_bytes))
                run_bytes, run_first = 0, at
            run_bytes += size_bytes
            if size_bytes > largest_bytes:
                largest_bytes = size_bytes
        if count > run_first:
            cuts.append((count, run_bytes))
        return cuts, largest_bytes


def split_all(data: bytes, delimiter: bytes) -> list[bytes]:
    """Split as `bytes.split` does, but faster for long parts, because it does not check every byte."""
    found: list[bytes] = []
    at: i64 = 0
    size: i64 = len(delimiter)
    while True:
        end: i64 = data.find(delimiter, at)
        if end < 0:
            found.append(data[at:])
            return found
        found.append(data[at:end])
        at = end + size
        if len(found) == _SAMPLE and at < _SAMPLE * _LONG_BYTES:
            return data.split(delimiter)


def split_at(contents: list[bytes], separator: bytes) -> tuple[list[bytes | None], list[bytes | None]]:
    """Split each entry at the first separator into two columns; entries without a separator become (None, entry)."""
    before: list[bytes | None] = []
    behind: list[bytes | None] = []
    size: i64 = len(separator)
    single: i64 = separator[0] if size == 1 else -1
    for content in contents:
        at: i64 = -1
        looked: i64 = 0
        if single >= 0:  # keys are short: this loop costs less than a call of find
            looked = min(_SHORT_KEY_BYTES, len(content))
            for position in range(looked):
                if content[position] == single:
                    at = position
                    break
        if at < 0:
            at = content.find(separator, looked)
        if at < 0:
            before.append(None)
            behind.append(content)
        else:
            before.append(content[:at])
            behind.append(content[at + size :])
    return before, behind


def check_contents(contents: list[Any], what: str) -> None:
    """Raise TypeError, with the row, for an entry other than bytes and None."""
    for at in range(len(contents)):
        content = contents[at]
        if content is not None and not isinstance(content, bytes):
            raise TypeError(f"row {at}: {what} must be bytes or None, not {type(content).__name__}")


def checked_timestamps(timestamps_ms: Sequence[Any], now_ms: int) -> list[int]:
    """Return the timestamps, with `now_ms` for None. Raises: ValueError: with the row of an invalid timestamp."""
    found: list[int] = []
    for given in timestamps_ms:
        if given is None:
            found.append(now_ms)
        elif isinstance(given, int) and FIRST_TIMESTAMP_MS <= given <= LAST_TIMESTAMP_MS:
            found.append(given)
        else:
            raise ValueError(f"row {len(found)}: timestamp_ms must be milliseconds since the epoch, not {given!r}")
    return found
