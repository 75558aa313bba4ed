"""Lines: values in one bytes object, each followed by a delimiter, as a column for `send_columns`."""

from collections.abc import Iterator, Sequence
from typing import overload

from kctl.client.records._hot.bulk import encode_lines, measure_lines
from kctl.client.records._hot.rows import Rows, split_all


class Lines(Sequence[bytes]):
    """Lines of `data`, which each end with a delimiter; bytes after the last delimiter are excluded.

    Args:
        delimiter: separator of at least one byte.
        begun: prefix of the first line; it must not contain a part of a delimiter that ends in `data`.
    Attributes:
        behind: position after the last delimiter.
        longest_bytes: size of the longest line, without delimiter.
        total_bytes: size of all lines, without delimiters.
    """

    def __init__(self, data: bytes, delimiter: bytes, begun: bytes = b"") -> None:
        self._data = data
        self._delimiter = delimiter
        self._begun = begun
        self._split: list[bytes] | None = None
        self._count, self.longest_bytes, self.behind = measure_lines(data, delimiter)
        self.total_bytes = self.behind - self._count * len(delimiter)
        if begun and self._count:
            self.total_bytes += len(begun)
            self.longest_bytes = max(self.longest_bytes, len(begun) + data.find(delimiter))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self.as_list()[index]

    def as_list(self) -> list[bytes]:
        if self._split is None:
            self._split = self.between(0, self.behind)
        return self._split

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.as_list())

    def between(self, at: int, end: int) -> list[bytes]:
        lines = split_all(self._data[at:end], self._delimiter)[:-1]
        if self._begun and at == 0 and lines:
            lines[0] = self._begun + lines[0]
        return lines

    def sizes(self) -> list[int]:
        return [self.total_bytes] if self._count == 1 else [*map(len, self.between(0, self.behind))]

    def pieces(self) -> list[tuple[bytes, int, int]]:
        """Return (bytes, start, end) of pieces that contain all lines and their delimiters."""
        if not self._begun:
            return [(self._data, 0, self.behind)]
        first = self._data.find(self._delimiter) + len(self._delimiter)
        line = self._begun + self._data[:first]
        return [(line, 0, len(line)), (self._data, first, self.behind)]

    def row_bytes(self, row: int) -> int:
        return len(self[row])

    def rows(self, at: int, end: int, timestamp_ms: int) -> Rows:
        return Rows([*self.between(at, end)], timestamp_ms=timestamp_ms)

    def rest(self) -> bytes:
        return self._data[self.behind :]

    def encoded_from(self, at: int, room_bytes: int, most: int) -> tuple[bytes, int, int]:
        """Encode lines from byte `at` on as records: at least one, at most `most`, and within `room_bytes`.

        Returns: (records, their number, start of the next line or `behind`).
        """
        begun = b"" if at else self._begun
        return encode_lines(begun, self._data, at, self.behind, self._delimiter, room_bytes, most)

    def content_bytes(self, at: int, end: int, count: int) -> int:
        return end - at - count * len(self._delimiter) + (0 if at else len(self._begun))
