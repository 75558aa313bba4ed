"""Delivery of one record, or of all records of a send_columns call. The network loop completes it, application threads
read it.
"""

from collections.abc import Callable, Generator, Iterator
from datetime import timedelta
from typing import Any, Protocol, final

from kctl.client.awaiting import await_result, call_when_done
from kctl.client.clock import FOREVER_MS, to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError, UndeliveredError
from kctl.client.lifetime import NotCopied
from kctl.client.producer.record import ProducerRecord
from kctl.client.records import Outcome as Outcome
from kctl.client.records import Rows
from kctl.client.records import SendFuture as SendFuture
from kctl.client.runtime import Waiter

NO_PARTITION = -1


class FutureWaits(Protocol):
    def check_process(self) -> None: ...

    def wait_for(self, future: "SendFuture | ColumnsFuture", timeout_ms: int) -> None: ...


Callback = Callable[[SendFuture], None]
"""Function that gets the finished future on the network loop. It must not block, and may send further records."""


@final
class SettledRows(NotCopied):
    """Rows of one send_columns call that went to one partition, with their result.

    Attributes:
        created_at_ms: time of acceptance.
        first, end: half-open range of the rows in the columns.
    """

    __slots__ = ("_rows", "created_at_ms", "end", "first", "outcome", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        outcome: Outcome,
        created_at_ms: int,
        rows: Callable[[], Rows],
        first: int,
        end: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.outcome = outcome
        self.created_at_ms = created_at_ms
        self._rows = rows
        self.first = first
        self.end = end

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.end - self.first

    def records(self) -> Iterator[ProducerRecord]:
        """Yield the rows; their partition is NO_PARTITION if none was chosen."""
        rows, (topic, partition) = self._rows(), self.topic_partition
        for at in range(self.first, self.end):
            yield ProducerRecord(
                topic,
                rows.values[at],
                None if rows.keys is None else rows.keys[at],
                partition,
                () if rows.headers is None else rows.headers[at],
                rows.timestamp_ms if rows.timestamps_ms is None else rows.timestamps_ms[at],
            )

    def __repr__(self) -> str:
        return f"SettledRows({self.topic_partition}, {self.count} records)"


RowsCallback = Callable[[SettledRows], None]
"""Function that gets rows with a known result on the network loop; the rules of `Callback` apply."""


@final
class ColumnsFuture(NotCopied):
    """Future of a `send_columns` call; each record is delivered or fails by its deadline.

    Attributes:
        count: number of records in the call.
        delivered: number of delivered records.
        undelivered: number of records that were not delivered.
    """

    __slots__ = (
        "_failures",
        "callback",
        "count",
        "delivered",
        "error",
        "mailbox",
        "outcome",
        "topic",
        "undelivered",
        "waiters",
    )

    def __init__(self, mailbox: FutureWaits, topic: str, count: int, callback: RowsCallback | None = None) -> None:
        self.mailbox = mailbox
        self.topic = topic
        self.count = count
        self._failures: list[tuple[Failures, int]] = []
        self.callback = callback
        self.delivered = 0
        self.undelivered = 0
        self.error: KafkaError | None = None
        """Error of the first record that was not delivered."""
        self.waiters: list[Waiter] | None = None
        self.outcome: Outcome | None = None if count else Outcome()

    def settle(self, count: int, outcome: Outcome, failures: "Failures | None" = None) -> None:
        """Add the result of some records; the loop only."""
        if failures is not None and outcome.error is not None and self.callback is None:
            self._failures.append((failures, count))
        if outcome.error is None:
            self.delivered += count
        else:
            self.undelivered += count
            self.error = self.error or outcome.error
        if self.delivered + self.undelivered == self.count:
            self.outcome = Outcome(self.error)

    def done(self) -> bool:
        """Return whether the result of every record is known."""
        if self.outcome is None:
            self.mailbox.check_process()
        return self.outcome is not None

    def add_done_callback(self, callback: "Callable[[ColumnsFuture], object]") -> None:
        """Call a function with this future when all results are known; see SendFuture."""
        call_when_done(self, callback)

    def __await__(self) -> Generator[Any, None, int]:
        """Wait in an asyncio coroutine, as `result` does. Cancellation of the coroutine does not affect the records."""
        return await_result(self)

    def result(self, timeout: float | timedelta | None = None) -> int:
        """Wait until all records are acknowledged, and return their number.

        Args: timeout: seconds; None waits until the deadline of each record.
        Raises:
            UndeliveredError: some records were not delivered; it has their number and the first error.
            ResultTimeout: some results are not known yet; delivery continues.
            IllegalStateError: called in a callback, which would deadlock.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.count

    def exception(self, timeout: float | timedelta | None = None) -> UndeliveredError | None:
        """Wait as `result` does; return the error of undelivered records, or None if all are delivered."""
        if self.outcome is None:
            self.mailbox.wait_for(self, to_timeout_ms(timeout, FOREVER_MS))
        handled, self._failures = self._failures, []
        for failures, count in handled:
            failures.handle(count)
        return None if self.error is None else UndeliveredError(self.undelivered, self.error)

    @property
    def waited_for(self) -> str:
        return f"waiting for the delivery of {self.count - self.delivered - self.undelivered} records to {self.topic}"

    def __repr__(self) -> str:
        return f"ColumnsFuture({self.topic}, {self.delivered} delivered, {self.undelivered} not, of {self.count})"


class Failures:
    """Undelivered records of a FlushGroup between two flush reports.

    Attributes: handled: number of records whose failure the program knows from futures or callbacks.
    """

    __slots__ = ("count", "error", "handled")

    def __init__(self, count: int = 0, error: KafkaError | None = None) -> None:
        self.count = count
        self.handled = 0
        self.error = error

    @property
    def unhandled(self) -> int:
        return self.count - self.handled

    def handle(self, count: int) -> None:
        self.handled += count

    def add(self, count: int, error: KafkaError) -> None:
        self.count += count
        self.error = self.error or error


class FlushGroup:
    """Records sent between two flushes; `failures` gets a new entry with each flush report."""

    __slots__ = ("failures", "outstanding")

    def __init__(self) -> None:
        self.outstanding = 0
        self.failures = [Failures()]

    def unhandled_since(self, entry: int) -> tuple[int, KafkaError | None]:
        """Return the number of failures that were not reported to the program, from entry `entry` on, and the first
        error.
        """
        unhandled, error = 0, None
        for failures in self.failures[entry:]:
            if failures.unhandled:
                unhandled += failures.unhandled
                error = error or failures.error
        return unhandled, error

    def report(self) -> None:
        if self.failures[-1].count:
            self.failures.append(Failures())
