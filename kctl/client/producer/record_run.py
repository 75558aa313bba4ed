"""RecordRun: rows of one topic, the unit of the producer's queues and batches.

The network loop makes runs of consecutive `send` records, and merges waiting runs of a partition. `send_columns` calls
become runs of about a batch, which are encoded early if large enough (run_encoder.py). Other runs are encoded when
their batch is sent, and cut at its end.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self, final

from kctl.client.cluster import TopicPartition
from kctl.client.producer.future import (
    ColumnsFuture,
    Failures,
    FlushGroup,
    Outcome,
    RowsCallback,
    SendFuture,
    SettledRows,
)
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES, checked_headers_bytes
from kctl.client.records import BatchReader, PackedPart, RecordBatchBuilder, Rows, complete_records, rows_of

MOST_EXTENDED_BYTES = 2**20
"""Maximum size of a run that can be extended. A run's records stay in memory until the last one is delivered."""


class RowsNotification(NamedTuple):
    """Callback for completed rows of send_columns. Attributes: failures: flush entry, if the rows failed."""

    callback: RowsCallback
    settled: SettledRows
    failures: Failures | None = None


@final
class RecordRun:
    """Rows `first` to `end` (exclusive) of columns, for one topic and, after the choice, one partition.

    Args:
        rows: columns, packed rows, or an encoded batch; None if the futures have the records.
        result: one future per row, or the future of a whole send_columns call.
        created_at_ms: time at which the first row was accepted.
        size_bytes: part of buffer.memory that the rows use.
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
        rows: Rows | RecordBatchBuilder | PackedPart | None,
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
        self.end = _count(result if rows is None else rows)
        self.offset_in_batch = 0
        """Index of the first row in its batch."""
        self.group: FlushGroup | None = None
        self.outcome: Outcome | None = None
        self.encoded: RecordBatchBuilder | None = rows if isinstance(rows, RecordBatchBuilder) else None
        """Rows that the caller encoded as a whole batch; see `drop_rows`."""
        self.is_compressing = False
        """Whether the helper thread compresses `encoded` (batch_compressor.py); the batch is not due until it ends."""
        self.divided: tuple[int, list[Self]] | None = None
        """Partition count and runs by partition, if the caller has divided the rows by key."""

    @classmethod
    def of_futures(cls, futures: list[SendFuture]) -> Self:
        first = futures[0]
        return cls(first.topic, first.partition, None, futures, first.created_at_ms, size_of(futures))

    def extend(self, records: list[SendFuture], group: FlushGroup | None) -> int:
        """Append records if the run has no columns, has room, and belongs to their flush group.

        Returns: buffer.memory of the appended records; 0 if nothing was appended.
        """
        if self._rows is not None or type(self.result) is not list or self.group is not group:
            return 0
        if self.size_bytes >= MOST_EXTENDED_BYTES:
            return 0
        size_bytes = size_of(records)
        self.result += records
        self.end += len(records)
        self.size_bytes += size_bytes
        return size_bytes

    @property
    def records(self) -> list[SendFuture] | None:
        """Records of `send`; None if the run has columns."""
        return self.result if self._rows is None and isinstance(self.result, list) else None

    def expired_count(self, now_ms: int, delivery_timeout_ms: int) -> int:
        latest_ms = now_ms - delivery_timeout_ms
        if self.created_at_ms > latest_ms:
            return 0
        result = self.result
        if isinstance(result, list):
            for row in range(self.first, self.end):
                if result[row].created_at_ms > latest_ms:
                    return row - self.first
        return self.count

    @property
    def count(self) -> int:
        return self.end - self.first

    @property
    def rows(self) -> Rows:
        """Columns of the run. If only encoded or divided rows were kept, they are decoded."""
        if self._rows is None:
            self._rows = _columns(self.result) if isinstance(self.result, list) else self._decoded()
        return self._rows

    def _decoded(self) -> Rows:
        if self._packed is not None:
            return self._packed.rows()
        timestamps_ms = None
        if self.encoded is not None:
            records = BatchReader(self.encoded.build(), check_crcs=False).records(self.encoded.record_count)
            found = [([record.value for record in records], [record.key for record in records])]
            timestamp_ms = self.encoded.base_timestamp_ms
        else:
            assert self.divided is not None
            pieces = [piece.rows for piece in self.divided[1]]
            found = [(piece.values, piece.keys or [None] * len(piece.values)) for piece in pieces]
            timestamp_ms = pieces[0].timestamp_ms
            if pieces[0].timestamps_ms is not None:
                timestamps_ms = [each for piece in pieces for each in piece.timestamps_ms or ()]
        values = [value for column, _ in found for value in column]
        keys = [key for _, column in found for key in column]
        return Rows(values, keys if keys.count(None) < len(keys) else None, None, None, timestamps_ms, timestamp_ms)

    def drop_rows(self) -> None:
        """Drop the rows of an encoded or divided run; the property `rows` decodes them again."""
        self._rows = self._packed = None

    @property
    def is_packed(self) -> bool:
        return self._packed is not None

    def unpack(self) -> None:
        """Copy rows that are still packed out of the caller's buffers."""
        if self._packed is not None:
            self._rows, self._packed = self.rows, None

    def divide_packed(
        self, partition_count: int, new_builder: Callable[[], RecordBatchBuilder], least_bytes: int
    ) -> list[Self] | None:
        """Return packed rows as one run per partition, chosen by the keys, or None if not possible.

        Runs below `least_bytes` are columns, others encoded batches.
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
        return TopicPartition(self.topic, self.partition)

    def cut_off(self, count: int) -> Self:
        rows, result = self.rows, self.result
        self.encoded = self.divided = None
        head = self._like(rows, self.result, self.first, self.first + count)
        head.offset_in_batch = self.offset_in_batch
        self.first += count
        self.offset_in_batch += count
        self.size_bytes -= head.size_bytes
        if isinstance(result, list):
            self.created_at_ms = result[self.first].created_at_ms
        return head

    def by_key(self, partition_count: int) -> list[Self] | None:
        """Return the rows as one run per partition, chosen by the keys; if None, the caller uses `by_partition`."""
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
        """Return the rows as one run per partition. Args: partitions: partition number of each row."""
        found: dict[int, list[int]] = {}
        for row, partition in enumerate(partitions, self.first):
            found.setdefault(partition, []).append(row)
        runs = []
        result = self.result
        for partition, numbers in found.items():
            if len(found) == 1:
                run: Self = self
            elif isinstance(result, list):
                run = type(self).of_futures([result[row] for row in numbers])
                run.group, run.outcome = self.group, self.outcome
            else:
                run = self._like(self.rows.selected(numbers), result, 0, len(numbers))
            run.partition = partition
            runs.append(run)
        return runs

    def _like(self, rows: Rows, result: list[SendFuture] | ColumnsFuture, first: int, end: int) -> Self:
        run = self._with(rows, self.partition, rows.size_bytes(first, end, MEMORY_OVERHEAD_BYTES))
        run.result, run.first, run.end = result, first, end
        return run

    def complete(self, outcome: Outcome) -> Sequence[SendFuture | ColumnsFuture | RowsNotification]:
        """Complete the futures; return the futures that have a callback or waiter."""
        assert self.outcome is None, "the record is already completed"
        self.outcome = outcome
        result = self.result
        failures = None if self.group is None or outcome.error is None else self.group.failures[-1]
        if isinstance(result, ColumnsFuture):
            result.settle(self.end - self.first, outcome, failures)
            waiting: list[SendFuture | ColumnsFuture | RowsNotification] = []
            if result.callback is not None:
                settled = SettledRows(
                    self.topic_partition, outcome, self.created_at_ms, lambda: self.rows, self.first, self.end
                )
                waiting.append(RowsNotification(result.callback, settled, failures))
            if result.waiters is not None and result.outcome is not None:
                waiting.append(result)
            return waiting
        return complete_records(result, self.first, self.end, self.partition, self.offset_in_batch, outcome, failures)

    def __repr__(self) -> str:
        return f"RecordRun({self.topic}-{self.partition}, {self.count} records)"


def unfinished(event: "list[SendFuture] | RecordRun") -> RecordRun | None:
    """Return the records of an event that have no outcome. A network loop that failed may have completed others."""
    if isinstance(event, list):
        futures = [future for future in event if future.outcome is None]
        return RecordRun.of_futures(futures) if futures else None
    result = event.result
    if event.outcome is not None or not isinstance(result, ColumnsFuture):
        return None if event.outcome is not None else event
    left = min(event.count, result.count - result.delivered - result.undelivered)
    if left < event.count:
        event.first, event.size_bytes = event.end - left, 0
    return event if left else None


def size_of(records: list[SendFuture]) -> int:
    return records[0].size_bytes if len(records) == 1 else sum([each.size_bytes for each in records])


def _columns(futures: list[SendFuture]) -> Rows:
    rows = rows_of(futures)
    if rows.headers is not None:
        rows.headers_bytes = [checked_headers_bytes(each) for each in rows.headers]
    return rows


def _count(rows: Rows | RecordBatchBuilder | PackedPart | list[SendFuture] | ColumnsFuture) -> int:
    if isinstance(rows, list):
        return len(rows)
    assert not isinstance(rows, ColumnsFuture)
    if isinstance(rows, RecordBatchBuilder):
        return rows.record_count
    return len(rows.values) if isinstance(rows, Rows) else rows.end - rows.first
