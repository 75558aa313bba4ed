"""What is in the columns that a batch was read into, and packed columns made of entries."""

import struct
from collections.abc import Sequence
from itertools import pairwise

from kctl.client.records import FilledParts, PackedColumn, PackedParts


def entries(column: FilledParts | None) -> list[bytes | None]:
    assert column is not None
    contents, ends, given = column
    bounds = memoryview(ends).cast("i").tolist()
    assert bounds[0] == 0
    assert bounds[-1] == len(contents)
    return [
        bytes(contents[at:end]) if there else None for (at, end), there in zip(pairwise(bounds), given, strict=True)
    ]


def longs(column: bytearray | None) -> list[int]:
    assert column is not None
    return memoryview(column).cast("q").tolist()


def packed_parts(entries: Sequence[bytes | None], begun: int = 0, bit: int = 0) -> PackedParts:
    """The entries behind `begun` other bytes, their bits behind `bit` others."""
    ends = [begun]
    bits = bytearray((bit + len(entries)) // 8 + 1)
    for row, entry in enumerate(entries):
        ends.append(ends[-1] + len(entry or b""))
        if entry is not None:
            bits[bit + row >> 3] |= 1 << (bit + row & 7)
    data = b"#" * begun + b"".join(entry or b"" for entry in entries)
    bitmap = memoryview(bytes(bits)) if None in entries else None
    return memoryview(data), memoryview(struct.pack(f"={len(ends)}i", *ends)), bitmap, bit


def packed_column(entries: Sequence[bytes | None]) -> PackedColumn:
    """The entries behind others, as in a slice of an Arrow array."""
    return PackedColumn(packed_parts(entries, 3, 5))
