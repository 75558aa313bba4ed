"""Encoding of records and of whole batches of version 2 (RecordBatchBuilder).

Source: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from kctl.client.errors import LocalProtocolError, RecordTooLargeError
from kctl.client.records._hot.native_types import i64, mypyc_attr
from kctl.client.records._hot.record import Header
from kctl.client.records._hot.rows import FIRST_TIMESTAMP_MS, LAST_TIMESTAMP_MS, Rows
from kctl.client.records._hot.varint import SMALL, varint
from kctl.client.records.batch import BATCH_OVERHEAD_BYTES, TRANSACTIONAL, batch_head
from kctl.client.records.compression import CODEC_IDS, compress

MAX_RECORD_BYTES: Final = (1 << 31) - 1 - 49
"""Maximum size of a record: the length field of a batch has 31 bits and includes 49 bytes of header."""
_NULL: Final = b"\x01"
_ZERO: Final = b"\x00"
_SMALL_TIMES: Final[list[bytes]] = [_ZERO + varint(number) for number in range(2048)]
"""Attributes (none) and timestamp delta of a record, encoded in advance, by delta."""

_NO_KEY_AND_SIZES: Final[list[bytes]] = [_NULL + varint(number) for number in range(2048)]
"""Null key and size of a value, encoded in advance, by size."""


def append_record(
    parts: list[bytes],
    offset_delta: i64,
    timestamp_delta: i64,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
    room: i64,
) -> i64:
    """Append a record to `parts`; return its size, or 0 without appending if it exceeds `room`.

    Raises: RecordTooLargeError: the record exceeds MAX_RECORD_BYTES.
    """
    if 0 <= timestamp_delta < 2048:
        timestamp_bytes = _SMALL_TIMES[timestamp_delta]
    else:
        timestamp_bytes = _ZERO + varint(timestamp_delta)
    offset_bytes = varint(offset_delta)
    key_size = _NULL if key is None else varint(len(key))
    key_bytes = key or b""
    value_size = _NULL if value is None else varint(len(value))
    value_bytes = value or b""
    header_bytes = _ZERO if len(headers) == 0 else _encode_headers(headers)
    size: i64 = len(timestamp_bytes) + len(offset_bytes) + len(key_size) + len(key_bytes)
    size += len(value_size) + len(value_bytes) + len(header_bytes)
    if size > MAX_RECORD_BYTES:
        raise RecordTooLargeError(f"a record of {size} bytes: a batch holds {MAX_RECORD_BYTES}")
    size_bytes = varint(size)
    size += len(size_bytes)
    if size > room:
        return 0
    parts.append(size_bytes)
    parts.append(timestamp_bytes)
    parts.append(offset_bytes)
    parts.append(key_size)
    parts.append(key_bytes)
    parts.append(value_size)
    parts.append(value_bytes)
    parts.append(header_bytes)
    return size


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        name_bytes = _name_bytes(name)
        parts.append(varint(len(name_bytes)))
        parts.append(name_bytes)
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(varint(len(value)))
            parts.append(value)
    return b"".join(parts)


def _name_bytes(name: str) -> bytes:
    """Return a header's name in UTF-8, or the bytes that it was decoded from."""
    try:
        return name.encode()
    except UnicodeEncodeError:
        pass
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"header name {name!r} is not text: {error.reason}") from None


@final
@mypyc_attr(acyclic=True)
class RecordBatchBuilder:
    """Builder of one batch of version 2.

    Args:
        compression: none, gzip, snappy, lz4, or zstd.
        level: compression level; None for the default of the codec. snappy has no levels.
        batch_size_bytes: batch.size.
        producer_id, producer_epoch, base_sequence, transactional: see set_producer_state().
        expected_ratio: assumed ratio of compressed to plain size; with 1.0, the batch never exceeds its limit.
    """

    __slots__ = (
        "_body",
        "_expected_ratio",
        "_parts",
        "_records_bytes",
        "_room",
        "base_sequence",
        "base_timestamp_ms",
        "compression",
        "level",
        "max_timestamp_ms",
        "producer_epoch",
        "producer_id",
        "record_count",
        "transactional",
    )

    def __init__(
        self,
        compression: str = "none",
        level: int | None = None,
        batch_size_bytes: int = 16384,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        expected_ratio: float = 1.0,
    ) -> None:
        if compression not in CODEC_IDS:
            raise LocalProtocolError(f"compression {compression!r} is none of {', '.join(CODEC_IDS)}")
        self.compression = compression
        self.level = level
        self.record_count: i64 = 0
        self.base_timestamp_ms: i64 = -1
        self.max_timestamp_ms: i64 = -1
        self._expected_ratio: float = expected_ratio if compression != "none" else 1.0
        self._room: i64 = int((batch_size_bytes - BATCH_OVERHEAD_BYTES) / self._expected_ratio)
        self._records_bytes: i64 = 0
        self._parts: list[bytes] = []
        self._body: bytes | None = None
        self.set_producer_state(producer_id, producer_epoch, base_sequence, transactional)

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, transactional: bool = False
    ) -> None:
        """Set the idempotent or transactional producer; allowed before and after build(), which can be called again."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.transactional = transactional

    def try_append(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp_ms: i64
    ) -> int | None:
        """Append a record; return its offset in the batch, or None if the batch is full.

        The first record always fits. Key and value are not copied until build().

        Raises:
            LocalProtocolError: the batch is built.
            RecordTooLargeError: the record is too large for any batch.
        """
        if self._body is not None:
            raise LocalProtocolError("the batch is built: it takes no more records")
        number = self.record_count
        if number == 0:
            self.base_timestamp_ms = timestamp_ms
            self.max_timestamp_ms = timestamp_ms
        elif self._is_too_far(timestamp_ms):
            return None
        size = append_record(
            self._parts,
            number,
            timestamp_ms - self.base_timestamp_ms,
            key,
            value,
            headers,
            self._room if number > 0 else MAX_RECORD_BYTES + 5,
        )
        if size == 0:
            return None
        self._room -= size
        self._records_bytes += size
        self.record_count = number + 1
        if timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = timestamp_ms
        return number

    def _is_too_far(self, timestamp_ms: i64) -> bool:
        base_ms = self.base_timestamp_ms
        if base_ms < 0:
            return timestamp_ms >= 0 and timestamp_ms > LAST_TIMESTAMP_MS + base_ms
        return timestamp_ms < 0 and timestamp_ms < FIRST_TIMESTAMP_MS + base_ms

    def try_append_rows(self, rows: Rows, first: i64, end: i64) -> int:
        """Append rows until the batch is full; return their number. Raises: as try_append()."""
        values, keys, headers, timestamps_ms = rows.values, rows.keys, rows.headers, rows.timestamps_ms
        is_plain = headers is None and timestamps_ms is None
        at: i64 = first
        while at < end:
            if is_plain and self.record_count > 0:
                if keys is None:
                    at += self._append_values(values, at, end, rows.timestamp_ms)
                else:
                    at += self._append_keyed(keys, values, at, end, rows.timestamp_ms)
                if at >= end:
                    break
            position = self.try_append(
                None if keys is None else keys[at],
                values[at],
                () if headers is None else headers[at],
                rows.timestamp_ms if timestamps_ms is None else timestamps_ms[at],
            )
            if position is None:
                return at - first
            at += 1
        return end - first

    def set_records(self, records: bytes, count: i64, timestamp_ms: i64) -> None:
        """Set all records, as encoded by encode_lines(), with one timestamp.

        Raises: LocalProtocolError: the batch already has records.
        """
        if self._body is not None or self.record_count > 0:
            raise LocalProtocolError("the batch has records already")
        self._parts.append(records)
        self._records_bytes = len(records)
        self._room -= len(records)
        self.record_count = count
        self.base_timestamp_ms = timestamp_ms
        self.max_timestamp_ms = timestamp_ms

    def _append_values(self, values: list[bytes | None], first: i64, end: i64, timestamp_ms: i64) -> i64:
        """Append rows without keys as try_append() does, but with fewer parts; return their number.

        The batch must have a record already. Stops at a row that is null, not small, or does not fit.
        """
        timestamp_delta = timestamp_ms - self.base_timestamp_ms
        if self._body is not None or not 0 <= timestamp_delta < 2048 or timestamp_ms < 0:
            return 0
        parts, room, number = self._parts, self._room, self.record_count
        times = _SMALL_TIMES[timestamp_delta]
        head = behind = b""
        head_size: i64 = -1
        at: i64 = first
        while at < end:
            value = values[at]
            if value is None:
                break
            length: i64 = len(value)
            if length >= 2000:
                break
            offset_bytes = varint(number)
            value_size = _NO_KEY_AND_SIZES[length]
            size: i64 = len(times) + len(offset_bytes) + len(value_size) + length + 1
            if size != head_size:
                head_size = size
                head = SMALL[size] + times
                behind = _ZERO + head
            total: i64 = size + len(head) - len(times)
            if total > room:
                break
            parts.append(head if at == first else behind)
            parts.append(offset_bytes)
            parts.append(value_size)
            parts.append(value)
            room -= total
            number += 1
            at += 1
        self._took(at - first, number, room, timestamp_ms)
        return at - first

    def _append_keyed(
        self, keys: list[bytes | None], values: list[bytes | None], first: i64, end: i64, timestamp_ms: i64
    ) -> i64:
        """Append rows with keys as _append_values() does."""
        timestamp_delta = timestamp_ms - self.base_timestamp_ms
        if self._body is not None or not 0 <= timestamp_delta < 2048 or timestamp_ms < 0:
            return 0
        parts, room, number = self._parts, self._room, self.record_count
        times = _SMALL_TIMES[timestamp_delta]
        head = behind = b""
        head_size: i64 = -1
        at: i64 = first
        while at < end:
            key, value = keys[at], values[at]
            if key is None or value is None:
                break
            key_length: i64 = len(key)
            length: i64 = len(value)
            if key_length + length >= 2000:
                break
            offset_bytes = varint(number)
            key_size, value_size = SMALL[key_length], SMALL[length]
            size: i64 = len(times) + len(offset_bytes) + len(key_size) + key_length + len(value_size) + length + 1
            if size != head_size:
                head_size = size
                head = SMALL[size] + times
                behind = _ZERO + head
            total: i64 = size + len(head) - len(times)
            if total > room:
                break
            parts.append(head if at == first else behind)
            parts.append(offset_bytes)
            parts.append(key_size)
            parts.append(key)
            parts.append(value_size)
            parts.append(value)
            room -= total
            number += 1
            at += 1
        self._took(at - first, number, room, timestamp_ms)
        return at - first

    def _took(self, count: i64, number: i64, room: i64, timestamp_ms: i64) -> None:
        if count > 0:
            self._parts.append(_ZERO)
            self._records_bytes += self._room - room
            self._room = room
            self.record_count = number
            if timestamp_ms > self.max_timestamp_ms:
                self.max_timestamp_ms = timestamp_ms

    @property
    def size_bytes(self) -> int:
        """Size of the batch: exact without compression or after build(), otherwise estimated."""
        if self._body is not None:
            return BATCH_OVERHEAD_BYTES + len(self._body)
        if self.compression == "none":
            return BATCH_OVERHEAD_BYTES + self._records_bytes
        return BATCH_OVERHEAD_BYTES + int(int(self._records_bytes) * self._expected_ratio)

    @property
    def plain_bytes(self) -> int:
        return BATCH_OVERHEAD_BYTES + self._records_bytes

    @property
    def ratio(self) -> float:
        """Ratio of compressed to plain size of the records; 1.0 before build()."""
        if self._body is None or self._records_bytes == 0:
            return 1.0
        return len(self._body) / self._records_bytes

    def compress(self) -> None:
        """Compress now; no records can be appended afterwards."""
        self._compressed()

    def _compressed(self) -> bytes:
        parts = self._parts  # read first: another thread may compress, and replaces `_parts` last
        body = self._body
        if body is None:
            body = compress(self.compression, b"".join(parts), self.level)
            self._body = body
            self._parts = []
        return body

    def build(self) -> bytes:
        """Return the batch with its CRC and base offset 0; only the first call compresses.

        Raises: LocalProtocolError: the batch has no records.
        """
        head, body = self.build_pieces()
        return head + body

    def build_pieces(self) -> tuple[bytes, bytes]:
        """Return header and records of build() separately."""
        if self.record_count == 0:
            raise LocalProtocolError("a batch without records")
        body = self._compressed()
        head = batch_head(
            body,
            attributes=CODEC_IDS[self.compression] | (TRANSACTIONAL if self.transactional else 0),
            record_count=self.record_count,
            last_offset_delta=self.record_count - 1,
            base_timestamp_ms=self.base_timestamp_ms,
            max_timestamp_ms=self.max_timestamp_ms,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
        )
        return head, body
