"""Record batches that brokers write: transaction markers, coordinator records, and compacted batches.

Independent of `kctl.client.records`, to detect mistakes in either.
"""

import struct
from collections.abc import Sequence

from kctl.client.records._hot.crc32c import crc32c
from kctl.client.records.compression import codec_name, compress
from kctl.sandbox.batches import CONTROL, CRC_STARTS_AT, DELETE_HORIZON, LENGTH_STARTS_AT, TRANSACTIONAL, BatchHeader

_CODEC_BITS = 0x07


def marker_batch(producer_id: int, producer_epoch: int, *, commit: bool, coordinator_epoch: int, wall_ms: int) -> bytes:
    key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator_epoch)
    record = record_bytes(0, 0, content_of(key, value))
    attributes = TRANSACTIONAL | CONTROL
    return batch_of(
        BatchHeader(0, 0, -1, 2, 0, attributes, 0, wall_ms, wall_ms, producer_id, producer_epoch, -1, 1), record
    )


def coordinator_batch(pairs: Sequence[tuple[bytes, bytes | None]], wall_ms: int, producer_id: int, epoch: int) -> bytes:
    """Return a coordinator's batch, transactional if a producer ID is given."""
    records = b"".join(record_bytes(0, number, content_of(*pair)) for number, pair in enumerate(pairs))
    attributes, count = 0 if producer_id < 0 else TRANSACTIONAL, len(pairs)
    return batch_of(
        BatchHeader(0, 0, -1, 2, 0, attributes, count - 1, wall_ms, wall_ms, producer_id, epoch, 0, count), records
    )


def content_of(key: bytes, value: bytes | None) -> bytes:
    shown = varint(-1) if value is None else varint(len(value)) + value
    return varint(len(key)) + key + shown + b"\0"


def record_bytes(timestamp_delta: int, offset_delta: int, content: bytes) -> bytes:
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + content
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    left = (number << 1) ^ (number >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def batch_of(header: BatchHeader, payload: bytes) -> bytes:
    checked = struct.pack(">hiqqqhii", *header[5:]) + payload
    length = len(checked) + CRC_STARTS_AT - LENGTH_STARTS_AT
    crc = crc32c(checked)
    return struct.pack(">qiibI", header.base_offset, length, header.leader_epoch, 2, crc) + checked


def kept_batch(header: BatchHeader, records: Sequence[tuple[int, int, bytes]], delete_horizon_ms: int | None) -> bytes:
    """Return a compacted batch of records with the offsets and producer of the header.

    Args:
        records: offset delta, timestamp, and content of each record. May be empty.
        delete_horizon_ms: time from which tombstones may be removed, or None.
    """
    kept = header._replace(records_count=len(records))
    if not records:
        attributes = header.attributes & ~(DELETE_HORIZON | _CODEC_BITS)
        return batch_of(kept._replace(attributes=attributes, base_timestamp_ms=-1), b"")
    stamps = [header.max_timestamp_ms if header.is_log_append_time else stamp for _, stamp, _ in records]
    base_ms = stamps[0] if delete_horizon_ms is None else delete_horizon_ms
    attributes = header.attributes & ~DELETE_HORIZON | (0 if delete_horizon_ms is None else DELETE_HORIZON)
    payload = b"".join(
        record_bytes(stamp - base_ms, delta, content)
        for stamp, (delta, _, content) in zip(stamps, records, strict=True)
    )
    payload = compress(codec_name(header.attributes & _CODEC_BITS) or "none", payload)
    return batch_of(
        kept._replace(attributes=attributes, base_timestamp_ms=base_ms, max_timestamp_ms=max(stamps)), payload
    )
