"""A cursor over the records of one batch: finds where the fields of the next record are, and copies none of them.

Owns the record format of batch version 2 and its bounds: every length is checked against the record that holds it
before anything is read or copied. Must not know what the fields are wanted for (exits.py) or where the batch came from.
Source: https://kafka.apache.org/documentation/#record.
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
"""Of a record: from here on the system writes values in less time from where they lie than after a copy."""
HALF_RANGE: Final = 1 << 62
"""Two numbers within this add up within 64 bits."""


def wrapped_sum(base: int, delta: int) -> int:
    """The sum as a signed 64-bit integer, wrapping as Java's does."""
    return ((base + delta + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


@final
@mypyc_attr(acyclic=True)
class RecordCursor:
    """The fields of one record after the other, as positions in `buf`.

    Args:
        batch: what the header said.
        buf, pos, limit: the bytes, and where in them the records start and end.
        start_offset, stop_offset: records before the first and from the second on are not given.
        origin: where in `buf` the bytes begin in which positions of damage are counted; -1: `buf` was decompressed.

    Attributes: `given`, the number of records that advance() came to and that were not left out; `left_out`, the number
    of those that were; `is_stopped`, whether the stop offset ended it; the fields of the last record that advance()
    came to.
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
        """Go to the next wanted record; False when none is left. Raises CorruptBatchError for a damaged record."""
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
        """Go past plain records, `most` of them, and return their values, the separator behind each, and their number.

        Whatever is not plain is left to advance(), and so is a last record that has bytes behind it. Of the last record
        that was taken only the offset is there.
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
        """Whether the records that are left have LARGE_BYTES on average."""
        return self._left > 0 and self._limit - self._pos >= self._left * LARGE_BYTES

    def place_values(self, most: i64, separator: bytes, null: bytes) -> tuple[ValuePlaces, int]:
        """Go past plain records as take_values() does and return where the values are, and their number."""
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
        """Go past plain records but for the last and add them to columns; return their number and the room left.

        Args: as of `bulk.take_columns`.
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
        """Return the offset deltas of the first record that may be taken and of the first one that may not."""
        first = max(self._delta + 1, self._start_delta, 0)
        return first, min(self._stop_delta, self.batch.last_offset - self.batch.base_offset + 1)

    def _took(self, taken: i64, pos: i64, delta: i64) -> None:
        """Go past records that were taken."""
        if taken > 0:
            self._pos = pos
            self._left -= taken
            self._delta = delta
            self.offset = self.batch.base_offset + delta
            self.given += taken

    def give_back(self) -> None:
        """The record at hand was not given out after all."""
        self.given -= 1
        self.offset -= 1

    def leave_out(self) -> None:
        """The record at hand is passed, and not given out."""
        self.given -= 1
        self.left_out += 1

    @property
    def next_offset(self) -> int:
        """Where to continue after the last record given or left out; meaningful once one was."""
        return self.offset + 1

    @property
    def position(self) -> i64:
        """Where the next record begins in the bytes."""
        return self._pos

    @property
    def is_done(self) -> bool:
        """True when every record was read, False also when the stop offset ended it before."""
        return self._left == 0

    def _parse(self) -> bool:
        """Read the record at `_pos`; False, and stay there, when it is beyond the stop offset."""
        buf = self.buf
        size, pos = size_field(buf, self._pos, self._limit)
        if size < 0:
            raise FieldError("negative record length -1")
        end = pos + size
        pos += 1  # the record's attributes: none is defined

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
        """The record's timestamp: the batch's when the broker set it, else its own."""
        batch = self.batch
        if self._fixed_time:
            return batch.max_timestamp_ms
        half = self._half_range
        if -half <= delta < half:
            return batch.base_timestamp_ms + delta
        return wrapped_sum(batch.base_timestamp_ms, delta)

    def _check(self, headers_at: i64, end: i64, delta: i64) -> None:
        """Raise FieldError unless record and batch end where they must and offsets rise up to the batch's last."""
        if headers_at >= end:
            raise FieldError("the fields go beyond the end of the record")
        if self.buf[headers_at] == 0 and headers_at + 1 != end:
            raise FieldError(f"{end - headers_at - 1} bytes after the fields of the record")
        if delta <= self._delta or delta > self.batch.last_offset - self.batch.base_offset:
            raise FieldError(f"offset delta {delta} after {self._delta}, last offset {self.batch.last_offset}")
        if self._left == 1 and end != self._limit:
            raise FieldError(f"{self._limit - end} bytes after the last of {self.batch.record_count} records")

    def key(self) -> bytes | None:
        """The record's key."""
        if self.key_size < 0:
            return None
        return self.buf[self.key_at : self.key_at + self.key_size]

    def value(self) -> bytes | None:
        """The record's value."""
        if self.value_size < 0:
            return None
        return self.buf[self.value_at : self.value_at + self.value_size]

    def raw_headers(self) -> bytes:
        """The record's header section, empty when it has no headers."""
        if self.buf[self.headers_at] == 0:
            return b""
        return self.buf[self.headers_at : self.end]

    def damaged(self, cause: str) -> CorruptBatchError:
        """The error for the record at hand."""
        if self._origin < 0:
            return self.batch.damaged(cause, f"byte {self._pos} of the decompressed records")
        position = self._pos - self._origin
        error = self.batch.damaged(cause, f"byte {position} of the records")
        error.offset = position
        return error
