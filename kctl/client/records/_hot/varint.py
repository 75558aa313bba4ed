"""Variable-length integers: seven bits per byte, least significant first, signs in zigzag form.

Callers read the first byte themselves. A read past the end raises IndexError. Source:
https://protobuf.dev/programming-guides/encoding/ (varint, ZigZag).
"""

from __future__ import annotations

from typing import Final

from kctl.client.records._hot.native_types import i64


class FieldError(ValueError):
    """A malformed field; the caller turns it into a CorruptBatchError."""


def varint_rest(buf: bytes, pos: i64, first: i64) -> tuple[i64, i64]:
    """Return the unsigned 32-bit number, still in zigzag form, that starts with `first`, and the position after it.

    Raises: FieldError: the number has more than 32 bits.
    """
    number: i64 = first & 0x7F
    shift: i64 = 7
    while shift < 35:
        byte: i64 = buf[pos]
        pos += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number > 0xFFFFFFFF:
                break
            return number, pos
        shift += 7
    raise FieldError("a number has more than 32 bits")


def varlong_rest(buf: bytes, pos: i64, first: i64) -> tuple[i64, i64]:
    """Return the signed 64-bit number that starts with `first`, and the position after it.

    The 64th bit is handled separately, so no intermediate result exceeds 64 bits.

    Raises: FieldError: the number has more than 64 bits.
    """
    number: i64 = first & 0x7F
    shift: i64 = 7
    top: i64 = 0
    while True:
        byte: i64 = buf[pos]
        pos += 1
        if shift == 63:
            if byte > 1:
                raise FieldError("a number has more than 64 bits")
            top = byte << 62
            break
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return ((number >> 1) | top) ^ -(number & 1), pos


def size_field(buf: bytes, pos: i64, limit: i64) -> tuple[i64, i64]:
    """Return the length at `pos`, or -1 for null, and the position after it.

    Raises: FieldError: another negative length, or a length beyond `limit`.
    """
    size: i64 = buf[pos]
    pos += 1
    if size >= 0x80:
        size, pos = varint_rest(buf, pos, size)
    if size & 1:
        if size != 1:
            raise FieldError(f"negative length {-(size >> 1) - 1}")
        return -1, pos
    size >>= 1
    if size > limit - pos:
        raise FieldError(f"length {size} where {max(limit - pos, 0)} bytes are left")
    return size, pos


def encode_varint(number: i64) -> bytes:
    """Return the zigzag varint of a signed 64-bit number."""
    # No left shift, which could exceed 64 bits: the lowest seven bits contain six bits of the number and its sign.
    sign: i64 = 1 if number < 0 else 0
    magnitude: i64 = -(number + 1) if number < 0 else number
    byte: i64 = ((magnitude & 0x3F) << 1) | sign
    magnitude >>= 6
    out: list[int] = []
    while magnitude > 0:
        out.append(byte | 0x80)
        byte = magnitude & 0x7F
        magnitude >>= 7
    out.append(byte)
    return bytes(out)


SMALL: Final[list[bytes]] = [encode_varint(number) for number in range(2048)]
"""Varints of small numbers, encoded in advance; most lengths and deltas are small."""


def varint(number: i64) -> bytes:
    if 0 <= number < 2048:
        return SMALL[number]
    return encode_varint(number)


_SHORT_BYTES: Final = 4
"""Maximum varint length for a size or offset delta of a plain record."""


def short_number(buf: bytes, pos: i64, end: i64) -> tuple[i64, i64]:
    """Return the number of a short varint and the position after it; below -1 if it is long or incomplete."""
    number: i64 = 0
    shift: i64 = 0
    at: i64 = pos
    while at < end and at < pos + _SHORT_BYTES:
        byte: i64 = buf[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
    return -2, pos
