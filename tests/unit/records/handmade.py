"""Batches written by hand for the tests: slow, plain, and sharing nothing with the code under test but zlib and crc32c.

Every field can be set to nonsense; the CRC is right unless asked otherwise.
"""

import struct
import zlib
from collections.abc import Sequence

from kctl.client.records._hot.crc32c import crc32c


def varint(number: int) -> bytes:
    """A zigzag varint."""
    left = (number << 1) ^ (number >> 63)
    left &= (1 << 64) - 1
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    """Length and bytes, -1 for null."""
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    offset_delta: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    timestamp_delta: int = 0,
    *,
    size: int | None = None,
    tail: bytes | None = None,
) -> bytes:
    """A version 2 record; `tail` replaces the header section, `size` the length."""
    if tail is None:
        tail = varint(len(headers)) + b"".join(sized(name) + sized(content) for name, content in headers)
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + sized(key) + sized(value) + tail
    return varint(len(body) if size is None else size) + body


def batch(
    *records: bytes,
    base_offset: int = 0,
    leader_epoch: int = 5,
    magic: int = 2,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 1_000,
    max_timestamp: int = 2_000,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int | None = None,
    length: int | None = None,
    crc: int | None = None,
    body: bytes | None = None,
) -> bytes:
    """A version 2 batch around the records, or around `body` where that is given."""
    if body is None:
        body = b"".join(records)
    checked = struct.pack(
        ">hiqqqhii",
        attributes,
        len(records) - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records) if count is None else count,
    )
    checked += body
    checksum = crc32c(checked) if crc is None else crc
    head = struct.pack(">iBI", leader_epoch, magic, checksum)
    size = len(head) + len(checked) if length is None else length
    return struct.pack(">qi", base_offset, size) + head + checked


def with_right_crc(data: bytes) -> bytes:
    """The batch with the CRC that its bytes have now."""
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def message(
    offset: int,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = 1_000,
    crc: int | None = None,
) -> bytes:
    """A message of version 0 or 1."""
    checked = struct.pack(">BB", magic, attributes)
    if magic == 1:
        checked += struct.pack(">q", timestamp)
    for data in (key, value):
        checked += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    checksum = zlib.crc32(checked) if crc is None else crc
    return struct.pack(">qiI", offset, 4 + len(checked), checksum) + checked
