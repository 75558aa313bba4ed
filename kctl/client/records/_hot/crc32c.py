"""CRC32C, the checksum of batches. crc32c.c is the same in C. Source: RFC 3720, sections 12.1 and B.4."""

from __future__ import annotations

import sys
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78
"""Castagnoli's polynomial without x^32, with the coefficient of x^31 in the lowest bit."""
_ALL: Final = 0xFFFFFFFF


def _checksum(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_CHECKSUMS: Final = tuple(_checksum(byte) for byte in range(256))


def crc32c(data: bytes | bytearray | memoryview, crc: int = 0, start: int = 0, end: int = sys.maxsize, /) -> int:
    """Return the checksum of `data[start:end]` in bytes, appended to data whose checksum is `crc`."""
    crc ^= _ALL
    for byte in bytes(memoryview(data).cast("B")[start:end]):
        crc = crc >> 8 ^ _CHECKSUMS[(crc ^ byte) & 0xFF]
    return crc ^ _ALL
