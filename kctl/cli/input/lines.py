"""Records between delimiters, usually lines. A record is a value, or key, separator and value."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.input.form import LINE_FEED, BlockPart, InputRecord
from kctl.cli.input.input_bytes import READ_BYTES, BytesRead, Source, bad_input
from kctl.client.records import Lines, split_at

BLOCK_BYTES = 13 * READ_BYTES
"""Maximum size of a read: lines from 70 bytes on nearly fill a batch of `kctl produce`. Pipes return less."""
LONG_LINE_BYTES = 640
LONG_BLOCK_BYTES = 15 * READ_BYTES
"""Maximum size of a read for lines from 640 bytes on, whose overhead per record is smaller."""


class LineBlock(NamedTuple):
    """Consecutive records of one stream, as columns.

    Attributes:
        name: name of the stream, for messages.
        what: name of a record, such as `line`, for messages.
        number: number of the first record, from 1.
        offset: offset of the first record.
        keys: key of each record, or None for a record without key. None without a separator.
        given_key: key of records without a key.
    """

    name: str
    what: str
    number: int
    offset: int
    values: Sequence[bytes | None]
    keys: list[bytes | None] | None
    delimiter_bytes: int
    separator_bytes: int
    given_key: bytes | None = None

    def row_bytes(self, row: int) -> int:
        key = None if self.keys is None else self.keys[row]
        key_bytes = 0 if key is None else len(key) + self.separator_bytes
        return key_bytes + len(self.values[row] or b"") + self.delimiter_bytes

    def parts(self, *, by_topic: bool, by_partition: bool) -> Iterator[BlockPart]:  # noqa: ARG002
        """Yield all rows as one part, because lines choose neither topic nor partition."""
        yield BlockPart(0, None, None, self.values, self._all_keys())

    def _all_keys(self) -> list[bytes | None] | None:
        given = self.given_key
        if given is None:
            return self.keys
        if self.keys is None:
            return [given] * len(self.values)
        return [given if key is None else key for key in self.keys]

    def record(self, row: int) -> InputRecord:
        return next(self.records(row))

    def records(self, first: int = 0) -> Iterator[InputRecord]:
        offset = self.offset + first * self.delimiter_bytes + sum(len(value or b"") for value in self.values[:first])
        if self.keys is not None:
            offset += sum(len(key) + self.separator_bytes for key in self.keys[:first] if key is not None)
        for row in range(first, len(self.values)):
            value, key = self.values[row], None if self.keys is None else self.keys[row]
            place = f"{self.name} {self.what} {self.number + row} (byte {offset})"
            yield InputRecord(place, value, self.given_key if key is None else key)
            offset += len(value or b"") + self.delimiter_bytes
            offset += 0 if key is None else len(key) + self.separator_bytes


def read_lines(
    source: Source,
    name: str,
    longest_bytes: int,
    delimiter: bytes = LINE_FEED,
    key_separator: bytes | None = None,
    progress: BytesRead | None = None,
) -> Iterator[InputRecord]:
    """Yield the records of one stream. Args and Raises: see `read_line_blocks`."""
    progress, ahead = progress or BytesRead(), BytesRead()
    before_bytes = progress.read_bytes
    for block in read_line_blocks(source, name, longest_bytes, delimiter, key_separator, ahead):
        for row, record in enumerate(block.records()):
            yield record
            progress.read_bytes += block.row_bytes(row)  # without bytes that were read ahead
    progress.read_bytes = before_bytes + ahead.read_bytes  # the last record may have no delimiter


def read_line_blocks(
    source: Source,
    name: str,
    longest_bytes: int,
    delimiter: bytes = LINE_FEED,
    key_separator: bytes | None = None,
    progress: BytesRead | None = None,
) -> Iterator[LineBlock]:
    """Yield the records of one stream in blocks, as soon as they are available. The last record needs no delimiter.

    Args: key_separator: text between key and value. Lines without it are values.
    Raises: CommandError: a line exceeds `longest_bytes`. Raised after all lines before it.
    """
    what = _what(delimiter)
    separator_bytes = len(key_separator or b"")
    for number, offset, contents in read_chunks(source, name, longest_bytes, delimiter, progress):
        values: Sequence[bytes | None] = contents
        keys = None
        if key_separator is not None:
            keys, values = split_at(list(contents), key_separator)
        yield LineBlock(name, what, number, offset, values, keys, len(delimiter), separator_bytes)


def read_chunks(
    source: Source, name: str, longest_bytes: int, delimiter: bytes = LINE_FEED, progress: BytesRead | None = None
) -> Iterator[tuple[int, int, Lines | list[bytes]]]:
    """Yield contents between delimiters, with the number and offset of the first content.

    Raises: see `read_line_blocks`.
    """
    number, offset = 1, 0
    chunks = _split(source, longest_bytes, delimiter, progress or BytesRead())
    while chunk := next(chunks, None):
        contents: Lines | list[bytes] = chunk
        too_long = None
        if _longest_bytes(contents) > longest_bytes:
            fitting = next(at for at, each in enumerate(contents) if len(each) > longest_bytes)
            too_long, contents = contents[fitting], contents[:fitting]
        at, count = offset, len(contents)
        total_bytes = contents.total_bytes if isinstance(contents, Lines) else sum(map(len, contents))
        offset += total_bytes + count * len(delimiter)
        if count:
            taken = [contents]
            del contents, chunk  # only the caller may hold data, which can be large
            yield number, at, taken.pop()
        number += count
        if too_long is not None:
            raise _too_long(too_long, f"{name} {_what(delimiter)} {number} (byte {offset})", longest_bytes)


def _what(delimiter: bytes) -> str:
    return "line" if delimiter == LINE_FEED else "record"


def _longest_bytes(contents: Lines | list[bytes]) -> int:
    return contents.longest_bytes if isinstance(contents, Lines) else max(map(len, contents))


def _split(source: Source, longest_bytes: int, delimiter: bytes, progress: BytesRead) -> Iterator[Lines | list[bytes]]:
    """Yield contents between delimiters, as a list if the last has no delimiter.

    If an unfinished content exceeds `longest_bytes`, it is the last.
    """
    rest = bytearray()
    searched, wanted_bytes = 0, BLOCK_BYTES
    while data := source.read1(wanted_bytes):
        progress.read_bytes += len(data)
        lines = None
        if delimiter in data and len(rest) <= len(data) and not (rest and len(delimiter) > 1):
            lines = Lines(data, delimiter, bytes(rest))
        else:  # join a large line once; the delimiter may cross the border
            rest += data
            if rest.find(delimiter, searched) >= 0:
                lines = Lines(bytes(rest), delimiter)
        if lines is not None:
            rest = bytearray(lines.rest())
            wanted_bytes = LONG_BLOCK_BYTES if lines.total_bytes >= LONG_LINE_BYTES * len(lines) else BLOCK_BYTES
            ready = [lines]
            del lines, data  # only the caller may hold data, which can be large
            yield ready.pop()
        searched = max(0, len(rest) - len(delimiter) + 1)
        if len(rest) > longest_bytes + len(delimiter) - 1:  # it may end with a part of the delimiter
            break
    if rest:
        last = [bytes(rest)]
        del rest
        yield [last.pop()]


def _too_long(content: bytes, place: str, longest_bytes: int) -> CommandError:
    problem = f"{place} is longer than {longest_bytes} bytes (max.request.size)"
    return CommandError(
        ExitCode.DATA, str(bad_input(problem, content[:100], 0)), "raise the limit with -X max.request.size=BYTES"
    )
