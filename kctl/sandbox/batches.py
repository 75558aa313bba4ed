"""Header of a record batch: layout, checks, and the fields that a broker changes.

The format is implemented independently of `kctl.client.records`, to detect mistakes in either. Damaged batches get the
error codes of Kafka 4.3.

| offset | bytes | field | | offset | bytes | field |
|---|---|---|---|---|---|---|
| 0 | 8 | base offset | | 27 | 8 | base timestamp |
| 8 | 4 | length of the rest | | 35 | 8 | max timestamp |
| 12 | 4 | partition leader epoch | | 43 | 8 | producer ID |
| 16 | 1 | magic, 2 | | 51 | 2 | producer epoch |
| 17 | 4 | CRC32C of bytes 21 to the end | | 53 | 4 | base sequence |
| 21 | 2 | attributes | | 57 | 4 | number of records |
| 23 | 4 | last offset delta | | 61 | | records |
"""

import struct
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.records._hot.crc32c import crc32c

HEADER_BYTES = 61
_HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_STARTS_AT = 12
CRC_STARTS_AT = 21
_LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
_CODECS = 5


class BatchRefused(Exception):
    """Rejected batch of a producer; `code` is sent to the client, `keyless` lists the records without a key."""

    def __init__(self, code: ErrorCode, message: str, keyless: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.keyless = keyless


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Time from which compaction may remove tombstones and markers, or None (KIP-534)."""
        return self.base_timestamp_ms if self.attributes & DELETE_HORIZON else None


class StoredBatch(NamedTuple):
    header: BatchHeader
    data: bytes


def produced_batch(records: bytes | None) -> BatchHeader:
    """Return the header of a produce request's only batch, or raise BatchRefused."""
    if records is None or len(records) == 0:
        raise BatchRefused(ErrorCode.INVALID_RECORD, "the request contains no record batch")
    header = _only_header(records)
    if crc32c(records, 0, CRC_STARTS_AT) != header.crc:
        raise BatchRefused(
            ErrorCode.CORRUPT_MESSAGE, f"the CRC32C of the batch is not {header.crc:#010x}, the value in its header"
        )
    _check_content(header)
    return header


def _only_header(records: bytes) -> BatchHeader:
    if len(records) < HEADER_BYTES:
        raise BatchRefused(
            ErrorCode.INVALID_RECORD, f"the batch has {len(records)} bytes, less than the minimum of {HEADER_BYTES}"
        )
    header = BatchHeader._make(_HEADER.unpack_from(records))
    size = header.length + LENGTH_STARTS_AT
    if header.magic != 2:
        raise BatchRefused(
            ErrorCode.INVALID_RECORD, f"the batch has magic {header.magic}, but this version of Produce needs 2"
        )
    if not HEADER_BYTES <= size <= len(records):
        raise BatchRefused(
            ErrorCode.INVALID_RECORD, f"the batch size of {size} bytes does not match {len(records)} bytes of records"
        )
    if size != len(records):
        raise BatchRefused(ErrorCode.INVALID_RECORD, "the request contains more than one record batch")
    return header


def _check_content(header: BatchHeader) -> None:
    if header.records_count < 1 or header.last_offset_delta != header.records_count - 1:
        text = f"the batch of {header.records_count} records has the last offset delta {header.last_offset_delta}"
        raise BatchRefused(ErrorCode.INVALID_RECORD, text)
    if header.attributes & 0x07 >= _CODECS:
        raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown compression codec {header.attributes & 0x07}")
    if header.is_control:
        raise BatchRefused(ErrorCode.INVALID_RECORD, "clients must not write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise BatchRefused(
            ErrorCode.INVALID_RECORD, f"invalid sequence number {header.base_sequence} of an idempotent producer"
        )


def appended(records: bytes, base_offset: int, leader_epoch: int, append_time_ms: int | None) -> bytes:
    """Return the batch as stored, with the offset and leader epoch, and with `append_time_ms` unless it is None."""
    batch = bytearray(records)
    struct.pack_into(">q", batch, 0, base_offset)
    struct.pack_into(">i", batch, LENGTH_STARTS_AT, leader_epoch)
    if append_time_ms is not None:
        (attributes,) = struct.unpack_from(">h", batch, CRC_STARTS_AT)
        struct.pack_into(">h", batch, CRC_STARTS_AT, attributes | _LOG_APPEND_TIME)
        struct.pack_into(">q", batch, 35, append_time_ms)
        struct.pack_into(">I", batch, 17, crc32c(batch, 0, CRC_STARTS_AT))
    return bytes(batch)


def header_of(batch: bytes) -> BatchHeader:
    return BatchHeader._make(_HEADER.unpack_from(batch))
