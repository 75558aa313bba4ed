"""Packed columns for `send_columns`, whose entries are adjacent in one buffer, and rows of these columns."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, overload

from kctl.client.records._hot.filled import PackedParts
from kctl.client.records._hot.packed import divide_packed, encode_packed, measure_packed, take_entries
from kctl.client.records._hot.rows import Rows

_LEAST_RECORD_BYTES: Final = 7
"""Minimum size of a record, with null key and value: seven fields of one byte."""


class PackedColumn(Sequence[bytes | None]):
    """Keys or values in the form of an Arrow array of bytes.

    Args: parts: buffers, which must not change while the column is used.
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
        return take_entries(self.part(first, end), 0, end - first)

    def part(self, first: int, end: int) -> PackedParts:
        """Return only these rows, because the loops in C check all ends that they receive."""
        contents, _, bitmap, bit = self.parts
        return contents, self._ends[first : end + 1], bitmap, bit + first

    def content_bytes(self, first: int, end: int) -> int:
        """Return the size of rows; bytes of null entries, which are usually absent, are included."""
        return self._ends[end] - self._ends[first]


class PackedRows:
    """Rows of values and optional keys.

    Attributes:
        behind: number of rows.
        longest_bytes: size of the largest row.
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
        return self.content_bytes(row, row + 1, 1)

    def rows(self, at: int, end: int, timestamp_ms: int) -> Rows:
        keys = None if self._keys is None else self._keys.between(at, end)
        return Rows(self._values.between(at, end), keys, timestamp_ms=timestamp_ms)

    def encoded_from(self, at: int, room_bytes: int, most: int) -> tuple[bytes, int, int]:
        """Encode rows from row `at` on as records, as Lines.encoded_from does."""
        end = min(self.behind, at + most, at + 1 + room_bytes // _LEAST_RECORD_BYTES)
        keys = None if self._keys is None else self._keys.part(at, end)
        records, count = encode_packed(self._values.part(at, end), keys, 0, end - at, room_bytes, most)
        return records, count, at + count

    def content_bytes(self, at: int, end: int, _count: int) -> int:
        keys = 0 if self._keys is None else self._keys.content_bytes(at, end)
        return keys + self._values.content_bytes(at, end)

    def end_within(self, at: int, overhead_bytes: int, room_bytes: int, most: int) -> int:
        """Return the end of the rows from `at` on that fit: at least one row, at most `most`.

        Args: overhead_bytes: size of a row in addition to its contents.
        """
        ends = range(at + 1, min(self.behind, at + most) + 1)
        fitting = bisect_right(
            ends, room_bytes, key=lambda end: self.content_bytes(at, end, 0) + overhead_bytes * (end - at)
        )
        return ends[max(0, fitting - 1)]

    def part(self, at: int, end: int, timestamp_ms: int) -> "PackedPart":
        assert self._keys is not None
        return PackedPart(self, self._values, self._keys, at, end, timestamp_ms)


class PackedPart(NamedTuple):
    """Rows with keys, for division by partition."""

    packed: PackedRows
    values: PackedColumn
    keys: PackedColumn
    first: int
    end: int
    timestamp_ms: int

    def rows(self) -> Rows:
        return self.packed.rows(self.first, self.end, self.timestamp_ms)

    def divided(self, partition_count: int) -> list[tuple[int, bytes, int, int]] | None:
        """Return the rows divided by partition, as `divide_packed` does, or None.

        None means that there are fewer rows than partitions, or that a row has no key.
        """
        if self.end - self.first < partition_count:
            return None
        values, keys = (column.part(self.first, self.end) for column in (self.values, self.keys))
        return divide_packed(values, keys, 0, self.end - self.first, partition_count)
