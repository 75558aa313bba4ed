"""The loops in which a record costs a few nanoseconds: plain records to joined values or columns, lines to records.

The same is written in C in bulk.c, because they copy from the middle of one bytes object into another, which mypyc has
no way to do without an object for each value. They know the record format as far as it is plain, and raise nothing:
what is not plain (damage, long numbers) is left to the cursor.
"""

from __future__ import annotations

from typing import Final

from kctl.client.records._hot.filled import FilledParts, append_entry, append_number
from kctl.client.records._hot.plain_record import plain_record, plain_values
from kctl.client.records._hot.varint import varint

_LARGEST_END: Final = (1 << 31) - 1
"""Of an entry in a column."""


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
    """Return the values of plain records from `pos` on, the separator behind each, and where the records end.

    Args:
        pos, limit: where the next record starts, and the last one of the batch ends.
        first_delta, end_delta: a record whose offset delta is not in between is not taken, nor any behind it.
        most: records to take.
        left: records that the batch should still have; the last of them is not taken where more bytes follow it.
        null: stands for the value null.

    Returns: (output, records taken, position behind them, offset delta of the last, `first_delta - 1` of none).
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
    """Add plain records from `pos` on to columns.

    Args:
        pos, limit: where the next record starts, and the last one of the batch ends.
        first_delta, end_delta: a record whose offset delta is not in between is not taken, nor any behind it.
        most: records to take.
        room: bytes of contents; the record that uses it up is the last one.
        ends_at_headers: a record that has headers is not taken.
        base_ms, is_fixed: what timestamp deltas are added to, or, fixed, the timestamp of all.
        keys, values, offsets, times: the columns; None: not wanted. The latter two have signed numbers of 64 bits.

    Returns: (records taken, position behind them, offset delta of the last or `first_delta - 1` of none, room left).
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
    """Return the number modulo 2^64 as a signed one, as Java adds."""
    return ((number + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def measure_lines(data: bytes, delimiter: bytes) -> tuple[int, int, int]:
    """Return (how many lines end with a delimiter, the size of the longest, the position behind the last)."""
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
    """Return lines of `data[at:end]` encoded as records of a batch that have a value each and nothing else.

    Args:
        begun: the first line begins with this.
        delimiter: ends each line, the last one too.
        room: what the records may take; the first one may take more.
        most: how many there may be.

    Returns: (records, how many, position behind the last line in them).
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


def part_of(data: bytes, start: int, end: int) -> bytes:
    """Return `data[start:end]`, in C an object that only lends it to functions that take bytes, without a copy.

    Args: start, end: in this order and not negative.
    """
    return data[start:end]


def _check(delimiter: bytes) -> None:
    if not delimiter:
        raise ValueError("empty delimiter")
