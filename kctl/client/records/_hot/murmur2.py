"""murmur2: the hash that chooses the partition of a key, as in the Java client.

Source: MurmurHash2 (A. Appleby), seed as in Kafka's Utils.murmur2; Java's arithmetic wraps at 32 bits.
"""

from __future__ import annotations

from typing import Final

from kctl.client.records._hot.native_types import i64

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
"""Multiplier below 2^31, whose product with 32 bits has at most 63 bits."""
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> i64:
    # Separate i64 variables: mypyc computes expressions of bytes alone with objects.
    length: i64 = len(data)
    h: i64 = _SEED ^ length
    at: i64 = 0
    whole = length - length % 4
    while at < whole:
        k: i64 = data[at]
        byte: i64 = data[at + 1]
        k |= byte << 8
        byte = data[at + 2]
        k |= byte << 16
        byte = data[at + 3]
        k = (k | byte << 24) * _M & _MASK
        h = (h * _M & _MASK) ^ ((k ^ k >> 24) * _M & _MASK)
        at += 4
    if at < length:
        rest: i64 = 0
        shift: i64 = 0
        while at < length:
            last: i64 = data[at]
            rest |= last << shift
            shift += 8
            at += 1
        h = (h ^ rest) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    """Return the partition that the Java client would choose."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


def partitions_of_keys(keys: list[bytes | None], first: i64, end: i64, partition_count: i64, other: int) -> list[int]:
    """Return the partition of each row; rows without a key get `other`."""
    found: list[int] = []
    for at in range(first, end):
        key = keys[at]
        found.append(other if key is None else (murmur2(key) & 0x7FFFFFFF) % partition_count)
    return found
