"""Frames of lz4 are read block by block; of what is no such frame, or not whole, a library's reader says what it is."""

import random
import struct
from typing import Any

import cramjam
import pytest

from kctl.client.records import lz4_frame
from kctl.client.records.compression import DecompressionError, compress, decompress
from kctl.client.records.lz4_frame import header_checksum, unframed

LIMIT = 1 << 23
SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
TEXT = random.Random(1).randbytes(50).hex().encode() * 2_000


def frame(
    blocks: list[bytes],
    *,
    flags: int = 0x60,
    size_code: int = 4,
    content_bytes: int | None = None,
    end: bytes = bytes(4),
) -> bytes:
    """Return a frame of blocks, each with its size."""
    descriptor = bytes((flags, size_code << 4))
    if content_bytes is not None:
        descriptor = bytes((flags | 0x08, size_code << 4)) + content_bytes.to_bytes(8, "little")
    return b"\x04\x22\x4d\x18" + descriptor + bytes((header_checksum(descriptor),)) + b"".join(blocks) + end


def block(data: bytes) -> bytes:
    packed = bytes(cramjam.lz4.compress_block(data, store_size=False))
    return struct.pack("<I", len(packed)) + packed


def as_it_is(data: bytes) -> bytes:
    return struct.pack("<I", len(data) | 1 << 31) + data


def library(data: bytes) -> bytes | None:
    try:
        return bytes(cramjam.lz4.decompress(data))
    except cramjam.DecompressionError:
        return None


@pytest.mark.parametrize("size", [0, 1, 100, 1 << 16, (1 << 16) + 1, 300_000])
def test_frames_of_kctl_are_read_without_the_library(size: int) -> None:
    for data in (bytes(size), random.Random(size).randbytes(size)):
        assert unframed(memoryview(compress("lz4", data)), LIMIT) == data


@pytest.mark.parametrize("size_code", SIZES)
def test_blocks_of_all_sizes_are_read(size_code: int) -> None:
    data = (TEXT * 42)[: SIZES[size_code]]
    found = frame([block(data), as_it_is(data), block(b"end")], size_code=size_code)
    assert unframed(memoryview(found), 1 << 24) == data * 2 + b"end" == library(found)


def test_sizes_and_checksums_that_a_frame_may_have_are_passed_over() -> None:
    compressor = cramjam.lz4.Compressor(content_checksum=True, block_linked=False)
    compressor.compress(TEXT)
    written = bytes(compressor.finish())
    assert written[4] & 0x14 == 0x14
    assert unframed(memoryview(written), LIMIT) == TEXT
    sized = frame([block(b"abc" * 9)], content_bytes=27)
    assert unframed(memoryview(sized), LIMIT) == b"abc" * 9 == library(sized)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(cramjam.lz4.compress(TEXT)),
        frame([block(b"abc")], flags=0x62),
        frame([block(b"abc")], flags=0xA0),
        frame([block(b"abc")], size_code=3),
        frame([block(b"abc")], content_bytes=4),
        frame([block(b"abc")])[:-1],
        frame([block(b"abc")]) + frame([block(b"d")]),
        frame([as_it_is(bytes((1 << 16) + 1))]),
        frame([block(bytes((1 << 16) + 1))]),
        frame([struct.pack("<I", 3) + b"\xff\xff\xff"]),
        frame([struct.pack("<I", 100) + b"abc"]),
        frame([block(b"abc")]).replace(b"\x60\x40", b"\x60\x50"),
    ],
    ids=[
        "nothing",
        "linked blocks",
        "a reserved flag",
        "another version",
        "no size of blocks",
        "another size of the contents",
        "cut",
        "two frames",
        "a block as it is that is too large",
        "a block that becomes too large",
        "a damaged block",
        "a block without its end",
        "a wrong checksum of the header",
    ],
)
def test_every_other_frame_is_left_to_the_library(data: bytes) -> None:
    assert unframed(memoryview(data), LIMIT) is None


def test_the_limit_is_exact() -> None:
    packed = memoryview(frame([block(b"abc" * 100), as_it_is(b"abc")]))
    assert unframed(packed, 303) == b"abc" * 101
    assert unframed(packed, 302) is None
    with pytest.raises(DecompressionError, match="the limit of 302 bytes"):
        decompress("lz4", packed, 302)


def test_damage_is_found_as_the_library_finds_it() -> None:
    """Every byte of a frame in turn is another one: what is read all the same is what the library reads."""
    whole = frame([block(TEXT[:300]), as_it_is(TEXT[:30])], content_bytes=330)
    read = 0
    for at in range(len(whole)):
        damaged = whole[:at] + bytes((whole[at] ^ 1 << at % 8,)) + whole[at + 1 :]
        found = unframed(memoryview(damaged), LIMIT)
        if found is not None:
            read += 1
            assert found == library(damaged), at
    assert 0 < read < len(whole)


@pytest.mark.parametrize("each", [as_it_is(b""), as_it_is(b"a"), block(b""), block(b"a" * 20)], ids=len)
def test_frame_of_tiny_blocks_costs_no_turn_for_each(monkeypatch: pytest.MonkeyPatch, each: bytes) -> None:
    """A frame of 20 MB had 5 million of them: 700 MB of places, and 9 s instead of the library's 0.1 s."""
    looked_at = 0

    class Counted(lz4_frame._Block):
        def __new__(cls, *fields: Any) -> "Counted":
            nonlocal looked_at
            looked_at += 1
            return super().__new__(cls, *fields)

    monkeypatch.setattr(lz4_frame, "_Block", Counted)
    data = frame([each] * 5_000)
    assert decompress("lz4", memoryview(data), LIMIT) == library(data)
    assert looked_at <= 4 + len(data) // 256


@pytest.mark.parametrize("size_code", SIZES)
def test_densest_full_blocks_are_not_left_to_the_library(size_code: int) -> None:
    data = bytes(SIZES[size_code])
    assert unframed(memoryview(frame([block(data)] * 7, size_code=size_code)), 1 << 25) == data * 7
