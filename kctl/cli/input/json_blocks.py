"""Blocks of JSON lines. A regular expression splits plain lines into columns; other lines are parsed singly.

Plain lines have the same fields, in the same order, as the first line of the chunk. Results equal kctl.cli.input.jsonl.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from kctl.cli.failures import CommandError
from kctl.cli.input.form import BlockPart, Form, InputRecord
from kctl.cli.input.input_bytes import BytesRead, Source
from kctl.cli.input.json_values import JsonError, bytes_of, parse_json
from kctl.cli.input.jsonl import JSONL, ROOM, bad_line, headers_of, read_record
from kctl.cli.input.lines import read_chunks
from kctl.client.records import Header, Lines

_PLAIN = rb'[^"\\\x00-\x1f]'
_STRING = rb'"(?:' + _PLAIN + rb'++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_DATA = rb"(?:null|" + _STRING + rb'|\{"base64": ?"[A-Za-z0-9+/=]*+"\})'
_HEADER = rb"\[" + _DATA + rb", ?" + _DATA + rb"\]"
_CONTENT = rb'(?:"(' + _PLAIN + rb'*+)"|(' + _DATA + rb"))"
"""Key or value: a string without escapes, or other content."""
_FIELDS = {
    "topic": rb'(null|"' + _PLAIN + rb'++")',
    "partition": rb"(null|0|[1-9][0-9]{0,8}+)",
    "offset": rb"(?:null|0|[1-9][0-9]{0,17}+)",
    "timestamp": rb"(null|0|-?[1-9][0-9]{0,17}+)",
    "key": _CONTENT,
    "value": _CONTENT,
    "headers": rb"(null|\[\]|\[" + _HEADER + rb"(?:, ?" + _HEADER + rb")*+\])",
    "key_schema": rb"null",
    "value_schema": rb"null",
    "cause": rb"(?:null|" + _STRING + rb")",
    "perhaps_written": rb"(?:null|true|false)",
}
_NAME = re.compile(rb'[{,] ?"([a-z0-9_]++)": ?(?:[-0-9a-z]++|' + _DATA + rb"|\[(?:" + _HEADER + rb"(?:, ?)?)*+\])")
_PIECE_BYTES = 1 << 20
_NO_HEADERS = (b"[]", b"null", b"")


class _Shape(NamedTuple):
    """Order of the fields in plain lines.

    Attributes:
        lines: matches each line. Lines that are not plain match the last group.
        groups: index of the first group of each field.
    """

    lines: re.Pattern[bytes]
    groups: dict[str, int]


class JsonBlock(NamedTuple):
    """Consecutive JSON lines of one stream, as columns.

    Attributes:
        numbers: line number of each record, from 1.
        offsets: offset of each line in the stream.
        end: end offset of the last line.
        keys, topics, partitions, timestamps_ms, headers: values by row; None if no record has one.
    """

    name: str
    numbers: Sequence[int]
    offsets: Sequence[int]
    end: int
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    topics: list[str | None] | None = None
    partitions: list[int | None] | None = None
    timestamps_ms: list[int | None] | None = None
    headers: list[tuple[Header, ...]] | None = None

    def row_bytes(self, row: int) -> int:
        """Return the size of the line of a row, including following empty lines."""
        return (self.offsets[row + 1] if row + 1 < len(self.offsets) else self.end) - self.offsets[row]

    def record(self, row: int) -> InputRecord:
        return InputRecord(
            f"{self.name} line {self.numbers[row]} (byte {self.offsets[row]})",
            self.values[row],
            None if self.keys is None else self.keys[row],
            () if self.headers is None else self.headers[row],
            None if self.topics is None else self.topics[row],
            None if self.partitions is None else self.partitions[row],
            None if self.timestamps_ms is None else self.timestamps_ms[row],
        )

    def records(self, first: int = 0) -> Iterator[InputRecord]:
        return map(self.record, range(first, len(self.values)))

    def parts(self, *, by_topic: bool, by_partition: bool) -> Iterator[BlockPart]:
        topics = self.topics if by_topic else None
        partitions = self.partitions if by_partition else None
        count = len(self.values)

        def target(row: int) -> tuple[str | None, int | None]:
            return None if topics is None else topics[row], None if partitions is None else partitions[row]

        if len(set(topics or ())) < 2 and len(set(partitions or ())) < 2:
            yield BlockPart(0, *target(0), self.values, self.keys, self.headers, self.timestamps_ms)
            return
        for (topic, partition), rows in groupby(range(count), target):
            first, *_, last = [*rows] * 2
            part = slice(first, last + 1)
            yield BlockPart(
                first,
                topic,
                partition,
                self.values[part],
                None if self.keys is None else self.keys[part],
                None if self.headers is None else self.headers[part],
                None if self.timestamps_ms is None else self.timestamps_ms[part],
            )


def read_json_blocks(
    source: Source, name: str, longest_bytes: int, progress: BytesRead | None = None, form: Form = JSONL
) -> Iterator[JsonBlock]:
    """Yield the records of one stream as blocks. Empty lines are skipped.

    Args: form: format, of which only the default key is used.
    Raises: CommandError: as kctl.cli.input.jsonl.read_jsonl, after all records before the line.
    """
    for number, offset, contents in read_chunks(source, name, longest_bytes * ROOM, progress=progress):
        block, error = _Chunk(name, number, offset, contents, form).read()
        del contents  # lines can be large: release them
        if block.values:
            yield block
        if error is not None:
            raise error


class _Chunk:
    def __init__(self, name: str, number: int, offset: int, contents: Lines | list[bytes], form: Form) -> None:
        self._name = name
        self._number = number
        self._contents = contents
        self._form = form
        sizes = map(len, contents) if isinstance(contents, list) else contents.sizes()
        self._offsets = list(accumulate(map((1).__add__, sizes), initial=offset))

    def read(self) -> tuple[JsonBlock, CommandError | None]:
        """Return the records before the first invalid line, and the error of that line or None."""
        contents = self._contents
        pieces = [(line, 0, len(line)) for line in contents] if isinstance(contents, list) else contents.pieces()
        shape = _shape_of(pieces[0][0], pieces[0][1])
        if shape is None or not all(_is_utf8(*piece) for piece in pieces):
            return self._block(_Columns(len(contents)), range(len(contents)))
        rows: list[tuple[bytes, ...]] = []
        for piece in pieces:
            rows += shape.lines.findall(*piece)
        groups = list(zip(*rows, strict=True))
        del rows, pieces
        irregular = [row for row, line in enumerate(groups[-1]) if line] if any(groups[-1]) else []
        columns = _Columns(len(contents))
        columns.values, wrong = _contents_of(groups, shape.groups["value"])
        irregular += wrong
        if "key" in shape.groups:
            columns.keys, wrong = _contents_of(groups, shape.groups["key"])
            irregular += wrong
        if "topic" in shape.groups:
            columns.topics = _each(groups[shape.groups["topic"]], _text)
        if "partition" in shape.groups:
            columns.partitions = _each(groups[shape.groups["partition"]], _number)
        if "timestamp" in shape.groups:
            columns.timestamps_ms = _each(groups[shape.groups["timestamp"]], _number)
        if "headers" in shape.groups:
            columns.headers, wrong = _headers_column(groups[shape.groups["headers"]])
            irregular += wrong
        lines = groups[-1]
        del groups
        return self._block(columns, sorted(set(irregular)), lines)

    def _block(
        self, columns: "_Columns", irregular: Sequence[int], lines: Sequence[bytes] = ()
    ) -> tuple[JsonBlock, CommandError | None]:
        """Parse the irregular lines, and return the result as `read` does."""
        error: CommandError | None = None
        end = len(self._contents)
        empty = set()
        for row in irregular:
            line = (lines[row] if lines else b"").removesuffix(b"\n") or self._contents[row]
            if not line.strip():
                empty.add(row)
                continue
            place = f"{self._name} line {self._number + row} (byte {self._offsets[row]})"
            try:
                columns.set(row, read_record(place, line, self._form))
            except JsonError as e:
                error, end = bad_line(place, line, e), row
                break
        numbers: Sequence[int] = range(self._number, self._number + end)
        if empty or error is not None:
            kept = [row for row in range(end) if row not in empty]
            columns.keep(kept)
            numbers = [self._number + row for row in kept]
            offsets = [self._offsets[row] for row in kept]
        else:
            offsets = self._offsets[:-1]
        given = self._form.key
        if given is not None:
            columns.keys = [given if key is None else key for key in columns.keys or [None] * len(columns.values)]
        return JsonBlock(
            self._name,
            numbers,
            offsets,
            self._offsets[end],
            columns.values,
            columns.keys,
            columns.topics,
            columns.partitions,
            columns.timestamps_ms,
            columns.headers,
        ), error


class _Columns:
    """Columns of `count` rows; None if no row has a value."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.values: list[bytes | None] = [None] * count
        self.keys: list[bytes | None] | None = None
        self.topics: list[str | None] | None = None
        self.partitions: list[int | None] | None = None
        self.timestamps_ms: list[int | None] | None = None
        self.headers: list[tuple[Header, ...]] | None = None

    def set(self, row: int, record: InputRecord) -> None:
        self.values[row] = record.value
        for name, entry in (
            ("keys", record.key),
            ("topics", record.topic),
            ("partitions", record.partition),
            ("timestamps_ms", record.timestamp_ms),
        ):
            column = getattr(self, name)
            if column is None and entry is not None:
                column = [None] * self._count
                setattr(self, name, column)
            if column is not None:
                column[row] = entry
        if self.headers is None and record.headers:
            self.headers = [()] * self._count
        if self.headers is not None:
            self.headers[row] = record.headers

    def keep(self, rows: list[int]) -> None:
        for name in ("values", "keys", "topics", "partitions", "timestamps_ms", "headers"):
            column = getattr(self, name)
            if column is not None:
                setattr(self, name, [column[row] for row in rows])


def _shape_of(data: bytes, at: int) -> _Shape | None:
    names: list[bytes] = []
    while (member := _NAME.match(data, at)) is not None and len(names) < len(_FIELDS):
        names.append(member[1])
        at = member.end()
    return _shape(tuple(names))


@lru_cache(maxsize=16)
def _shape(names: tuple[bytes, ...]) -> _Shape | None:
    fields = [name.decode() for name in names]
    if "value" not in fields or len(set(fields)) < len(fields) or not _FIELDS.keys() >= set(fields):
        return None
    members = rb", ?".join(rb'"%b": ?%b' % (name, _FIELDS[field]) for name, field in zip(names, fields, strict=True))
    groups, count = {}, 0
    for field in fields:
        groups[field] = count
        count += re.compile(_FIELDS[field]).groups
    return _Shape(re.compile(rb"\{ ?" + members + rb" ?\}\r?(?:\n|\Z)|([^\n]++(?:\n|\Z)|\n)"), groups)


def _is_utf8(data: bytes, at: int, end: int) -> bool:
    if data.isascii():
        return True
    decoder = getincrementaldecoder("utf-8")()
    try:
        for start in range(at, end, _PIECE_BYTES):
            decoder.decode(data[start : min(end, start + _PIECE_BYTES)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _contents_of(groups: list[tuple[bytes, ...]], at: int) -> tuple[list[bytes | None], list[int]]:
    column: list[bytes | None] = list(groups[at])
    wrong: list[int] = []
    others = groups[at + 1]
    if any(others):
        for row, token in enumerate(others):
            if token:
                try:
                    column[row] = None if token == b"null" else bytes_of(parse_json(token))
                except JsonError:
                    wrong.append(row)
    return column, wrong


def _headers_column(tokens: Sequence[bytes]) -> tuple[list[tuple[Header, ...]] | None, list[int]]:
    if set(tokens) <= {*_NO_HEADERS}:
        return None, []
    column: list[tuple[Header, ...]] = []
    wrong: list[int] = []
    for row, token in enumerate(tokens):
        try:
            column.append(() if token in _NO_HEADERS else headers_of(parse_json(token)))
        except JsonError:
            column.append(())
            wrong.append(row)
    return column, wrong


def _each(tokens: Sequence[bytes], read: Callable[[bytes], Any]) -> list[Any] | None:
    """Convert the tokens of a column, equal tokens only once. Return None if all values are None."""
    known = {token: read(token) for token in set(tokens)}
    return None if all(each is None for each in known.values()) else [known[token] for token in tokens]


def _number(token: bytes) -> int | None:
    return None if token in (b"null", b"") else int(token)


def _text(token: bytes) -> str | None:
    return None if token in (b"null", b"") else token[1:-1].decode()
