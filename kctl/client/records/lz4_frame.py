"""Frames of lz4 whose blocks are independent, as Kafka's clients write them: each block is decompressed into its place.

A library's reader of frames takes three to four times as long as the blocks themselves: it copies each through buffers
of its own, and computes the checksums that frames may have. Those are not looked at here: the CRC of a batch covers the
same bytes. (Java checks those of blocks, not that of the contents.)

Source: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
"""

from functools import lru_cache
from typing import Final, NamedTuple

_MAGIC: Final = bytes.fromhex("04224d18")
_LEAST_BYTES: Final = len(_MAGIC) + 7
"""Of a frame: its descriptor and what ends it."""
_KIND: Final = 0xE3
_INDEPENDENT_BLOCKS: Final = 0x60
"""Of the flags in `_KIND`: version 1, independent blocks, no dictionary, nothing that is not known yet."""
_BLOCK_CHECKSUMS: Final = 0x10
_CONTENT_SIZE: Final = 0x08
_CONTENT_CHECKSUM: Final = 0x04
_DICTIONARY: Final = 0x01
_PLAIN: Final = 1 << 31
_MAX_RATIO: Final = 255
"""No byte of a block stands for more."""
_FEW_BLOCKS: Final = 4
_FULL_BLOCK_BYTES: Final = 256
"""A full block has more, whatever its contents. Each costs a turn in Python, and only damage or malice has many."""


class _Block(NamedTuple):
    first: int
    end: int
    is_plain: bool


def unframed(data: memoryview, max_bytes: int) -> bytes | None:
    """Return the plain bytes of one frame; at most `max_bytes` are ever made.

    None of every other frame, whether it is of another kind, damaged or too large: a library's reader says what it is.
    """
    import cramjam

    end = descriptor_end(data[4]) + 1 if len(data) >= _LEAST_BYTES else 0
    block_bytes = _block_bytes(bytes(data[:end]))
    blocks = None if block_bytes is None else _blocks(data, block_bytes)
    if block_bytes is None or blocks is None:
        return None
    most = sum(min(block_bytes, _MAX_RATIO * (block.end - block.first)) for block in blocks)
    out = bytearray(min(max_bytes, most))
    room, used = memoryview(out), 0
    decompress_into = cramjam.lz4.decompress_block_into
    for first, end, is_plain in blocks:
        into = room[used : used + block_bytes]
        if is_plain:
            if end - first > len(into):
                return None
            into[: end - first] = data[first:end]
            used += end - first
            continue
        try:
            used += decompress_into(data[first:end], into, output_len=len(into))
        except cramjam.DecompressionError:
            return None
    if data[4] & _CONTENT_SIZE and used != int.from_bytes(data[6:14], "little"):
        return None
    return bytes(room[:used])


@lru_cache(maxsize=64)
def _block_bytes(header: bytes) -> int | None:
    """Return how much a block of a frame may become, by the frame's header; None of one that is not for this reader."""
    if header[:4] != _MAGIC or header[4] & _KIND != _INDEPENDENT_BLOCKS:
        return None
    size_code = header[5] >> 4
    if header[5] & 0x0F or not 4 <= size_code <= 7 or header_checksum(header[4:-1]) != header[-1]:
        return None
    return 1 << (8 + 2 * size_code)


def _blocks(data: memoryview, block_bytes: int) -> list[_Block] | None:
    """Return where the blocks of a frame are; None where they do not end with the data, or most have no contents."""
    flags = data[4]
    at = descriptor_end(flags) + 1
    behind = 4 if flags & _BLOCK_CHECKSUMS else 0
    most = _FEW_BLOCKS + len(data) // _FULL_BLOCK_BYTES
    found: list[_Block] = []
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if not size:
            return found if at + (4 if flags & _CONTENT_CHECKSUM else 0) == len(data) else None
        first, is_plain = at, size >= _PLAIN
        at += size & (_PLAIN - 1)
        if at - first > block_bytes or len(found) == most:
            return None
        found.append(_Block(first, at, is_plain))
        at += behind
    return None


def descriptor_end(flags: int) -> int:
    """Return where the descriptor of a frame ends, and the checksum of it is."""
    return 6 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY else 0)


def repair_header(data: bytes) -> bytes:
    """Return the frame with the right checksum of its header.

    Version 0 messages have a wrong one, counted from the frame's magic number on: KIP-57 left them as they were.
    """
    if len(data) < 7:
        return data
    end = descriptor_end(data[4])
    return data[:end] + bytes((header_checksum(data[4:end]),)) + data[end + 1 :]


def header_checksum(descriptor: bytes) -> int:
    """Return the checksum of a descriptor: a byte of its xxHash32 with seed 0, here of fewer than 16 bytes."""
    state = 374761393 + len(descriptor)
    words = len(descriptor) // 4 * 4
    for pos in range(0, words, 4):
        state = state + int.from_bytes(descriptor[pos : pos + 4], "little") * 3266489917 & 0xFFFFFFFF
        state = (state << 17 | state >> 15) * 668265263 & 0xFFFFFFFF
    for byte in descriptor[words:]:
        state = state + byte * 374761393 & 0xFFFFFFFF
        state = (state << 11 | state >> 21) * 2654435761 & 0xFFFFFFFF
    state = (state ^ state >> 15) * 2246822519 & 0xFFFFFFFF
    state = (state ^ state >> 13) * 3266489917 & 0xFFFFFFFF
    return (state ^ state >> 16) >> 8 & 0xFF
