"""Sets of records of a megabyte or less that become large, many or slow when they are read."""

import copy
from collections.abc import Callable
from typing import cast

from kctl.client.protocol.api.fetch import FetchResponse
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.client.records.compression import CODEC_IDS, compress
from tests.unit.records.handmade import batch, message, record, varint

WIRE_BYTES = 1_000_000
PLAIN_BYTES = 60 << 20
"""Size of one decompressed batch, below the limit of the command line."""
RecordSet = Callable[[int], bytes]
"""Gets the offset of the first record."""


def one_large_value(offset: int) -> bytes:
    """One record of zeros."""
    return _packed("zstd", offset, 1, record(value=bytes(PLAIN_BYTES)))


def one_value_above_the_limit(offset: int) -> bytes:
    """One record that becomes more than a batch may."""
    return _packed("gzip", offset, 1, record(value=bytes(5 * PLAIN_BYTES)))


def many_large_batches(offset: int) -> bytes:
    """Batches of one record of zeros each."""
    one = _packed("zstd", 0, 1, record(value=bytes(PLAIN_BYTES)))
    return b"".join(_moved(one, offset + number) for number in range(WIRE_BYTES // len(one)))


def small_records(offset: int) -> bytes:
    """Records without key and value."""
    count = 1_000_000
    return _packed("zstd", offset, count, b"".join(record(number, None, None) for number in range(count)))


def records_before_the_position(offset: int) -> bytes:
    """Return records with one offset below the batch's end: none is wanted."""
    one = record(0, None, None)
    count = PLAIN_BYTES // len(one)
    return _packed("zstd", max(0, offset - 1), count, one * count, last=10)


def batches_before_the_position(offset: int) -> bytes:
    """Large batches whose one record is below the position, and whose end is not."""
    one = _packed("zstd", 0, 1, record(0, value=bytes(PLAIN_BYTES)), last=1)
    return b"".join(_moved(one, max(0, offset - 1) + 2 * number) for number in range(WIRE_BYTES // len(one)))


def control_batches(offset: int) -> bytes:
    """Control batches of many records."""
    count = 1000
    body = b"".join(record(number, bytes(4), bytes(6)) for number in range(count))
    one = _packed("zstd", 0, count, body, flags=0x30)
    return b"".join(_moved(one, offset + count * number) for number in range(WIRE_BYTES // len(one)))


def empty_batches(offset: int) -> bytes:
    """Batches without records, as compaction leaves them."""
    return b"".join(batch(base_offset=offset + number, last_offset_delta=0) for number in range(WIRE_BYTES // 61))


def one_record_of_many_headers(offset: int) -> bytes:
    """Return a record with the maximum number of headers."""
    return _packed("zstd", offset, 1, record(tail=_headers(100_000)))


def one_record_of_more_headers(offset: int) -> bytes:
    """More headers than a record may have."""
    return _packed("zstd", offset, 1, record(tail=_headers(PLAIN_BYTES // 2)))


def many_records_of_many_headers(offset: int) -> bytes:
    """Records with as many headers as each may have."""
    tail = _headers(100_000)
    count = PLAIN_BYTES // len(tail)
    return _packed("zstd", offset, count, b"".join(record(number, tail=tail) for number in range(count)))


def nested_json(offset: int) -> bytes:
    """One value that looks like JSON of many levels."""
    return _packed("zstd", offset, 1, record(value=b"[" * (PLAIN_BYTES // 2)))


def json_of_many_values(offset: int) -> bytes:
    """One value that is an array of empty objects."""
    return _packed("zstd", offset, 1, record(value=b"[" + b"{}," * (PLAIN_BYTES // 3) + b"{}]"))


def bytes_that_are_no_text(offset: int) -> bytes:
    """One value of bytes that need escapes."""
    return _packed("zstd", offset, 1, record(value=b"\xff\x1b" * (PLAIN_BYTES // 2)))


def wrapper_of_one_message(offset: int) -> bytes:
    """A wrapper of version 0 around one message, again and again."""
    inner = message(offset, None, None, magic=0)
    wrapped = compress("gzip", inner * (PLAIN_BYTES // len(inner)), 9)
    return message(offset, None, wrapped, magic=0, attributes=CODEC_IDS["gzip"])


def wrapper_of_many_messages(offset: int) -> bytes:
    """A wrapper of version 1 around messages of other offsets."""
    count = WIRE_BYTES // 8
    inner = b"".join(message(number, None, None, magic=1) for number in range(count))
    wrapped = compress("gzip", inner)
    return message(offset + count - 1, None, wrapped, magic=1, attributes=CODEC_IDS["gzip"])


RECORD_SETS: tuple[RecordSet, ...] = (
    one_large_value,
    one_value_above_the_limit,
    many_large_batches,
    small_records,
    records_before_the_position,
    batches_before_the_position,
    control_batches,
    empty_batches,
    one_record_of_many_headers,
    one_record_of_more_headers,
    many_records_of_many_headers,
    nested_json,
    json_of_many_values,
    bytes_that_are_no_text,
    wrapper_of_one_message,
    wrapper_of_many_messages,
)


def with_records(response: Response, version: int, make: RecordSet) -> bytes | None:
    """Return the bytes behind the correlation id of a fetch whose first partition with records has others; None if no
    partition has any.
    """
    whole = cast(FetchResponse, copy.deepcopy(response))
    for topic in whole.responses:
        for partition in topic.partitions:
            if partition.records:
                partition.records = make(int.from_bytes(partition.records[:8], "big"))
                partition.high_watermark = partition.last_stable_offset = 1 << 40
                return encode_response(whole, version, 0)[8:]
    return None


def _packed(codec: str, offset: int, count: int, body: bytes, *, flags: int = 0, last: int | None = None) -> bytes:
    packed = batch(
        base_offset=offset,
        attributes=CODEC_IDS[codec] | flags,
        last_offset_delta=count - 1 if last is None else last,
        count=count,
        body=compress(codec, body, 9),
    )
    assert len(packed) <= 2 * WIRE_BYTES, len(packed)
    return packed


def _moved(one: bytes, offset: int) -> bytes:
    """Return a batch at another offset, which its CRC does not cover."""
    return offset.to_bytes(8, "big") + one[8:]


def _headers(count: int) -> bytes:
    return varint(count) + b"\0\1" * count
