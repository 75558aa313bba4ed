"""Records of a batch: offset deltas, timestamps, and keys. Values and headers are not decoded."""

from collections.abc import Iterator
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, DecompressionError, codec_name, decompress
from kctl.sandbox.batches import HEADER_BYTES, BatchHeader, BatchRefused


class _Damaged(Exception):
    """A record exceeds its batch."""


class RawRecord(NamedTuple):
    offset_delta: int
    timestamp_ms: int
    content: bytes

    @property
    def key(self) -> bytes | None:
        return self._bytes_at(0)[0]

    @property
    def has_value(self) -> bool:
        return self._bytes_at(self._bytes_at(0)[1])[0] is not None

    def _bytes_at(self, at: int) -> tuple[bytes | None, int]:
        size, at = _varint(self.content, at)
        if size < 0:
            return None, at
        if at + size > len(self.content):
            raise _Damaged(f"a field of {size} bytes at byte {at} exceeds the record of {len(self.content)} bytes")
        return self.content[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data):
            raise _Damaged(f"a varint is cut off at byte {at}, the end of the data")
        if shift > 63:
            raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"the varint before byte {at} is too long")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7


def _spans(header: BatchHeader, batch: bytes) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Yield offset delta, timestamp, and content of each record. The content is a buffer with its start and end."""
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
                raise _Damaged(f"a record of {size} bytes at byte {at} does not fit the {len(data)} bytes of the batch")
            yield offset_delta, header.base_timestamp_ms + timestamp_delta, data, after_offset, end
            at = end
        if at != len(data):
            raise _Damaged(f"{len(data) - at} bytes follow the last record")
    except _Damaged as error:
        raise BatchRefused(ErrorCode.INVALID_RECORD, f"the batch contains invalid records: {error}") from error
    except DecompressionError as error:
        raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"the batch contains invalid records: {error}") from error


def walk(header: BatchHeader, batch: bytes) -> Iterator[tuple[int, int]]:
    for offset_delta, timestamp_ms, _, _, _ in _spans(header, batch):
        yield offset_delta, timestamp_ms


def records_of(header: BatchHeader, batch: bytes) -> Iterator[RawRecord]:
    for offset_delta, timestamp_ms, data, at, end in _spans(header, batch):
        yield RawRecord(offset_delta, timestamp_ms, data[at:end])


def check_records(header: BatchHeader, batch: bytes, *, need_keys: bool = False) -> None:
    """Raise BatchRefused if records are damaged or not consecutive, or if `need_keys` is set and a key is missing."""
    keyless = []
    for expected, (offset_delta, _, data, at, _) in enumerate(_spans(header, batch)):
        if offset_delta != expected:
            text = f"invalid offset delta {offset_delta} of record {expected} in the batch"
            raise BatchRefused(ErrorCode.INVALID_RECORD, text)
        if need_keys and _varint(data, at)[0] < 0:
            keyless.append(expected)
    if keyless:
        raise BatchRefused(ErrorCode.INVALID_RECORD, "records of compacted topics need a key", tuple(keyless))
