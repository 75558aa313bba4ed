"""Header of a version 2 batch. Source: https://kafka.apache.org/documentation/#recordbatch."""

from struct import Struct
from typing import Final, NamedTuple

from kctl.client.errors import CorruptBatchError, UnsupportedCodecError
from kctl.client.records._hot.crc32c import crc32c
from kctl.client.records._hot.record import CREATE_TIME, LOG_APPEND_TIME, BatchInfo
from kctl.client.records.compression import codec_name

FRAME: Final = Struct(">qi")
"""First two fields of a batch in every version: base offset and length."""
FRAME_BYTES: Final = 12
MAGIC_AT: Final = 16
BATCH_OVERHEAD_BYTES: Final = 61
"""Size of a batch header."""
CHECKED_AT: Final = 21
"""Index of the first byte that the CRC covers."""
LOG_APPEND: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20

_BEFORE_CRC: Final = Struct(">qiib")
_CRC: Final = Struct(">I")
_CHECKED: Final = Struct(">hiqqqhii")
_CODEC_MASK: Final = 0x07
_MAX_BASE_OFFSET: Final = (1 << 63) - (1 << 32)


class Source(NamedTuple):
    """Topic and partition of bytes, for errors. Attributes: origin: position of the records field in the buffer."""

    topic: str
    partition: int
    origin: int = 0

    def damaged(self, cause: str, base_offset: int, position: int) -> CorruptBatchError:
        position -= self.origin
        return CorruptBatchError(
            f"the batch at offset {base_offset} of {self.topic}-{self.partition} is corrupt "
            f"at byte {position} of the records: {cause}",
            topic=self.topic,
            partition=self.partition,
            base_offset=base_offset,
            offset=position,
        )

    def unknown_codec(self, codec_id: int, base_offset: int, position: int) -> UnsupportedCodecError:
        position -= self.origin
        return UnsupportedCodecError(
            f"cannot decompress the batch at offset {base_offset} of {self.topic}-{self.partition} "
            f"(byte {position} of the records): kctl does not support compression codec {codec_id}",
            topic=self.topic,
            partition=self.partition,
            base_offset=base_offset,
            offset=position,
        )


def read_batch(source: Source, data: bytes, at: int, end: int, *, check_crcs: bool) -> BatchInfo:
    """Read the header of the version 2 batch at `data[at:end]`. Raises: CorruptBatchError, UnsupportedCodecError."""
    base_offset, _, leader_epoch, magic = _BEFORE_CRC.unpack_from(data, at)
    if end - at < BATCH_OVERHEAD_BYTES:
        raise source.damaged(f"the batch has {end - at} bytes, fewer than a batch header", base_offset, at)
    if check_crcs:
        (expected,) = _CRC.unpack_from(data, at + CHECKED_AT - 4)
        actual = crc32c(data, 0, at + CHECKED_AT, end)
        if actual != expected:
            raise source.damaged(f"the CRC is {actual:08x}, but the header contains {expected:08x}", base_offset, at)
    attributes, last_delta, base_timestamp, max_timestamp, producer_id, epoch, sequence, count = _CHECKED.unpack_from(
        data, at + CHECKED_AT
    )
    if not 0 <= base_offset < _MAX_BASE_OFFSET:
        raise source.damaged("the base offset is out of range", base_offset, at)
    if last_delta < 0 or not 0 <= count <= last_delta + 1:
        raise source.damaged(
            f"the record count {count} does not match the last offset delta {last_delta}", base_offset, at
        )
    surplus = end - at - BATCH_OVERHEAD_BYTES
    if count == 0 and surplus:
        raise source.damaged(
            f"the batch contains {surplus} bytes of records, but its record count is 0", base_offset, at
        )
    compression = codec_name(attributes & _CODEC_MASK)
    if compression is None:
        raise source.unknown_codec(attributes & _CODEC_MASK, base_offset, at)
    return BatchInfo(
        source.topic,
        source.partition,
        magic,
        base_offset,
        base_offset + last_delta,
        count,
        base_timestamp,
        max_timestamp,
        LOG_APPEND_TIME if attributes & LOG_APPEND else CREATE_TIME,
        compression,
        leader_epoch,
        producer_id,
        epoch,
        sequence,
        bool(attributes & TRANSACTIONAL),
        bool(attributes & CONTROL),
    )


def batch_head(
    body: bytes,
    *,
    attributes: int,
    record_count: int,
    last_offset_delta: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Return the header of a batch whose encoded records are `body`. Args: attributes: codec of `body`, and flags."""
    head = _CHECKED.pack(
        attributes,
        last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    length = BATCH_OVERHEAD_BYTES - FRAME_BYTES + len(body)
    before = _BEFORE_CRC.pack(base_offset, length, leader_epoch, 2)
    return b"".join((before, _CRC.pack(crc32c(body, crc32c(head))), head))


def stamp_batch(batch: bytes, base_offset: int, leader_epoch: int, log_append_time_ms: int | None = None) -> bytes:
    """Return the version 2 batch as a broker stores it.

    Args: log_append_time_ms: time that replaces the timestamps of the records for readers; None to keep them.
    """
    _, length, _, magic = _BEFORE_CRC.unpack_from(batch)
    before = _BEFORE_CRC.pack(base_offset, length, leader_epoch, magic)
    if log_append_time_ms is None:
        return before + batch[MAGIC_AT + 1 :]
    attributes, last_delta, base_timestamp, _, *rest = _CHECKED.unpack_from(batch, CHECKED_AT)
    head = _CHECKED.pack(attributes | LOG_APPEND, last_delta, base_timestamp, log_append_time_ms, *rest)
    body = batch[BATCH_OVERHEAD_BYTES:]
    return b"".join((before, _CRC.pack(crc32c(body, crc32c(head))), head, body))


def renumber_batch(old_head: bytes, body: bytes, producer_id: int, producer_epoch: int, base_sequence: int) -> bytes:
    """Return a new header for the version 2 batch, with other producer fields."""
    fields = list(_CHECKED.unpack_from(old_head, CHECKED_AT))
    fields[4:7] = producer_id, producer_epoch, base_sequence
    head = _CHECKED.pack(*fields)
    return b"".join((old_head[: CHECKED_AT - 4], _CRC.pack(crc32c(body, crc32c(head))), head))
