"""Columns to which entries are appended, one by one or (in bulk.py) many. The byte order is native, as in Arrow."""

from __future__ import annotations

import sys
from typing import Final

from kctl.client.records._hot.native_types import i64

FilledParts = tuple[bytearray, bytearray, bytearray]
"""Contents of all entries, the end of each entry, and a byte for each entry that is 0 for null."""
PackedParts = tuple[memoryview, memoryview, memoryview | None, int]
"""A complete column: contents, ends, a bitmap of entries that are not null, and the bit of the first entry."""
END_BYTES: Final = 4
"""Size of an end, a signed number. The first end is the start of the first entry."""
_BYTE_ORDER: Final = sys.byteorder


def empty_column() -> FilledParts:
    return bytearray(), bytearray(END_BYTES), bytearray()


def append_entry(column: FilledParts, entry: bytes | None) -> None:
    """Append an entry. Raises: OverflowError: the column would have 2 GiB or more."""
    contents, ends, given = column
    size: i64 = len(contents) + (0 if entry is None else len(entry))
    end = int(size).to_bytes(END_BYTES, _BYTE_ORDER, signed=True)
    if entry is not None:
        contents += entry
    ends += end
    given.append(0 if entry is None else 1)


def append_number(column: bytearray, number: i64) -> None:
    column += int(number).to_bytes(8, _BYTE_ORDER, signed=True)
