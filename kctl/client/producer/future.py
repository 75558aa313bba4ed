"""SendFuture and ColumnsFuture: the delivery of one record, or of the records of one send_columns call.

Created by an application thread, then owned by the network loop, which completes each exactly once; application threads
only read it.
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
    """How an application thread waits for a future: the mailbox of its producer."""

    def check_process(self) -> None:
        """Raise IllegalStateError in the child of a fork()."""
        ...

    def wait_for(self, future: "SendFuture | ColumnsFuture", timeout_ms: int) -> None:
        """Wait until the future is done, or raise."""
        ...


Callback = Callable[[SendFuture], None]
"""Called on the network loop with the finished future; must not block, and may send further records."""


@final
class SettledRows(NotCopied):
    """Rows of one send_columns call that went to one partition, and what became of them.

    Attributes:
        created_at_ms: when they were accepted.
        first, end: they are those from `first` to before `end` of the columns.
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
        """Args: rows: returns the columns, when they are asked for."""
        self.topic_partition = topic_partition
        self.outcome = outcome
        self.created_at_ms = created_at_ms
        self._rows = rows
        self.first = first
        self.end = end

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.end - self.first

    def records(self) -> Iterator[ProducerRecord]:
        """Yield the rows; partition NO_PARTITION where none was chosen."""
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
"""Called on the network loop with rows whose fate is known; as for Callback."""


@final
class ColumnsFuture(NotCopied):
    """What `send_columns` returns: a promise that each of its records is delivered, or has failed, by its deadline.

    Attributes: `count`, how many records there are; `delivered` and `undelivered`, of how many that is known by now.
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
        """Why the first that was not delivered was not."""
        self.waiters: list[Waiter] | None = None
        self.outcome: Outcome | None = None if count else Outcome()

    def settle(self, count: int, outcome: Outcome, failures: "Failures | None" = None) -> None:
        """Note what became of some of the records; the loop only."""
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
        """Return whether the fate of every record is known."""
        if self.outcome is None:
            self.mailbox.check_process()
        return self.outcome is not None

    def add_done_callback(self, callback: "Callable[[ColumnsFuture], object]") -> None:
        """Call a function with this future once the fate of every record is known; see SendFuture."""
        call_when_done(self, callback)

    def __await__(self) -> Generator[Any, None, int]:
        """Wait in a coroutine of asyncio, as `result` does; the records outlive a cancelled wait."""
        return await_result(self)

    def result(self, timeout: float | timedelta | None = None) -> int:
        """Return how many records there are, once all are acknowledged.

        Args: timeout: seconds; None waits for the records' own deadline.
        Raises:
            UndeliveredError: how many are not delivered, and why the first of them is not.
            ResultTimeout: the result of some is not known yet; their delivery continues.
            IllegalStateError: called inside a callback: it would hold up its own end.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.count

    def exception(self, timeout: float | timedelta | None = None) -> UndeliveredError | None:
        """Return what is not delivered and why, or None when all is; waits and raises as `result` does."""
        if self.outcome is None:
            self.mailbox.wait_for(self, to_timeout_ms(timeout, FOREVER_MS))
        handled, self._failures = self._failures, []
        for failures, count in handled:
            failures.handle(count)
        return None if self.error is None else UndeliveredError(self.undelivered, self.error)

    @property
    def waited_for(self) -> str:
        """What a wait for this future waits for."""
        return f"{self.count - self.delivered - self.undelivered} records to {self.topic} are being delivered"

    def __repr__(self) -> str:
        return f"ColumnsFuture({self.topic}, {self.delivered} delivered, {self.undelivered} not, of {self.count})"


class Failures:
    """Records of a FlushGroup that are not delivered, from one report of a flush to the next.

    Attributes:
        count: how many there are.
        handled: how many of them the program knows from their futures or callbacks.
        error: why the first of them failed.
    """

    __slots__ = ("count", "error", "handled")

    def __init__(self, count: int = 0, error: KafkaError | None = None) -> None:
        self.count = count
        self.handled = 0
        self.error = error

    @property
    def unhandled(self) -> int:
        """How many failures a flush has to report."""
        return self.count - self.handled

    def handle(self, count: int) -> None:
        """Note that the program has been given the errors of some records; any thread."""
        self.handled += count

    def add(self, count: int, error: KafkaError) -> None:
        """Count records that have failed; the loop only."""
        self.count += count
        self.error = self.error or error


class FlushGroup:
    """The records sent between two flushes.

    Attributes:
        outstanding: how many are not done.
        failures: those that failed; a new entry begins when a flush has reported the last one.
    """

    __slots__ = ("failures", "outstanding")

    def __init__(self) -> None:
        self.outstanding = 0
        self.failures = [Failures()]

    def unhandled_since(self, entry: int) -> tuple[int, KafkaError | None]:
        """Return how many failures are unhandled, from an entry on, and why the first of them failed."""
        unhandled, error = 0, None
        for failures in self.failures[entry:]:
            if failures.unhandled:
                unhandled += failures.unhandled
                error = error or failures.error
        return unhandled, error

    def report(self) -> None:
        """Begin a new entry: a flush has reported all failures so far."""
        if self.failures[-1].count:
            self.failures.append(Failures())
