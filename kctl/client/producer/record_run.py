"""RecordRun and ColumnsFuture: records of one topic that were sent as columns, and what became of them.

The columns of one call are cut into runs of about a batch each, which go through the queues as single records do; a run
is cut again where a batch ends within it. Made by an application thread, then owned by the network loop.
Shown by tests/unit/producer/test_record_run.py and tests/sim/producer/test_columns.py.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Self, final

from kctl.client.clock import FOREVER_MS, to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError, UndeliveredError
from kctl.client.producer.future import FlushGroup, Outcome, SendFuture
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES, Headers
from kctl.client.records import rows_bytes
from kctl.client.seams import Waiter

if TYPE_CHECKING:
    from kctl.client.producer.mailbox import Mailbox


class ColumnsFuture:
    """What `send_columns` returns: a promise that each of its records is delivered, or has failed, by its deadline.

    Attributes: `count`, how many records there are; `delivered` and `undelivered`, of how many that is known by now.
    """

    __slots__ = ("_mailbox", "count", "delivered", "error", "outcome", "topic", "undelivered", "waiters")

    callback: ClassVar[None] = None

    def __init__(self, mailbox: "Mailbox", topic: str, count: int) -> None:
        self._mailbox = mailbox
        self.topic = topic
        self.count = count
        self.delivered = 0
        self.undelivered = 0
        self.error: KafkaError | None = None
        """Why the first that was not delivered was not."""
        self.waiters: list[Waiter] | None = None
        self.outcome: Outcome | None = None if count else Outcome()

    def settle(self, count: int, outcome: Outcome) -> None:
        """Note what became of some of the records; the loop only."""
        if outcome.error is None:
            self.delivered += count
        else:
            self.undelivered += count
            self.error = self.error or outcome.error
        if self.delivered + self.undelivered == self.count:
            self.outcome = Outcome(self.error)

    def done(self) -> bool:
        """Return whether the fate of every record is known."""
        if self.outcome is None:
            self._mailbox.check_process()
        return self.outcome is not None

    def result(self, timeout: float | timedelta | None = None) -> int:
        """Return how many records there are, once all are acknowledged.

        Args: timeout: seconds; None waits for the records' own deadline.
        Raises:
            UndeliveredError: how many are not delivered, and why the first of them is not.
            ResultTimeout: the fate of some is not known yet; they go on.
            IllegalStateError: called inside a callback: it would hold up its own end.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.count

    def exception(self, timeout: float | timedelta | None = None) -> UndeliveredError | None:
        """Return what is not delivered and why, or None when all is; waits and raises as `result` does."""
        if self.outcome is None:
            self._mailbox.wait_for(self, to_timeout_ms(timeout, FOREVER_MS))
        return None if self.error is None else UndeliveredError(self.undelivered, self.error)

    @property
    def waited_for(self) -> str:
        """What a wait for this future waits for."""
        return f"{self.count - self.delivered - self.undelivered} records to {self.topic} are being delivered"

    def __repr__(self) -> str:
        return f"ColumnsFuture({self.topic}, {self.delivered} delivered, {self.undelivered} not, of {self.count})"


@final
class RecordRun:
    """Rows `first` to before `end` of columns, for one topic and, once it is chosen, one partition.

    Args:
        columns: told of what becomes of the rows.
        headers_bytes: the most that the headers of each row take.
        timestamps_ms: of each row; None: all have `timestamp_ms`.
        size_bytes: what the rows take of buffer.memory.
    """

    __slots__ = (
        "columns",
        "created_at_ms",
        "end",
        "first",
        "group",
        "headers",
        "headers_bytes",
        "holds_memory",
        "keys",
        "offset_in_batch",
        "outcome",
        "partition",
        "size_bytes",
        "timestamp_ms",
        "timestamps_ms",
        "topic",
        "values",
    )

    callback: ClassVar[None] = None
    waiters: ClassVar[None] = None

    def __init__(
        self,
        columns: ColumnsFuture,
        partition: int,
        values: list[bytes | None],
        keys: list[bytes | None] | None,
        headers: list[Headers] | None,
        headers_bytes: list[int] | None,
        timestamps_ms: list[int] | None,
        timestamp_ms: int,
        created_at_ms: int,
        size_bytes: int,
    ) -> None:
        self.columns = columns
        self.topic = columns.topic
        self.partition = partition
        self.values = values
        self.keys = keys
        self.headers = headers
        self.headers_bytes = headers_bytes
        self.timestamps_ms = timestamps_ms
        self.timestamp_ms = timestamp_ms
        self.created_at_ms = created_at_ms
        self.size_bytes = size_bytes
        self.holds_memory = False
        self.first = 0
        self.end = len(values)
        self.offset_in_batch = 0
        """Of the first row."""
        self.group: FlushGroup | None = None
        self.outcome: Outcome | None = None

    @property
    def count(self) -> int:
        """How many records there are."""
        return self.end - self.first

    @property
    def topic_partition(self) -> TopicPartition:
        """Where the records go; partition NO_PARTITION until one was chosen."""
        return TopicPartition(self.topic, self.partition)

    def cut_off(self, count: int) -> Self:
        """Take the first rows out; return them as a run of their own."""
        head = self._like(self.values, self.keys, self.headers, self.headers_bytes, self.timestamps_ms)
        head.first, head.end = self.first, self.first + count
        head.outcome = self.outcome
        head.size_bytes = head._measured()
        self.first += count
        self.size_bytes -= head.size_bytes
        return head

    def by_partition(self, partitions: Sequence[int]) -> "list[RecordRun]":
        """Return the rows as runs of one partition each, in their order.

        Args: partitions: of each row.
        """
        rows: dict[int, list[int]] = {}
        for row, partition in enumerate(partitions, self.first):
            rows.setdefault(partition, []).append(row)
        if len(rows) == 1:
            self.partition = partitions[0]
            return [self]
        return [self._of_rows(partition, numbers) for partition, numbers in rows.items()]

    def _of_rows(self, partition: int, rows: list[int]) -> Self:
        run = self._like(
            [self.values[row] for row in rows],
            None if self.keys is None else [self.keys[row] for row in rows],
            None if self.headers is None else [self.headers[row] for row in rows],
            None if self.headers_bytes is None else [self.headers_bytes[row] for row in rows],
            None if self.timestamps_ms is None else [self.timestamps_ms[row] for row in rows],
        )
        run.partition = partition
        run.size_bytes = run._measured()
        return run

    def _like(
        self,
        values: list[bytes | None],
        keys: list[bytes | None] | None,
        headers: list[Headers] | None,
        headers_bytes: list[int] | None,
        timestamps_ms: list[int] | None,
    ) -> Self:
        run = type(self)(
            self.columns,
            self.partition,
            values,
            keys,
            headers,
            headers_bytes,
            timestamps_ms,
            self.timestamp_ms,
            self.created_at_ms,
            0,
        )
        run.group = self.group
        return run

    def _measured(self) -> int:
        return rows_bytes(self.values, self.keys, self.headers_bytes, self.first, self.end, MEMORY_OVERHEAD_BYTES)

    def __repr__(self) -> str:
        return f"RecordRun({self.topic}-{self.partition}, {self.count} records)"


Parcel = SendFuture | RecordRun
"""What waits in a queue and travels in a batch: one record, or a run of them."""
