"""Cursor over the records of one batch, which finds their fields without copies.

Every length is checked against its record before bytes are read. Source:
https://kafka.apache.org/documentation/#record.
"""

from __future__ import annotations

from typing import Final, final

from kctl.client.errors import CorruptBatchError
from kctl.client.records._hot.bulk import take_columns, take_values
from kctl.client.records._hot.filled import FilledParts
from kctl.client.records._hot.native_types import i64, mypyc_attr
from kctl.client.records._hot.places import ValuePlaces, place_values
from kctl.client.records._hot.record import LOG_APPEND_TIME, BatchInfo
from kctl.client.records._hot.varint import FieldError, size_field, varint_rest, varlong_rest

LARGE_BYTES: Final = 512
"""Average record size from which it is faster to write values in place than to copy them."""
HALF_RANGE: Final = 1 << 62
"""The sum of two numbers within this range has 64 bits."""


def wrapped_sum(base: int, delta: int) -> int:
    """Return the sum as a signed 64-bit integer that overflows as in Java."""
    return ((base + delta + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


@final
@mypyc_attr(acyclic=True)
class RecordCursor:
    """Positions of the fields of the current record in `buf`; advance() moves to the next record.

    Args:
        pos, limit: start and end of the records in `buf`.
        start_offset, stop_offset: half-open range of the offsets to return.
        origin: position in `buf` from which errors count bytes; -1 if `buf` was decompressed.

    Attributes:
        given: number of returned records, without `left_out`.
        left_out: number of records that leave_out() dropped.
        is_stopped: whether the stop offset was reached.
    """

    __slots__ = (
        "_delta",
        "_fixed_time",
        "_half_range",
        "_left",
        "_limit",
        "_origin",
        "_pos",
        "_start_delta",
        "_stop_delta",
        "batch",
        "buf",
        "end",
        "given",
        "headers_at",
        "is_stopped",
        "key_at",
        "key_size",
        "left_out",
        "offset",
        "timestamp_ms",
        "value_at",
        "value_size",
    )

    def __init__(
        self,
        batch: BatchInfo,
        buf: bytes,
        pos: i64,
        limit: i64,
        start_offset: i64,
        stop_offset: i64,
        origin: i64,
    ) -> None:
        self.batch = batch
        self.buf = buf
        self._limit = limit
        self._origin = origin
        self.given: i64 = 0
        self.left_out: i64 = 0
        self.is_stopped = False
        self.offset: i64 = -1
        self.timestamp_ms: i64 = -1
        self.key_at: i64 = 0
        self.key_size: i64 = -1
        self.value_at: i64 = 0
        self.value_size: i64 = -1
        self.headers_at: i64 = 0
        self.end: i64 = 0
        self._pos = pos
        self._left: i64 = batch.record_count
        self._delta: i64 = -1
        self._start_delta: i64 = start_offset - batch.base_offset
        self._stop_delta: i64 = stop_offset - batch.base_offset
        self._fixed_time: bool = batch.timestamp_type == LOG_APPEND_TIME
        base: i64 = batch.base_timestamp_ms
        self._half_range: i64 = HALF_RANGE if -HALF_RANGE <= base < HALF_RANGE else 0

    def advance(self) -> bool:
        """Move to the next wanted record; return False if none is left. Raises: CorruptBatchError."""
        try:
            while self._left > 0:
                if not self._parse():
                    return False
                if self._delta >= self._start_delta:
                    self.given += 1
                    return True
        except FieldError as error:
            raise self.damaged(str(error)) from None
        except IndexError:
            raise self.damaged("the batch ends inside the record") from None
        return False

    def take_values(self, most: i64, separator: bytes, null: bytes) -> tuple[bytes, int]:
        """Move past up to `most` plain records; return their values, each followed by the separator, and their number.

        advance() must read other records, and a last record that bytes follow. Of the fields, only the offset of the
        last record is set.
        """
        first, end = self._plain_deltas()
        left = self._left
        values, taken, pos, delta = take_values(
            self.buf, self._pos, self._limit, first, end, min(most, left), left, separator, null
        )
        self._took(taken, pos, delta)
        return values, taken

    @property
    def has_large_values(self) -> bool:
        return self._left > 0 and self._limit - self._pos >= self._left * LARGE_BYTES

    def place_values(self, most: i64, separator: bytes, null: bytes) -> tuple[ValuePlaces, int]:
        """Move past plain records as take_values() does; return the places of their values and their number."""
        first, end = self._plain_deltas()
        left = self._left
        places, taken, pos, delta = place_values(
            self.buf, self._pos, self._limit, first, end, min(most, left), left, separator, null
        )
        self._took(taken, pos, delta)
        return places, taken

    def take_columns(
        self,
        most: i64,
        room: i64,
        ends_at_headers: bool,
        keys: FilledParts | None,
        values: FilledParts | None,
        offsets: bytearray,
        times: bytearray | None,
    ) -> tuple[int, int]:
        """Append plain records, except the last of the batch, to columns; return their number and the remaining room.

        Args: as for `bulk.take_columns`.
        """
        first, end = self._plain_deltas()
        batch = self.batch
        base_ms = batch.max_timestamp_ms if self._fixed_time else batch.base_timestamp_ms
        taken, pos, delta, room_left = take_columns(
            self.buf,
            self._pos,
            self._limit,
            first,
            end,
            min(most, self._left - 1),
            room,
            ends_at_headers,
            batch.base_offset,
            base_ms,
            self._fixed_time,
            keys,
            values,
            offsets,
            times,
        )
        self._took(taken, pos, delta)
        return taken, room_left

    def _plain_deltas(self) -> tuple[i64, i64]:
        first = max(self._delta + 1, self._start_delta, 0)
        return first, min(self._stop_delta, self.batch.last_offset - self.batch.base_offset + 1)

    def _took(self, taken: i64, pos: i64, delta: i64) -> None:
        if taken > 0:
            self._pos = pos
            self._left -= taken
            self._delta = delta
            self.offset = self.batch.base_offset + delta
            self.given += taken

    def give_back(self) -> None:
        self.given -= 1
        self.offset -= 1

    def leave_out(self) -> None:
        self.given -= 1
        self.left_out += 1

    @property
    def next_offset(self) -> int:
        """Offset after the last record that was returned or left out; valid after the first record."""
        return self.offset + 1

    @property
    def position(self) -> i64:
        return self._pos

    @property
    def is_done(self) -> bool:
        """Whether every record was read, and the stop offset was not reached."""
        return self._left == 0

    def _parse(self) -> bool:
        buf = self.buf
        size, pos = size_field(buf, self._pos, self._limit)
        if size < 0:
            raise FieldError("negative record length -1")
        end = pos + size
        pos += 1  # record attributes: none is defined

        timestamp: i64 = buf[pos]
        pos += 1
        if timestamp < 0x80:
            timestamp = (timestamp >> 1) ^ -(timestamp & 1)
        else:
            timestamp, pos = varlong_rest(buf, pos, timestamp)

        delta: i64 = buf[pos]
        pos += 1
        if delta >= 0x80:
            delta, pos = varint_rest(buf, pos, delta)
        delta = (delta >> 1) ^ -(delta & 1)

        key_size, key_at = size_field(buf, pos, end)
        pos = key_at + key_size if key_size > 0 else key_at
        value_size, value_at = size_field(buf, pos, end)
        pos = value_at + value_size if value_size > 0 else value_at

        self._check(pos, end, delta)
        if delta >= self._stop_delta:
            self.is_stopped = True
            return False
        self._left -= 1
        self._pos = end
        self._delta = delta
        self.offset = self.batch.base_offset + delta
        self.timestamp_ms = self._absolute_time(timestamp)
        self.key_at = key_at
        self.key_size = key_size
        self.value_at = value_at
        self.value_size = value_size
        self.headers_at = pos
        self.end = end
        return True

    def _absolute_time(self, delta: i64) -> i64:
        batch = self.batch
        if self._fixed_time:
            return batch.max_timestamp_ms
        half = self._half_range
        if -half <= delta < half:
            return batch.base_timestamp_ms + delta
        return wrapped_sum(batch.base_timestamp_ms, delta)

    def _check(self, headers_at: i64, end: i64, delta: i64) -> None:
        """Raise FieldError unless record and batch end at the right byte, and offsets ascend."""
        if headers_at >= end:
            raise FieldError("the fields go beyond the end of the record")
        if self.buf[headers_at] == 0 and headers_at + 1 != end:
            raise FieldError(f"{end - headers_at - 1} bytes after the fields of the record")
        if delta <= self._delta or delta > self.batch.last_offset - self.batch.base_offset:
            raise FieldError(f"offset delta {delta} after {self._delta}, last offset {self.batch.last_offset}")
        if self._left == 1 and end != self._limit:
            raise FieldError(f"{self._limit - end} bytes after the last of {self.batch.record_count} records")

    def key(self) -> bytes | None:
        if self.key_size < 0:
            return None
        return self.buf[self.key_at : self.key_at + self.key_size]

    def value(self) -> bytes | None:
        if self.value_size < 0:
            return None
        return self.buf[self.value_at : self.value_at + self.value_size]

    def raw_headers(self) -> bytes:
        """Return the encoded headers; empty if there are none."""
        if self.buf[self.headers_at] == 0:
            return b""
        return self.buf[self.headers_at : self.end]

    def damaged(self, cause: str) -> CorruptBatchError:
        if self._origin < 0:
            return self.batch.damaged(cause, f"byte {self._pos} of the decompressed records")
        position = self._pos - self._origin
        error = self.batch.damaged(cause, f"byte {position} of the records")
        error.offset = position
        return error
