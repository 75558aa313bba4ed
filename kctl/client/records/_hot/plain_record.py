"""Plain records, which have no damage and no long numbers; the cursor reads others. numbers.h is the same in C."""

from __future__ import annotations

from typing import Final

from kctl.client.records._hot.varint import short_number

_TIMESTAMP_BYTES: Final = 9
"""Length from which a timestamp delta is not plain; shorter varints cannot exceed 64 bits."""


def plain_record(buf: bytes, pos: int, limit: int) -> tuple[int, int, int, int, int, int, int] | None:
    """Return (offset delta, timestamp delta, key position, key size, value position, value size, end).

    Returns: None if the record is not plain.
    """
    size, pos = short_number(buf, pos, limit)
    if size < 0 or size > limit - pos:
        return None
    end = pos + size
    pos += 1
    time_at, timestamp_end = pos, pos + _TIMESTAMP_BYTES
    while pos < min(end, timestamp_end) and buf[pos] >= 0x80:
        pos += 1
    if pos >= end or pos == timestamp_end:
        return None
    time = sum((buf[at] & 0x7F) << 7 * (at - time_at) for at in range(time_at, pos + 1))
    delta, pos = short_number(buf, pos + 1, end)
    if delta < 0:
        return None
    key_size, key_at = short_number(buf, pos, end)
    if key_size < -1 or key_size > end - key_at:
        return None
    value_size, value_at = short_number(buf, key_at + max(key_size, 0), end)
    if value_size < -1 or value_size > end - value_at:
        return None
    headers_at = value_at + max(value_size, 0)
    if headers_at >= end or (buf[headers_at] == 0 and headers_at + 1 != end):
        return None
    return delta, (time >> 1) ^ -(time & 1), key_at, key_size, value_at, value_size, end


def plain_values(
    buf: bytes, pos: int, limit: int, first_delta: int, end_delta: int, most: int, left: int
) -> tuple[list[tuple[int, int]], int, int]:
    """Return (position, size) of the values of plain records; null has size -1. Args: as for `bulk.take_values`.

    Returns: (values, position after the records, offset delta of the last one or `first_delta - 1`).
    """
    limit = min(limit, len(buf))
    values: list[tuple[int, int]] = []
    last = first_delta - 1
    while len(values) < most:
        found = plain_record(buf, pos, limit)
        if found is None or not last < found[0] < end_delta or (len(values) + 1 == left and found[6] != limit):
            break
        last, _, _, _, value_at, value_size, pos = found
        values.append((value_at, value_size))
    return values, pos, last
