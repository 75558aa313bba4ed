"""Packed columns: entries adjacent in one buffer, as in Arrow, encoded as records. packed.c is the same in C.

All functions raise ValueError if rows do not exist, or if ends are incomplete or outside the contents.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from kctl.client.records._hot.filled import PackedParts
from kctl.client.records._hot.murmur2 import murmur2
from kctl.client.records._hot.varint import varint

_HASH_BITS: Final = 31
_NO_ROWS: Final = "rows that the columns do not have"


def take_entries(column: PackedParts, first: int, end: int) -> list[bytes | None]:
    found = _entries(column)
    if not 0 <= first <= end <= len(found):
        raise ValueError(_NO_ROWS)
    return found[first:end]


def _entries(column: PackedParts) -> list[bytes | None]:
    contents, ends, bitmap, bit = column
    bounds = ends.cast("B").cast("i").tolist()
    if not bounds or bit < 0 or (bitmap is not None and 8 * bitmap.nbytes < bit + len(bounds) - 1):
        raise ValueError("a column without all of its ends")
    if bounds != sorted(bounds) or bounds[0] < 0 or bounds[-1] > contents.nbytes:
        raise ValueError("a column whose ends are not in its contents")
    found: list[bytes | None] = [bytes(contents[at:end]) for at, end in pairwise(bounds)]
    if bitmap is not None:
        for row in range(len(found)):
            if not bitmap[bit + row >> 3] >> (bit + row & 7) & 1:
                found[row] = None
    return found


def _rows(values: PackedParts, keys: PackedParts | None) -> tuple[list[bytes | None], list[bytes | None] | None]:
    return _entries(values), None if keys is None else _entries(keys)


def measure_packed(values: PackedParts, keys: PackedParts | None) -> int:
    """Return the size of the largest row (key and value), or -1 without rows."""
    found, found_keys = _rows(values, keys)
    if found_keys is None:
        found_keys = [None] * len(found)
    if len(found_keys) != len(found):
        raise ValueError(_NO_ROWS)
    return max((len(value or b"") + len(key or b"") for value, key in zip(found, found_keys, strict=True)), default=-1)


def encode_packed(
    values: PackedParts, keys: PackedParts | None, first: int, end: int, room: int, most: int
) -> tuple[bytes, int]:
    """Encode rows as records with timestamp delta 0 and without headers.

    Args:
        room: maximum size of the records; the first one may exceed it.
        most: maximum number of records.
    Returns: (records, their number).
    """
    found, found_keys = _rows(values, keys)
    if not 0 <= first <= end <= len(found) or (found_keys is not None and end > len(found_keys)):
        raise ValueError(_NO_ROWS)
    parts: list[bytes] = []
    for row in range(first, min(end, first + most)):
        record = _record(len(parts), None if found_keys is None else found_keys[row], found[row])
        if parts and len(record) > room:
            break
        room -= len(record)
        parts.append(record)
    return b"".join(parts), len(parts)


def divide_packed(
    values: PackedParts, keys: PackedParts, first: int, end: int, partitions: int
) -> list[tuple[int, bytes, int, int]] | None:
    """Divide rows by the partitions of their keys.

    Returns: for each partition with rows, (partition, records as from `encode_packed`, their number, size of their keys
        and values). None if a row has no key.
    """
    found, found_keys = _entries(values), _entries(keys)
    if not 0 <= first <= end <= min(len(found), len(found_keys)) or partitions < 1:
        raise ValueError(_NO_ROWS)
    shares: dict[int, list[bytes]] = {}
    content_bytes = dict.fromkeys(range(partitions), 0)
    for value, key in zip(found[first:end], found_keys[first:end], strict=True):
        if key is None:
            return None
        partition = (murmur2(key) & 0x7FFFFFFF) % partitions
        share = shares.setdefault(partition, [])
        share.append(_record(len(share), key, value))
        content_bytes[partition] += len(key) + len(value or b"")
    return [(number, b"".join(shares[number]), len(shares[number]), content_bytes[number]) for number in sorted(shares)]


def _record(number: int, key: bytes | None, value: bytes | None) -> bytes:
    contents = b"\0\0" + varint(number) + _entry(key) + _entry(value) + b"\0"
    return varint(len(contents)) + contents


def _entry(content: bytes | None) -> bytes:
    return b"\x01" if content is None else varint(len(content)) + content


def raise_registers(registers: bytearray, keys: PackedParts, bits: int) -> None:
    """Add keys to the 2**bits registers of a HyperLogLog, by the 31 bits of murmur2 that also choose partitions."""
    if not 1 <= bits <= 30 or len(registers) != 1 << bits:
        raise ValueError("registers of another size")
    for key in _entries(keys):
        if key is not None:
            number = murmur2(key) & ((1 << _HASH_BITS) - 1)
            # One more than the leading zeros of the bits that do not choose the register.
            rank = _HASH_BITS - bits + 1 - int(number >> bits).bit_length()
            place = number & ((1 << bits) - 1)
            registers[place] = max(registers[place], rank)
