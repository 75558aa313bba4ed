"""RecordRun: rows of one topic, accepted at one instant: the unit of the producer's queues and batches.

Records of `send` that follow each other become runs when the network loop takes them over; a call of `send_columns` is
divided into runs of about a batch by its caller, and encoded there where they fill one (run_encoder.py). Any other run
is encoded when its batch is sent, and cut where the batch ends within it. Rows are columns of the compiled module,
which encodes them (kctl.client.records.Rows).
Shown by tests/unit/producer/test_record_run.py and tests/sim/producer/test_columns.py.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Self, TypeVar, final

from kctl.client.cluster import TopicPartition
from kctl.client.producer.future import (
    NO_PARTITION,
    ColumnsFuture,
    FlushGroup,
    Outcome,
    RowsCallback,
    SendFuture,
    SettledRows,
)
from kctl.client.producer.record import (
    ENCODED_OVERHEAD_BYTES,
    MEMORY_OVERHEAD_BYTES,
    Headers,
    check_partition,
    check_timestamp,
    check_topic,
    checked_headers_bytes,
)
from kctl.client.records import (
    BATCH_OVERHEAD_BYTES,
    BatchReader,
    Lines,
    PackedColumn,
    PackedPart,
    PackedRows,
    RecordBatchBuilder,
    Rows,
    check_contents,
    checked_timestamps,
    complete_records,
    rows_of,
)

T = TypeVar("T")

_ROW_BYTES: Final = ENCODED_OVERHEAD_BYTES + 2
"""What a row takes in a batch beside its contents, or a little more: so a run that fills a batch is not cut again."""

_KEYED_RUN_BATCHES: Final = 4
"""How many batches a run may fill whose rows have keys: it is divided among partitions before it joins their queues."""


class RowsNotification(NamedTuple):
    """Completed rows of a call of send_columns, and its callback."""

    callback: RowsCallback
    settled: SettledRows


@final
class RecordRun:
    """Rows `first` to before `end` of columns, for one topic and, once it is chosen, one partition.

    Args:
        rows: as columns, packed, or encoded as the records of a batch of their own.
        result: the future of each row, or the one of all rows of a call.
        created_at_ms: when the rows were accepted: their delivery.timeout.ms begins.
        size_bytes: what the rows take of buffer.memory.
    """

    __slots__ = (
        "_packed",
        "_rows",
        "created_at_ms",
        "divided",
        "encoded",
        "end",
        "first",
        "group",
        "holds_memory",
        "is_compressing",
        "offset_in_batch",
        "outcome",
        "partition",
        "result",
        "size_bytes",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        rows: Rows | RecordBatchBuilder | PackedPart,
        result: list[SendFuture] | ColumnsFuture,
        created_at_ms: int,
        size_bytes: int,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self._rows: Rows | None = rows if isinstance(rows, Rows) else None
        self._packed: PackedPart | None = rows if isinstance(rows, PackedPart) else None
        self.result = result
        self.created_at_ms = created_at_ms
        self.size_bytes = size_bytes
        self.holds_memory = False
        self.first = 0
        self.end = _count(rows)
        self.offset_in_batch = 0
        """Of the first row."""
        self.group: FlushGroup | None = None
        self.outcome: Outcome | None = None
        self.encoded: RecordBatchBuilder | None = rows if isinstance(rows, RecordBatchBuilder) else None
        """The rows as the records of a batch of their own, where the caller has encoded them; see `drop_rows`."""
        self.is_compressing = False
        """A helper thread compresses `encoded` (batch_compressor.py): the batch is not due before that is done."""
        self.divided: tuple[int, list[Self]] | None = None
        """The number of partitions, and the runs of those that keys choose, where the caller has divided the rows."""

    @classmethod
    def of_futures(cls, futures: list[SendFuture]) -> Self:
        """Return the run of records for one topic and partition that were accepted at one instant."""
        rows, size_bytes = rows_of(futures)
        if rows.headers is not None:
            rows.headers_bytes = [checked_headers_bytes(each) for each in rows.headers]
        first = futures[0]
        return cls(first.topic, first.partition, rows, futures, first.created_at_ms, size_bytes)

    @property
    def count(self) -> int:
        """How many records there are."""
        return self.end - self.first

    @property
    def rows(self) -> Rows:
        """The columns; decoded where only the encoded records were kept."""
        if self._rows is None:
            self._rows = self._decoded()
        return self._rows

    def _decoded(self) -> Rows:
        if self._packed is not None:
            return self._packed.rows()
        if self.encoded is not None:
            records = BatchReader(self.encoded.build(), check_crcs=False).records(self.encoded.record_count)
            found = [([record.value for record in records], [record.key for record in records])]
            timestamp_ms = self.encoded.base_timestamp_ms
        else:
            assert self.divided is not None
            pieces = [piece.rows for piece in self.divided[1]]
            found = [(piece.values, piece.keys or [None] * len(piece.values)) for piece in pieces]
            timestamp_ms = pieces[0].timestamp_ms
        values = [value for column, _ in found for value in column]
        keys = [key for _, column in found for key in column]
        return Rows(values, keys if keys.count(None) < len(keys) else None, None, None, None, timestamp_ms)

    def drop_rows(self) -> None:
        """Drop the columns of a run that is encoded or divided; `rows` makes them again where they are asked for."""
        self._rows = self._packed = None

    @property
    def is_packed(self) -> bool:
        """Whether the rows lie in the caller's buffers still."""
        return self._packed is not None

    def unpack(self) -> None:
        """Make objects of packed rows that were not encoded: their buffers are the caller's."""
        if self._packed is not None:
            self._rows, self._packed = self.rows, None

    def divide_packed(
        self, partition_count: int, new_builder: Callable[[], RecordBatchBuilder], least_bytes: int
    ) -> list[Self] | None:
        """Return packed rows as runs of the partitions that their keys choose; None where there are no such rows.

        Args: least_bytes: runs that are smaller are rows, and the others encoded.
        """
        found = None if self._packed is None else self._packed.divided(partition_count)
        if self._packed is None or found is None:
            return None
        pieces = []
        for partition, records, count, content_bytes in found:
            builder = new_builder()
            builder.set_records(records, count, self._packed.timestamp_ms)
            piece = self._with(builder, partition, content_bytes + MEMORY_OVERHEAD_BYTES * count)
            if len(records) < least_bytes:
                piece._rows, piece.encoded = piece.rows, None
            pieces.append(piece)
        return pieces

    @property
    def topic_partition(self) -> TopicPartition:
        """Where the records go; partition NO_PARTITION until one was chosen."""
        return TopicPartition(self.topic, self.partition)

    def cut_off(self, count: int) -> Self:
        """Take the first rows out; return them as a run of their own."""
        rows = self.rows
        self.encoded = self.divided = None
        head = self._like(rows, self.result, self.first, self.first + count)
        head.offset_in_batch = self.offset_in_batch
        self.first += count
        self.size_bytes -= head.size_bytes
        return head

    def by_key(self, partition_count: int) -> list[Self] | None:
        """Return the rows as runs of the partitions that their keys choose; None where `by_partition` has to do it."""
        if isinstance(self.result, list):
            return None
        if self.divided is not None and self.divided[0] == partition_count:
            pieces = self.divided[1]
            for piece in pieces:
                piece.created_at_ms, piece.group, piece.outcome = self.created_at_ms, self.group, self.outcome
            return pieces
        found = self.rows.by_key(self.first, self.end, partition_count, MEMORY_OVERHEAD_BYTES)
        return None if found is None else [self._with(rows, partition, size) for partition, rows, size in found]

    def _with(self, rows: Rows | RecordBatchBuilder, partition: int, size_bytes: int) -> Self:
        run = type(self)(self.topic, partition, rows, self.result, self.created_at_ms, size_bytes)
        run.group, run.outcome = self.group, self.outcome
        return run

    def by_partition(self, partitions: Sequence[int]) -> list[Self]:
        """Return the rows as runs of one partition each, in their order.

        Args: partitions: of each row.
        """
        found: dict[int, list[int]] = {}
        for row, partition in enumerate(partitions, self.first):
            found.setdefault(partition, []).append(row)
        runs = []
        for partition, numbers in found.items():
            result = self.result
            if isinstance(result, list):
                result = [result[row] for row in numbers]
            run = self if len(found) == 1 else self._like(self.rows.selected(numbers), result, 0, len(numbers))
            run.partition = partition
            runs.append(run)
        return runs

    def _like(self, rows: Rows, result: list[SendFuture] | ColumnsFuture, first: int, end: int) -> Self:
        run = self._with(rows, self.partition, rows.size_bytes(first, end, MEMORY_OVERHEAD_BYTES))
        run.result, run.first, run.end = result, first, end
        return run

    def complete(self, outcome: Outcome) -> Sequence[SendFuture | ColumnsFuture | RowsNotification]:
        """Complete the rows' futures; return what has a callback or a waiter."""
        assert self.outcome is None, "a record is completed once"
        self.outcome = outcome
        result = self.result
        if isinstance(result, ColumnsFuture):
            result.settle(self.end - self.first, outcome)
            waiting: list[SendFuture | ColumnsFuture | RowsNotification] = []
            if result.callback is not None:
                settled = SettledRows(
                    self.topic_partition, outcome, self.created_at_ms, lambda: self.rows, self.first, self.end
                )
                waiting.append(RowsNotification(result.callback, settled))
            if result.waiters is not None and result.outcome is not None:
                waiting.append(result)
            return waiting
        return complete_records(result, self.first, self.end, self.partition, self.offset_in_batch, outcome)

    def __repr__(self) -> str:
        return f"RecordRun({self.topic}-{self.partition}, {self.count} records)"


def _count(rows: Rows | RecordBatchBuilder | PackedPart) -> int:
    if isinstance(rows, RecordBatchBuilder):
        return rows.record_count
    return len(rows.values) if isinstance(rows, Rows) else rows.end - rows.first


# --- send_columns -----------------------------------------------------------------------------------------------------


class RowLimits(NamedTuple):
    """How large a run should be: a batch, but at most half of `buffer_memory_bytes`.

    Attributes: new_builder: makes the batch of lines that are encoded here; None: they are rows as others.
    """

    batch_size_bytes: int
    buffer_memory_bytes: int
    new_builder: Callable[[], RecordBatchBuilder] | None = None


def given_rows(
    topic: str,
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None,
    partition: int | None,
    headers: Sequence[Headers | None] | None,
    timestamps_ms: Sequence[int | None] | int | None,
    limits: RowLimits,
    now_ms: int,
) -> "GivenColumns | GivenPacked":
    """Return what a call of send_columns was given; raises as GivenColumns."""
    if headers is None and timestamps_ms is None and limits.new_builder is not None:
        packed = _packed(values, keys)
        if packed is not None:
            return GivenPacked(topic, packed, partition, limits.new_builder, limits, now_ms)
    return GivenColumns(topic, values, keys, partition, headers, timestamps_ms, limits, now_ms)


def _packed(values: Sequence[bytes | None], keys: Sequence[bytes | None] | None) -> Lines | PackedRows | None:
    """Return rows that can be encoded where they lie; None where they are objects."""
    if isinstance(values, Lines):
        return values if keys is None else None
    if not isinstance(values, PackedColumn):
        return None
    if keys is None:
        return PackedRows(values)
    if not isinstance(keys, PackedColumn):
        return None
    _column(keys, "keys", len(values))
    return PackedRows(values, keys)


class GivenPacked:
    """Lines or packed rows of one call of send_columns, in the place of GivenColumns.

    A run that fills at least half a batch is encoded when it is its turn, without an object for each row.
    """

    def __init__(
        self,
        topic: str,
        packed: Lines | PackedRows,
        partition: int | None,
        new_builder: Callable[[], RecordBatchBuilder],
        limits: RowLimits,
        now_ms: int,
    ) -> None:
        check_topic(topic)
        if partition is not None:
            check_partition(partition)
        self.count = len(packed)
        self.largest_bytes = packed.longest_bytes + MEMORY_OVERHEAD_BYTES if packed else -1
        self._packed = packed
        self._new_builder = new_builder
        self._now_ms = now_ms
        quarter_bytes = limits.buffer_memory_bytes // 4
        self._quarter_bytes = quarter_bytes
        self._batch_room_bytes = limits.batch_size_bytes - BATCH_OVERHEAD_BYTES
        self._room_bytes = min(self._batch_room_bytes, quarter_bytes)
        self._most_rows = max(1, quarter_bytes // MEMORY_OVERHEAD_BYTES)

    def memory_bytes(self, row: int) -> int:
        """Return what a row takes of buffer.memory."""
        return self._packed.row_bytes(row) + MEMORY_OVERHEAD_BYTES

    def first_larger_than(self, limit_bytes: int) -> int:
        """Return the first row that takes more memory, where there is one."""
        return next(row for row in range(self.count) if self.memory_bytes(row) > limit_bytes)

    def runs(self, future: ColumnsFuture, partition: int) -> Iterator[RecordRun]:
        """Return the runs, as GivenColumns.runs does."""
        packed = self._packed
        if partition == NO_PARTITION and isinstance(packed, PackedRows) and packed.has_keys:
            yield from self._undivided_runs(packed, future)
            return
        room_bytes, at = self._even_room_bytes(), 0
        while at < packed.behind:
            records, count, end = packed.encoded_from(at, room_bytes, self._most_rows)
            size_bytes = packed.content_bytes(at, end, count) + MEMORY_OVERHEAD_BYTES * count
            rows: Rows | RecordBatchBuilder
            if 2 * len(records) < self._room_bytes:
                rows = packed.rows(at, end, self._now_ms)
            else:
                rows = self._new_builder()
                rows.set_records(records, count, self._now_ms)
            yield RecordRun(future.topic, partition, rows, future, 0, size_bytes)
            at = end

    def _even_room_bytes(self) -> int:
        """Return the room of a batch where all of them are about as full: the last one should fill half of it, too."""
        packed, count = self._packed, self.count
        total_bytes = packed.content_bytes(0, packed.behind, count) + _ROW_BYTES * count
        batches = -(-total_bytes // self._room_bytes)
        return min(self._room_bytes, total_bytes // max(batches, 1) + packed.longest_bytes + _ROW_BYTES)

    def _undivided_runs(self, packed: PackedRows, future: ColumnsFuture) -> Iterator[RecordRun]:
        """Return runs of rows whose keys choose partitions."""
        at, room_bytes = 0, min(_KEYED_RUN_BATCHES * self._batch_room_bytes, self._quarter_bytes)
        while at < packed.behind:
            end = packed.end_within(at, _ROW_BYTES, room_bytes, self._most_rows)
            size_bytes = packed.content_bytes(at, end, end - at) + MEMORY_OVERHEAD_BYTES * (end - at)
            yield RecordRun(future.topic, NO_PARTITION, packed.part(at, end, self._now_ms), future, 0, size_bytes)
            at = end


class GivenColumns:
    """The columns of one call of send_columns, checked as a whole before any row is accepted.

    Attributes: `count` rows; `largest_bytes` of memory that one of them takes, -1 without rows.
    Raises: TypeError, ValueError: naming the row and what no record can have.
    """

    def __init__(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        partition: int | None,
        headers: Sequence[Headers | None] | None,
        timestamps_ms: Sequence[int | None] | int | None,
        limits: RowLimits,
        now_ms: int,
    ) -> None:
        check_topic(topic)
        if partition is not None:
            check_partition(partition)
        self.count = count = len(values)
        copied_values = list(values)
        check_contents(copied_values, "value")
        copied_keys = None
        if keys is not None:
            copied_keys = list(_column(keys, "keys", count))
            check_contents(copied_keys, "key")
        copied_headers: list[Headers] | None = None
        headers_bytes = None
        if headers is not None:
            copied_headers = [tuple(each or ()) for each in _column(headers, "headers", count)]
            headers_bytes = list(_headers_bytes(copied_headers))
        timestamps = None
        if isinstance(timestamps_ms, int):
            check_timestamp(timestamps_ms)
            now_ms = timestamps_ms
        elif timestamps_ms is not None:
            timestamps = checked_timestamps(_column(timestamps_ms, "timestamps_ms", count), now_ms)
        self._rows = Rows(copied_values, copied_keys, copied_headers, headers_bytes, timestamps, now_ms)
        quarter_bytes = limits.buffer_memory_bytes // 4
        self._beside_bytes = MEMORY_OVERHEAD_BYTES - _ROW_BYTES
        is_divided = keys is not None and partition is None
        batches = _KEYED_RUN_BATCHES if is_divided else 1
        room_bytes = min(batches * (limits.batch_size_bytes - BATCH_OVERHEAD_BYTES), quarter_bytes)
        most_rows = max(1, quarter_bytes // self._beside_bytes)
        self._cuts, largest_bytes = self._rows.cut(_ROW_BYTES, room_bytes, most_rows)
        self.largest_bytes = largest_bytes + self._beside_bytes if count else -1

    def memory_bytes(self, row: int) -> int:
        """Return what a row takes of buffer.memory."""
        return self._rows.size_bytes(row, row + 1, MEMORY_OVERHEAD_BYTES)

    def first_larger_than(self, limit_bytes: int) -> int:
        """Return the first row that takes more memory, where there is one."""
        return next(row for row in range(self.count) if self.memory_bytes(row) > limit_bytes)

    def runs(self, future: ColumnsFuture, partition: int) -> Iterator[RecordRun]:
        """Return the runs, each with its own columns, so that its rows can be released before those behind them.

        `created_at_ms` is set by the caller, when the run is accepted.
        """
        first = 0
        for end, run_bytes in self._cuts:
            size_bytes = run_bytes + self._beside_bytes * (end - first)
            yield RecordRun(future.topic, partition, self._rows.copied(first, end), future, 0, size_bytes)
            first = end


def _column(column: Sequence[T], name: str, count: int) -> Sequence[T]:
    if len(column) != count:
        raise ValueError(f"{name} has {len(column)} entries, values {count}")
    return column


def _headers_bytes(headers: Sequence[Headers]) -> Iterator[int]:
    for row, each in enumerate(headers):
        try:
            yield checked_headers_bytes(each) if each else 0
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {row}: {error}") from None
