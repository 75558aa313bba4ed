"""Loops that cost a few nanoseconds for each record: plain records to values or columns, lines to records.

A plain record has no damage and no long numbers; the cursor reads other records. bulk.c has the same functions in C.
"""

from __future__ import annotations

from typing import Final

from kctl.client.records._hot.filled import FilledParts, append_entry, append_number
from kctl.client.records._hot.plain_record import plain_record, plain_values
from kctl.client.records._hot.varint import varint

_LARGEST_END: Final = (1 << 31) - 1
"""Maximum end of an entry in a column."""


def take_values(
    buf: bytes,
    pos: int,
    limit: int,
    first_delta: int,
    end_delta: int,
    most: int,
    left: int,
    separator: bytes,
    null: bytes,
) -> tuple[bytes, int, int, int]:
    """Return the values of plain records from `pos` on, each followed by the separator.

    Args:
        pos, limit: start of the next record, and end of the last record of the batch.
        first_delta, end_delta: accepted range of offset deltas; the first record outside ends the loop.
        most: maximum number of records.
        left: number of unread records in the batch. The last record is not read if more bytes follow it.
        null: replacement for null values.
    Returns: (output, number of records, position after them, offset delta of the last one or `first_delta - 1`).
    """
    values, pos, last = plain_values(buf, pos, limit, first_delta, end_delta, most, left)
    out = [null if size < 0 else buf[at : at + size] for at, size in values]
    return separator.join([*out, b""]), len(values), pos, last


def take_columns(
    buf: bytes,
    pos: int,
    limit: int,
    first_delta: int,
    end_delta: int,
    most: int,
    room: int,
    ends_at_headers: bool,
    base_offset: int,
    base_ms: int,
    is_fixed: bool,
    keys: FilledParts | None,
    values: FilledParts | None,
    offsets: bytearray | None,
    times: bytearray | None,
) -> tuple[int, int, int, int]:
    """Append plain records from `pos` on to columns.

    Args:
        pos, limit, first_delta, end_delta, most: as for `take_values`.
        room: maximum size of keys and values; the record that reaches it is the last one.
        ends_at_headers: whether to stop at a record with headers.
        base_ms, is_fixed: base of the timestamp deltas; if `is_fixed`, the timestamp of all records.
        offsets, times: columns of signed 64-bit numbers.
    Returns: (number of records, position after them, offset delta of the last one or `first_delta - 1`, room left).
    """
    limit = min(limit, len(buf))
    taken, last = 0, first_delta - 1
    while taken < most and room > 0:
        found = plain_record(buf, pos, limit)
        if found is None or not last < found[0] < end_delta:
            break
        delta, time_delta, key_at, key_size, value_at, value_size, end = found
        if ends_at_headers and buf[value_at + max(value_size, 0)] != 0:
            break
        key = None if key_size < 0 else buf[key_at : key_at + key_size]
        value = None if value_size < 0 else buf[value_at : value_at + value_size]
        wanted = [(column, entry) for column, entry in ((keys, key), (values, value)) if column is not None]
        if any(len(column[0]) + len(entry or b"") > _LARGEST_END for column, entry in wanted):
            break
        for column, entry in wanted:
            append_entry(column, entry)
            room -= len(entry or b"")
        if offsets is not None:
            append_number(offsets, _wrapped(base_offset + delta))
        if times is not None:
            append_number(times, base_ms if is_fixed else _wrapped(base_ms + time_delta))
        last, pos = delta, end
        taken += 1
    return taken, pos, last, room


def _wrapped(number: int) -> int:
    """Return the number modulo 2^64 as a signed number; Java's addition does the same."""
    return ((number + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def measure_lines(data: bytes, delimiter: bytes) -> tuple[int, int, int]:
    """Return (number of lines, size of the longest, position after the last delimiter)."""
    _check(delimiter)
    count, longest, at = 0, 0, 0
    while (end := data.find(delimiter, at)) >= 0:
        count += 1
        longest = max(longest, end - at)
        at = end + len(delimiter)
    return count, longest, at


def encode_lines(
    begun: bytes, data: bytes, at: int, end: int, delimiter: bytes, room: int, most: int
) -> tuple[bytes, int, int]:
    """Encode the lines of `data[at:end]`, which each end with the delimiter, as records with only a value.

    Args:
        begun: prefix of the first line.
        room: maximum size of the records; the first one may exceed it.
        most: maximum number of records.
    Returns: (records, their number, position after the last encoded line).
    """
    _check(delimiter)
    parts: list[bytes] = []
    number = 0
    while at < end and number < most:
        line_end = data.find(delimiter, at, end)
        if line_end < 0:
            break
        value = begun + data[at:line_end]
        contents = b"\0\0" + varint(number) + b"\x01" + varint(len(value)) + value + b"\0"
        record = varint(len(contents)) + contents
        if number and len(record) > room:
            break
        room -= len(record)
        parts.append(record)
        begun = b""
        number += 1
        at = line_end + len(delimiter)
    return b"".join(parts), number, at


def _check(delimiter: bytes) -> None:
    if not delimiter:
        raise ValueError("empty delimiter")
