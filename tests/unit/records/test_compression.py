"""Each codec both ways, foreign framings, damage, and that no more is decompressed than allowed."""

import random
import struct
import zlib

import cramjam
import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader
from kctl.client.records.compression import CODEC_IDS, DecompressionError, compress, decompress
from kctl.client.records.lz4_frame import repair_header
from tests.unit.records.handmade import batch, record

CODECS = ["gzip", "snappy", "lz4", "zstd"]
LIMIT = 1 << 22


def plain(codec: str, data: bytes, limit: int = LIMIT) -> bytes:
    return decompress(codec, memoryview(data), limit)


@pytest.mark.parametrize("codec", ["none", *CODECS])
@pytest.mark.parametrize("size", [0, 1, 32 * 1024, 32 * 1024 + 1, 300_000])
def test_compressed_bytes_are_decompressed_to_the_same(codec: str, size: int) -> None:
    data = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    assert plain(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_output_much_larger_than_input_comes_back(codec: str) -> None:
    data = bytes(3_000_000)
    assert plain(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: str) -> None:
    data = random.Random(1).randbytes(1_000) * 500
    packed = compress(codec, data)
    assert plain(codec, packed, len(data)) == data
    with pytest.raises(
        DecompressionError, match=f"{codec}: the decompressed records exceed the limit of {len(data) - 1} bytes"
    ):
        plain(codec, packed, len(data) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_in_a_batch_is_damage(codec: str) -> None:
    bomb = batch(count=1, last_offset_delta=0, body=compress(codec, bytes(5_000_000)), attributes=CODEC_IDS[codec])
    with pytest.raises(CorruptBatchError, match="the limit of 1000000 bytes") as caught:
        BatchReader(bomb, topic="t", partition=1, max_decompressed_bytes=1_000_000).records()
    assert caught.value.base_offset == 0


@pytest.mark.parametrize("codec", CODECS)
def test_every_cut_is_an_error(codec: str) -> None:
    packed = compress(codec, random.Random(2).randbytes(300))
    # A xerial stream may end after any of its blocks, so also after its header.
    # Java passes over fewer than four bytes behind one.
    allowed = {16, 17, 18, 19} if codec == "snappy" else {0} if codec == "gzip" else set()
    for end in range(len(packed)):
        if end in allowed:
            assert plain(codec, packed[:end]) == b""
        else:
            with pytest.raises(DecompressionError, match=codec):
                plain(codec, packed[:end])


@pytest.mark.parametrize("codec", CODECS)
def test_an_empty_body_with_records_is_damage(codec: str) -> None:
    data = batch(count=1, last_offset_delta=0, body=b"", attributes=CODEC_IDS[codec])
    with pytest.raises(CorruptBatchError):
        BatchReader(data).records()


@pytest.mark.parametrize("codec", CODECS)
def test_rubbish_is_an_error(codec: str) -> None:
    for size in (1, 5, 20, 400):
        with pytest.raises(DecompressionError, match=codec):
            plain(codec, random.Random(size).randbytes(size))


def test_raw_snappy_is_read() -> None:
    assert plain("snappy", bytes(cramjam.snappy.compress_raw(b"abc" * 100))) == b"abc" * 100


def test_a_snappy_block_that_claims_too_much_is_refused_before_room_is_made_for_it() -> None:
    with pytest.raises(DecompressionError, match="cannot decompress to"):
        plain("snappy", b"\xff\xff\xff\x01\x00a", 1 << 40)


@pytest.mark.parametrize("size", [0, -1, -(1 << 31), 4, (1 << 31) - 1])
def test_xerial_block_lengths_are_checked(size: int) -> None:
    head = compress("snappy", b"")
    with pytest.raises(DecompressionError, match="snappy: the block size is"):
        plain("snappy", head + struct.pack(">i", size) + b"abc")


def test_lz4_is_written_in_independent_blocks() -> None:
    assert compress("lz4", bytes(300_000))[4] & 0x20


def test_lz4_with_linked_blocks_is_read() -> None:
    packed = bytes(cramjam.lz4.compress(b"abcdefgh" * 50_000))
    assert not packed[4] & 0x20
    assert plain("lz4", packed) == b"abcdefgh" * 50_000


@pytest.mark.parametrize("data", [b"abc" * 100, bytes(200_000)])
def test_the_lz4_header_of_old_messages_is_repaired(data: bytes) -> None:
    packed = compress("lz4", data)
    broken = packed[:6] + bytes((packed[6] ^ 0x55,)) + packed[7:]
    with pytest.raises(DecompressionError):
        plain("lz4", broken)
    assert repair_header(broken) == packed
    assert repair_header(b"\x04\x22") == b"\x04\x22"


@pytest.mark.parametrize("behind", [bytes(1), bytes(40), b"\x1f", b"\x1f\x8b\x08\x00", b"rubbish that is none"])
def test_bytes_behind_a_gzip_member_are_passed_over_as_by_java(behind: bytes) -> None:
    assert plain("gzip", compress("gzip", b"one") + behind) == b"one"


def test_damage_in_a_later_gzip_member_is_an_error() -> None:
    with pytest.raises(DecompressionError, match="gzip"):
        plain("gzip", compress("gzip", b"one") + compress("gzip", b"two")[:-1])


@pytest.mark.parametrize("behind", [b"", bytes(3), b"\x82SNA", b"\x82SNAPPY\x00\x00"])
def test_xerial_streams_follow_each_other_as_in_java(behind: bytes) -> None:
    assert plain("snappy", compress("snappy", b"one") + compress("snappy", b"two") + behind) == b"onetwo"


def test_gzip_members_follow_each_other() -> None:
    packed = compress("gzip", b"one") + compress("gzip", b"two")
    assert plain("gzip", packed) == b"onetwo"
    with pytest.raises(DecompressionError, match="the limit of 5 bytes"):
        plain("gzip", packed, 5)


def test_gzip_of_many_small_members_is_not_copied_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    class Counting:
        def __init__(self, wbits: int) -> None:
            self._member = decompressobj(wbits=wbits)

        def __getattr__(self, name: str) -> object:
            return getattr(self._member, name)

        def decompress(self, data: bytes, limit: int) -> bytes:
            given.append(len(data))
            return self._member.decompress(data, limit)

    decompressobj = zlib.decompressobj
    packed = compress("gzip", b"") * 20_000
    monkeypatch.setattr(zlib, "decompressobj", Counting)
    assert plain("gzip", packed + compress("gzip", b"end")) == b"end"
    assert sum(given) < 100 * len(packed)


def test_the_frames_of_streaming_writers_are_read() -> None:
    compressor = cramjam.zstd.Compressor(3)
    compressor.compress(b"abc" * 1_000)
    assert plain("zstd", bytes(compressor.finish())) == b"abc" * 1_000
    writer = zlib.compressobj(wbits=31)
    assert plain("gzip", writer.compress(b"abc") + writer.flush(zlib.Z_SYNC_FLUSH) + writer.flush()) == b"abc"


@pytest.mark.parametrize("codec", CODECS)
def test_damage_inside_names_the_batch_and_the_byte(codec: str) -> None:
    body = compress(codec, record(0) + record(1, value=b"w")[:-2])
    data = batch(count=2, last_offset_delta=1, base_offset=30, body=body, attributes=CODEC_IDS[codec])
    reader = BatchReader(data, topic="t", partition=1)
    assert len(reader.records()) == 1
    with pytest.raises(CorruptBatchError, match="batch at offset 30, byte 9 of the decompressed records"):
        reader.records()
