"""Columns that grow: what entries are appended to, one by one; bulk.py appends many at once.

Numbers are in the machine's byte order, as in Arrow.
"""

from __future__ import annotations

import sys
from typing import Final

from kctl.client.records._hot.native_types import i64

FilledParts = tuple[bytearray, bytearray, bytearray]
"""The contents of a column's entries, their ends, and a byte for each that is 0 where it is null."""
PackedParts = tuple[memoryview, memoryview, memoryview | None, int]
"""A column that does not grow: contents and ends, and a bitmap of what is not null, with the first entry's bit."""
END_BYTES: Final = 4
"""Of where an entry ends, a signed number; before them all is where the first one starts."""
_BYTE_ORDER: Final = sys.byteorder


def empty_column() -> FilledParts:
    """Return a column without entries."""
    return bytearray(), bytearray(END_BYTES), bytearray()


def append_entry(column: FilledParts, entry: bytes | None) -> None:
    """Add an entry to a column. Raises: OverflowError: the column would have 2 GiB or more."""
    contents, ends, given = column
    size: i64 = len(contents) + (0 if entry is None else len(entry))
    end = int(size).to_bytes(END_BYTES, _BYTE_ORDER, signed=True)
    if entry is not None:
        contents += entry
    ends += end
    given.append(0 if entry is None else 1)


def append_number(column: bytearray, number: i64) -> None:
    """Add a signed number of 64 bits to a column of them."""
    column += int(number).to_bytes(8, _BYTE_ORDER, signed=True)
