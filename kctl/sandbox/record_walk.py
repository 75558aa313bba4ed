"""The records inside a batch, as far as a broker looks: how many, their offset deltas and their timestamps.

Records are only walked over, never made into objects. Shown by tests/unit/sandbox/test_batches.py.
"""

from collections.abc import Iterator

from kctl.client.broker_errors import ErrorCode
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, DecompressionError, codec_name, decompress
from kctl.sandbox.batches import HEADER_BYTES, BatchHeader, BatchRefused


class _Damaged(Exception):
    """A record reaches beyond its batch."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the zigzag number at `at` and the position behind it."""
    number = shift = 0
    while True:
        if at >= len(data):
            raise _Damaged(f"varint at byte {at}, the end")
        if shift > 63:
            raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"varint without an end before byte {at}")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7


def walk(header: BatchHeader, batch: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset delta and timestamp of each record.

    Raises:
        BatchRefused: the records are damaged, or not as many as the header says.
    """
    try:
        codec = codec_name(header.attributes & 0x07) or "none"
        data = decompress(codec, memoryview(batch)[HEADER_BYTES:], DEFAULT_MAX_DECOMPRESSED_BYTES)
        at = 0
        for _ in range(header.records_count):
            size, at = _varint(data, at)
            end = at + size
            timestamp_delta, after_timestamp = _varint(data, at + 1)
            offset_delta, after_offset = _varint(data, after_timestamp)
            if size < 0 or not after_offset <= end <= len(data):
                raise _Damaged(f"record of {size} bytes at byte {at} of {len(data)}")
            yield offset_delta, header.base_timestamp_ms + timestamp_delta
            at = end
        if at != len(data):
            raise _Damaged(f"{len(data) - at} bytes behind the last record")
    except _Damaged as error:
        raise BatchRefused(ErrorCode.INVALID_RECORD, f"records of a batch: {error}") from error
    except DecompressionError as error:
        raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"records of a batch: {error}") from error


def check_records(header: BatchHeader, batch: bytes) -> None:
    """Walk over all records of a produced batch.

    Raises:
        BatchRefused: they are damaged, or their offsets are not consecutive.
    """
    for expected, (offset_delta, _) in enumerate(walk(header, batch)):
        if offset_delta != expected:
            text = f"record {expected} of a batch has offset delta {offset_delta}"
            raise BatchRefused(ErrorCode.INVALID_RECORD, text)
