"""Packed columns: entries that lie one after the other in one buffer, and rows of them that are encoded from there.

Columns for `send_columns`; objects are made only of what is asked for.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, overload

from kctl.client.records._hot.filled import PackedParts
from kctl.client.records._hot.packed import divide_packed, encode_packed, measure_packed, take_entries
from kctl.client.records._hot.rows import Rows

_LEAST_RECORD_BYTES: Final = 7
"""Of the seven fields of a record, each of a byte where key and value are null."""


class PackedColumn(Sequence[bytes | None]):
    """Keys or values as an Arrow array of bytes has them.

    Args: parts: of the column; its buffers must not change as long as it is used.
    """

    def __init__(self, parts: PackedParts) -> None:
        self.parts = parts
        self._ends = parts[1].cast("B").cast("i")

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes | None]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes | None] | None:
        if isinstance(index, int):
            row = range(len(self))[index]
            return self.between(row, row + 1)[0]
        return self.between(0, len(self))[index]

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self.between(0, len(self)))

    def between(self, first: int, end: int) -> list[bytes | None]:
        """Return the entries from row `first` to before `end`."""
        return take_entries(self.part(first, end), 0, end - first)

    def part(self, first: int, end: int) -> PackedParts:
        """Return the column of these rows alone: every call of a loop in C checks all ends that it is given."""
        contents, _, bitmap, bit = self.parts
        return contents, self._ends[first : end + 1], bitmap, bit + first

    def content_bytes(self, first: int, end: int) -> int:
        """Return the bytes from row `first` to before `end`; what a null covers counts, which is mostly nothing."""
        return self._ends[end] - self._ends[first]


class PackedRows:
    """Rows of a column of values and, where they have keys, one of those.

    Attributes:
        behind: the number of rows.
        longest_bytes: key and value of the largest row.
        has_keys: whether there is a column of keys.
    """

    def __init__(self, values: PackedColumn, keys: PackedColumn | None = None) -> None:
        self._values = values
        self._keys = keys
        self.has_keys = keys is not None
        self.behind = len(values)
        self.longest_bytes = measure_packed(values.parts, None if keys is None else keys.parts)

    def __len__(self) -> int:
        return self.behind

    def row_bytes(self, row: int) -> int:
        """Return the bytes of key and value of a row."""
        return self.content_bytes(row, row + 1, 1)

    def rows(self, at: int, end: int, timestamp_ms: int) -> Rows:
        """Return the rows from `at` to before `end` as objects."""
        keys = None if self._keys is None else self._keys.between(at, end)
        return Rows(self._values.between(at, end), keys, timestamp_ms=timestamp_ms)

    def encoded_from(self, at: int, room_bytes: int, most: int) -> tuple[bytes, int, int]:
        """Return the rows from `at` on as records of a batch, as Lines.encoded_from does."""
        end = min(self.behind, at + most, at + 1 + room_bytes // _LEAST_RECORD_BYTES)
        keys = None if self._keys is None else self._keys.part(at, end)
        records, count = encode_packed(self._values.part(at, end), keys, 0, end - at, room_bytes, most)
        return records, count, at + count

    def content_bytes(self, at: int, end: int, _count: int) -> int:
        """Return the bytes of keys and values of the rows from `at` to before `end`."""
        keys = 0 if self._keys is None else self._keys.content_bytes(at, end)
        return keys + self._values.content_bytes(at, end)

    def end_within(self, at: int, overhead_bytes: int, room_bytes: int, most: int) -> int:
        """Return the end of the rows from `at` on that take `room_bytes`, at most `most` and at least one.

        Args: overhead_bytes: what a row takes beside its contents.
        """
        ends = range(at + 1, min(self.behind, at + most) + 1)
        fitting = bisect_right(
            ends, room_bytes, key=lambda end: self.content_bytes(at, end, 0) + overhead_bytes * (end - at)
        )
        return ends[max(0, fitting - 1)]

    def part(self, at: int, end: int, timestamp_ms: int) -> "PackedPart":
        """Return the rows from `at` to before `end`, which have keys."""
        assert self._keys is not None
        return PackedPart(self, self._values, self._keys, at, end, timestamp_ms)


class PackedPart(NamedTuple):
    """Some rows with keys that choose their partitions."""

    packed: PackedRows
    values: PackedColumn
    keys: PackedColumn
    first: int
    end: int
    timestamp_ms: int

    def rows(self) -> Rows:
        """Return the rows as objects."""
        return self.packed.rows(self.first, self.end, self.timestamp_ms)

    def divided(self, partition_count: int) -> list[tuple[int, bytes, int, int]] | None:
        """Return (partition, records of a batch, how many, bytes of keys and values) of what keys choose.

        None where a row has no key, or the rows are fewer than the partitions.
        """
        if self.end - self.first < partition_count:
            return None
        values, keys = (column.part(self.first, self.end) for column in (self.values, self.keys))
        return divide_packed(values, keys, 0, self.end - self.first, partition_count)
