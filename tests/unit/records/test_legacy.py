"""Messages of versions 0 and 1: plain, wrapped, and every way they can be damaged."""

import pytest

from kctl.client.errors import CorruptBatchError, UnsupportedCodecError
from kctl.client.records import BatchReader, Record
from kctl.client.records._hot.exits import OutputField, OutputPlan
from kctl.client.records.compression import CODEC_IDS, compress
from kctl.client.records.reader import OUTPUT_BYTES
from tests.unit.records.handmade import batch, message, record

CODECS = ["gzip", "snappy", "lz4"]


def decode(data: bytes, *, fetch_offset: int = 0, check_crcs: bool = True) -> list[Record]:
    reader = BatchReader(data, topic="t", partition=3, fetch_offset=fetch_offset, check_crcs=check_crcs)
    return [found for chunk in reader for found in chunk]


def wrapper(
    codec: str, offset: int, *inner: bytes, magic: int = 1, attributes: int = 0, timestamp: int = 1_000
) -> bytes:
    body = compress(codec, b"".join(inner))
    return message(offset, None, body, magic=magic, attributes=CODEC_IDS[codec] | attributes, timestamp=timestamp)


def test_version_1_has_timestamps() -> None:
    found = decode(message(5, b"k", b"v", timestamp=77) + message(9, None, None, timestamp=78, attributes=8))
    assert [(each.offset, each.key, each.value, each.timestamp_ms, each.headers) for each in found] == [
        (5, b"k", b"v", 77, ()),
        (9, None, None, 78, ()),
    ]
    assert [each.timestamp_type for each in found] == ["create_time", "log_append_time"]
    assert (found[0].batch.magic, found[0].leader_epoch) == (1, -1)


def test_version_0_has_none() -> None:
    (found,) = decode(message(5, b"", b"", magic=0))
    assert (found.offset, found.key, found.value, found.timestamp_ms) == (5, b"", b"", -1)
    assert (found.timestamp_type, found.batch.magic) == ("none", 0)


@pytest.mark.parametrize("codec", CODECS)
def test_a_version_0_wrapper_holds_absolute_offsets(codec: str) -> None:
    found = decode(wrapper(codec, 12, message(10, magic=0), message(12, magic=0), magic=0))
    assert [each.offset for each in found] == [10, 12]
    assert found[0].batch.compression == codec


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("start", [0, 7])
def test_a_version_1_wrapper_holds_relative_offsets_and_has_the_last(codec: str, start: int) -> None:
    found = decode(wrapper(codec, 12, message(start), message(start + 1), message(start + 4)))
    assert [each.offset for each in found] == [8, 9, 12]


def test_a_wrapper_no_broker_numbered_starts_at_0() -> None:
    assert [each.offset for each in decode(wrapper("gzip", 0, message(0), message(1)))] == [0, 1]


def test_the_wrappers_log_append_time_holds_for_all() -> None:
    inner = message(0, timestamp=1), message(1, timestamp=2)
    found = decode(wrapper("gzip", 1, *inner, attributes=8, timestamp=99))
    assert [(each.timestamp_ms, each.timestamp_type) for each in found] == [(99, "log_append_time")] * 2
    assert [each.timestamp_ms for each in decode(wrapper("gzip", 1, *inner))] == [1, 2]


def test_records_before_the_fetch_offset_are_left_out() -> None:
    assert [each.offset for each in decode(wrapper("gzip", 12, message(0), message(1)), fetch_offset=12)] == [12]


def test_versions_follow_each_other() -> None:
    data = message(0, magic=0) + message(1) + batch(record(), base_offset=2)
    assert [(each.offset, each.batch.magic) for each in decode(data)] == [(0, 0), (1, 1), (2, 2)]


def damage(data: bytes) -> CorruptBatchError:
    with pytest.raises(CorruptBatchError) as caught:
        decode(data)
    assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("t", 3, 0)
    return caught.value


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (message(5, crc=1), "the message at offset 5 does not match its CRC 00000001"),
        (message(-1), "offsets -1 to -1"),
        (message((1 << 63) - 1), "offsets"),
        (wrapper("gzip", 3), "contains no messages"),
        (message(3, None, None, attributes=1), "contains no messages"),
        (wrapper("gzip", 3, message(0, magic=0)), "messages of another version"),
        (wrapper("gzip", 3, wrapper("gzip", 0, message(0))), "messages of another version"),
        (wrapper("gzip", 3, message(0)[:-1]), "a message with the invalid length 24"),
        (wrapper("gzip", 3, message(0) + b"rest"), "a message with the invalid length -1"),
        (wrapper("gzip", 3, message(0, crc=9)), "the message at offset 0 does not match its CRC"),
        (wrapper("gzip", 3, message(1), message(0)), "offsets 4 to 3"),
        (wrapper("gzip", 1, message(0), message(4)), "offsets -3 to 1"),
        (wrapper("gzip", 3, message(2), message(2)), "but 3 follows 3"),
        (wrapper("gzip", 1 << 40, message(0), message(1 << 40)), "but 1099511627776 follows 0"),
    ],
)
def test_damage_is_named(data: bytes, cause: str) -> None:
    with pytest.raises(CorruptBatchError, match=cause):
        raise damage(data)


def test_damage_inside_a_wrapper_never_loses_the_records_before_it_silently() -> None:
    assert "another version" in str(damage(wrapper("gzip", 3, message(2), message(3, magic=0))))


@pytest.mark.parametrize("position", range(12, 40))
def test_every_byte_is_under_the_crc(position: int) -> None:
    data = bytearray(message(5, b"key of it", b"value"))
    data[position] ^= 0x10
    assert "5" in str(damage(bytes(data)))


@pytest.mark.parametrize(("at", "name"), [(26, "key"), (31, "value")])
@pytest.mark.parametrize("size", [-2, -(1 << 31), 100, (1 << 31) - 1])
def test_lengths_are_checked(at: int, name: str, size: int) -> None:
    data = bytearray(message(5, b"k", b"v"))
    data[at : at + 4] = size.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptBatchError, match=f"the {name} length is {size}, but"):
        decode(bytes(data), check_crcs=False)


def test_bytes_after_the_value_are_damage() -> None:
    data = bytearray(message(5, b"k", b"vv"))
    data[31:35] = (1).to_bytes(4, "big")
    with pytest.raises(CorruptBatchError, match="the message has 1 extra bytes after its value"):
        decode(bytes(data), check_crcs=False)


def test_output_ends_after_enough_decompressed_bytes_of_wrappers() -> None:
    """A few kB of wrappers may become gigabytes: all of them are never in memory together."""
    size_bytes = OUTPUT_BYTES // 2 + 1
    data = b"".join(wrapper("gzip", offset, message(0, None, bytes(size_bytes))) for offset in range(1, 5))
    reader = BatchReader(data, topic="t", partition=3)
    plan = OutputPlan([OutputField("offset")])
    assert [reader.output(plan) for _ in range(2)] == [b"12", b"34"]


def test_an_unknown_codec_is_named() -> None:
    error = damage(message(5, attributes=6))
    assert isinstance(error, UnsupportedCodecError)
    assert "codec 6" in str(error)
