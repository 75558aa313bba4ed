"""Rows: many records of one partition as columns, checked, measured and cut before any of them is encoded.

Owns what a column may hold and where a run of rows ends. The encoding is builder.py's; what memory means is the
producer's. Shown by tests/unit/records/test_rows.py.
"""

from __future__ import annotations

from typing import Any

from kctl.client.records._hot.builder import TIMESTAMP_END_MS
from kctl.client.records._hot.native_types import i64


def rows_bytes(
    values: list[bytes | None],
    keys: list[bytes | None] | None,
    headers_bytes: list[int] | None,
    first: i64,
    end: i64,
    overhead_bytes: i64,
) -> int:
    """Return what the rows from `first` to before `end` take, with so much for each beside its contents."""
    total_bytes: i64 = (end - first) * overhead_bytes
    for at in range(first, end):
        value = values[at]
        if value is not None:
            total_bytes += len(value)
        if keys is not None:
            key = keys[at]
            if key is not None:
                total_bytes += len(key)
        if headers_bytes is not None:
            total_bytes += headers_bytes[at]
    return total_bytes


def cut_rows(
    values: list[Any],
    keys: list[Any] | None,
    headers_bytes: list[int] | None,
    overhead_bytes: i64,
    room_bytes: i64,
    most_rows: i64,
) -> tuple[list[tuple[int, int]], int, int]:
    """Return where runs of rows end, so that each has at most `room_bytes`, or one row, and at most `most_rows`.

    Args: overhead_bytes: what a row takes beside its contents.
    Returns: (end, bytes) of each run; the number and the bytes of the first of the largest rows, -1 without rows.
    Raises: TypeError: an entry is not bytes or None; it is named.
    """
    cuts: list[tuple[int, int]] = []
    run_bytes: i64 = 0
    run_first: i64 = 0
    largest: i64 = -1
    largest_bytes: i64 = -1
    for at in range(len(values)):
        size_bytes = overhead_bytes + _content_bytes(values[at], at, "value")
        if keys is not None:
            size_bytes += _content_bytes(keys[at], at, "key")
        if headers_bytes is not None:
            size_bytes += headers_bytes[at]
        if (run_bytes + size_bytes > room_bytes and at > run_first) or at - run_first >= most_rows:
            cuts.append((at, run_bytes))
            run_bytes, run_first = 0, at
        run_bytes += size_bytes
        if size_bytes > largest_bytes:
            largest, largest_bytes = at, size_bytes
    if len(values) > run_first:
        cuts.append((len(values), run_bytes))
    return cuts, largest, largest_bytes


def _content_bytes(content: object, row: i64, what: str) -> i64:
    if content is None:
        return 0
    if not isinstance(content, bytes):
        raise TypeError(f"row {row}: {what} must be bytes or None, not {type(content).__name__}")
    return len(content)


def checked_timestamps(timestamps_ms: list[Any], now_ms: int) -> list[int]:
    """Return the timestamps; now for None.

    Raises: ValueError: no record can have it; it is named.
    """
    found: list[int] = []
    for at, given in enumerate(timestamps_ms):
        if given is None:
            found.append(now_ms)
        elif isinstance(given, int) and 0 <= given < TIMESTAMP_END_MS:
            found.append(given)
        else:
            raise ValueError(f"row {at}: timestamp_ms must be milliseconds since the epoch, not {given!r}")
    return found
