"""BatchReader: reads one partition in a fetch response, batch by batch."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from kctl.client.errors import CorruptBatchError
from kctl.client.records._hot.columns import Columns, read_columns
from kctl.client.records._hot.cursor import RecordCursor
from kctl.client.records._hot.exits import OutputPlan, read_output, read_records, read_values
from kctl.client.records._hot.places import ValuePlaces
from kctl.client.records._hot.record import BatchInfo, Record
from kctl.client.records.batch import BATCH_OVERHEAD_BYTES, FRAME, FRAME_BYTES, MAGIC_AT, Source, read_batch
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, DecompressionError, decompress
from kctl.client.records.legacy import read_message
from kctl.client.records.transactions import AbortedFilter, AbortedTransaction, ControlMarker, read_marker

MAX_OFFSET: Final = (1 << 63) - 1
CHUNK_RECORDS: Final = 500
UNJOINED_BYTES: Final = 128 * 1024
"""Size of the values of one batch that `output` returns without joining them with the next batch."""
JOINED_BYTES: Final = 1024 * 1024
"""Size of formatted records after which `output` returns."""
LARGE_OUTPUT_BYTES: Final = 4 * JOINED_BYTES
"""Size of formatted records that are not joined, because they contain a large value, which would be copied."""
OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""Decompressed bytes after which `output` and `records` return."""
LAST_DELTA_AT: Final = 23
"""Position of the last offset delta in a batch header."""
_SHORTEST_BATCH_BYTES: Final = FRAME_BYTES + 14


class Frame(NamedTuple):
    """Bounds of a batch. Attributes: end: end of the batch; beyond the data if it is incomplete."""

    at: int
    end: int
    base_offset: int


class BatchReader:
    """Records of one partition of a fetch, in offset order.

    Control batches, aborted transactions, and offsets outside the wanted range are left out. If records precede damage,
    they are returned first; the next call and every later one raise the error.

    Attributes:
        next_offset: offset after the last returned record; after all batches once `exhausted` is set.
        exhausted: whether all wanted records were returned. Until then, results may be empty.
        count: number of returned records.
        filtered_records: number of records that conditions of the plan left out.
        decompressed_bytes: size of all decompressed batches.
        markers: control records read so far.
    """

    def __init__(
        self,
        data: bytes,
        *,
        start: int = 0,
        end: int | None = None,
        topic: str = "",
        partition: int = -1,
        fetch_offset: int = 0,
        stop_offset: int = MAX_OFFSET,
        check_crcs: bool = True,
        aborted: Iterable[AbortedTransaction] | None = None,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        """Args: start, end: bounds of the batches in `data`."""
        self.next_offset = fetch_offset
        self.exhausted = False
        self.count = 0
        self.filtered_records = 0
        self.markers: list[ControlMarker] = []
        self._data = data
        self._at = start
        self._end = len(data) if end is None else end
        self._last_offset = -1
        self._source = Source(topic, partition, start)
        self._stop_offset = stop_offset
        self._check_crcs = check_crcs
        self._aborted = None if aborted is None else AbortedFilter(aborted)
        self._max_decompressed_bytes = max_decompressed_bytes
        self.decompressed_bytes = 0
        self._cursor: RecordCursor | None = None
        self._error: CorruptBatchError | None = None
        self._frame: Frame | None = None
        """Bounds of the last batch."""

    @property
    def held_bytes(self) -> int:
        """Decompressed size of the current batch; 0 if it is not compressed."""
        if self._cursor is None or self._cursor.buf is self._data:
            return 0
        return len(self._cursor.buf)

    def records(self, max_records: int = CHUNK_RECORDS) -> list[Record]:
        """Return the next records, at most `max_records`, or fewer after OUTPUT_BYTES of decompressed batches.

        Raises: CorruptBatchError: a batch is damaged. UnsupportedCodecError: the codec is unknown.
        """
        out: list[Record] = []
        self._read(max_records, lambda cursor, room: read_records(cursor, out, room), self._decompressed_enough())
        return out

    def output(self, plan: OutputPlan, max_records: int = CHUNK_RECORDS) -> bytes:
        """Return the output for the next records, at most `max_records`, without record objects.

        Returns early after OUTPUT_BYTES of decompressed batches, and at the end of a batch after UNJOINED_BYTES of
        values.

        Raises: as records().
        """
        return b"".join(map(bytes, self._pieces(plan, max_records, in_place=False)))

    def pieces(self, plan: OutputPlan, max_records: int = CHUNK_RECORDS) -> list[bytes | ValuePlaces]:
        """Return output() in pieces. Large values are several parts, or places in the batch. Raises: as records()."""
        return self._pieces(plan, max_records, in_place=True)

    def _pieces(self, plan: OutputPlan, max_records: int, *, in_place: bool) -> list[bytes | ValuePlaces]:
        out: list[bytes | ValuePlaces] = []
        separator = plan.value_separator
        is_decompressed = self._decompressed_enough()
        if separator is None:
            out += self._rows(plan, max_records, is_decompressed)
        else:
            self._read(
                max_records,
                lambda cursor, room: read_values(cursor, out, separator, plan.null, in_place, room),
                lambda: sum(map(len, out)) >= UNJOINED_BYTES or is_decompressed(),
            )
        return out

    def _rows(self, plan: OutputPlan, max_records: int, is_decompressed: Callable[[], bool]) -> list[bytes]:
        rows: list[bytes] = []
        joined_bytes = 0

        def take(cursor: RecordCursor, room: int) -> None:
            nonlocal joined_bytes
            already = len(rows)
            try:
                read_output(cursor, plan, rows, room, self.count)
            finally:
                joined_bytes += sum(map(len, rows[already:]))

        self._read(max_records, take, lambda: joined_bytes >= JOINED_BYTES or is_decompressed())
        return rows if joined_bytes > LARGE_OUTPUT_BYTES else [b"".join(rows)]

    def columns(self, columns: Columns, max_records: int) -> None:
        """Append the next records to the columns, until `max_records` are read or the columns are full.

        Raises: as records(); the columns then contain the records before the damage.
        """
        self._read(max_records, lambda cursor, room: read_columns(cursor, columns, room), columns.is_full)

    def __iter__(self) -> Iterator[list[Record]]:
        while not self.exhausted:
            if chunk := self.records():
                yield chunk

    def _decompressed_enough(self) -> Callable[[], bool]:
        enough = self.decompressed_bytes + OUTPUT_BYTES
        return lambda: self.decompressed_bytes >= enough

    def _read(
        self,
        max_records: int,
        take: Callable[[RecordCursor, int], None],
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        if self._error is not None:
            raise self._error
        wanted = self.count + max_records
        before = self.count
        try:
            while self.count < wanted and not self.exhausted and not is_full():
                cursor = self._cursor or self._next_cursor()
                if cursor is not None:
                    self._take(cursor, wanted - self.count, take)
        except CorruptBatchError as error:
            self._error = error
            if self.count == before:
                raise

    def _take(self, cursor: RecordCursor, room: int, take: Callable[[RecordCursor, int], None]) -> None:
        self._cursor = cursor
        already, left_out_already = cursor.given, cursor.left_out
        try:
            take(cursor, room)
        finally:
            given, left_out = cursor.given - already, cursor.left_out - left_out_already
            self.count += given
            self.filtered_records += left_out
            if given or left_out:
                self.next_offset = cursor.next_offset
        if cursor.is_done:
            self._cursor = None
            self._pass(cursor.batch)
        elif cursor.is_stopped:
            self._stop()

    def skip(self, error: CorruptBatchError) -> int:
        """Skip damage that was raised: one record if the error has a resume offset, otherwise the rest of the batch.

        Returns: offset to continue at.
        """
        self._error = None
        if error.resume_offset is not None:
            self.next_offset = max(self.next_offset, error.resume_offset)
        elif self._cursor is not None:
            self._pass(self._cursor.batch)
            self._cursor = None
        elif self._frame is not None:
            self.next_offset = max(self.next_offset, _offset_behind(self._data, self._frame))
        return self.next_offset

    def _pass(self, batch: BatchInfo) -> None:
        self.next_offset = max(self.next_offset, batch.last_offset + 1)

    def _stop(self) -> None:
        self.next_offset = max(self.next_offset, self._stop_offset)
        self.exhausted = True

    def _next_cursor(self) -> RecordCursor | None:
        frame = next_frame(self._source, self._data, self._at, self._end)
        if frame is None or frame.end > self._end:
            self.exhausted = True  # an incomplete batch is normal: the next fetch returns it again
            return None
        self._frame, self._at = frame, frame.end
        batch, message = self._head(frame)
        if batch.base_offset <= self._last_offset:
            # No CRC covers the offset. Without this check, the batch would be left out as already read.
            raise self._source.damaged(
                f"the previous batch ends at offset {self._last_offset}", batch.base_offset, frame.at
            )
        self._last_offset = batch.last_offset
        if batch.base_offset >= self._stop_offset:
            self._stop()
            return None
        hidden = self._aborted is not None and self._aborted.hides(batch)
        if batch.is_control:
            self._read_markers(self._open(frame, batch, message))
        elif not hidden and batch.last_offset >= self.next_offset:
            return self._open(frame, batch, message)
        self._pass(batch)
        return None

    def _head(self, frame: Frame) -> tuple[BatchInfo, bytes | None]:
        """Read the header of a batch. In versions 0 and 1, also read the records, which contain the first offset."""
        data, source, limit = self._data, self._source, self._max_decompressed_bytes
        if data[frame.at + MAGIC_AT] == 2:
            return read_batch(source, data, frame.at, frame.end, check_crcs=self._check_crcs), None
        message = read_message(
            source, data, frame.at, frame.end, check_crcs=self._check_crcs, max_decompressed_bytes=limit
        )
        if message.info.compression != "none":
            self.decompressed_bytes += len(message.records)
        return message.info, message.records

    def _open(self, frame: Frame, info: BatchInfo, message: bytes | None) -> RecordCursor:
        data, source, limit = self._data, self._source, self._max_decompressed_bytes
        if message is not None:
            return self._cursor_over(info, message)
        records_at = frame.at + BATCH_OVERHEAD_BYTES
        if info.compression == "none" or info.record_count == 0:
            return RecordCursor(info, data, records_at, frame.end, self.next_offset, self._stop_offset, source.origin)
        try:
            plain = decompress(info.compression, memoryview(data)[records_at : frame.end], limit)
        except DecompressionError as error:
            raise source.damaged(str(error), info.base_offset, frame.at) from error
        self.decompressed_bytes += len(plain)
        return self._cursor_over(info, plain)

    def _cursor_over(self, info: BatchInfo, plain: bytes) -> RecordCursor:
        return RecordCursor(info, plain, 0, len(plain), self.next_offset, self._stop_offset, -1)

    def _read_markers(self, cursor: RecordCursor) -> None:
        records: list[Record] = []
        read_records(cursor, records, cursor.batch.record_count)
        for record in records:
            marker = read_marker(record)
            self.markers.append(marker)
            if self._aborted is not None:
                self._aborted.ended(marker)


def next_frame(source: Source, data: bytes, at: int, limit: int) -> Frame | None:
    """Return the bounds of the batch at `at`, or None if `limit` cuts its first fields.

    Raises: CorruptBatchError: the length is impossible, or the version is unknown.
    """
    if limit - at < FRAME_BYTES:
        return None
    base_offset, length = FRAME.unpack_from(data, at)
    if length < _SHORTEST_BATCH_BYTES - FRAME_BYTES:
        raise source.damaged(f"the batch length {length} is too small", base_offset, at)
    if limit - at > MAGIC_AT and data[at + MAGIC_AT] > 2:
        raise source.damaged(
            f"kctl does not support version {data[at + MAGIC_AT]} of the record format", base_offset, at
        )
    return Frame(at, at + FRAME_BYTES + length, base_offset)


def _offset_behind(data: bytes, frame: Frame) -> int:
    """Return the offset after a batch. A header of version 0 or 1 has the offset of the last message."""
    if data[frame.at + MAGIC_AT] != 2 or frame.end - frame.at < BATCH_OVERHEAD_BYTES:
        return frame.base_offset + 1
    return frame.base_offset + 1 + int.from_bytes(data[frame.at + LAST_DELTA_AT : frame.at + LAST_DELTA_AT + 4], "big")


def split_batches(
    data: bytes, *, topic: str = "", partition: int = -1, check_crcs: bool = True
) -> list[tuple[BatchInfo, bytes]]:
    """Split the records of a produce request into version 2 batches.

    Raises: CorruptBatchError: a batch is damaged or incomplete, or has version 0 or 1, which cannot be produced.
    """
    source = Source(topic, partition)
    batches: list[tuple[BatchInfo, bytes]] = []
    at = 0
    while at < len(data):
        frame = next_frame(source, data, at, len(data))
        if frame is None or frame.end > len(data):
            raise source.damaged(f"the batch is truncated after {len(data) - at} bytes", -1, at)
        if data[at + MAGIC_AT] != 2:
            raise source.damaged(
                f"the record format must have version 2, not {data[at + MAGIC_AT]}", frame.base_offset, at
            )
        info = read_batch(source, data, at, frame.end, check_crcs=check_crcs)
        batches.append((info, data[at : frame.end]))
        at = frame.end
    return batches
