"""SendFuture: one record of the producer from send() to its delivery, and loops over many.

The garbage collector does not track the compiled class, so reference cycles would leak. Therefore `complete_records`
drops the mailbox, and callbacks are dropped after their call.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple, final

from kctl.client.awaiting import await_result, call_when_done
from kctl.client.clock import FOREVER_MS, to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.records._hot.native_types import i64, mypyc_attr
from kctl.client.records._hot.record import Header
from kctl.client.records._hot.rows import Rows

UNKNOWN_OFFSET: Final = -1
"""Offset of a record if the broker reports none: with acks=0, or for a duplicate that it recognized."""


class RecordMetadata(NamedTuple):
    """Topic, partition, offset, and timestamp of a delivered record."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Outcome(NamedTuple):
    """Result of a batch or record.

    Attributes: is_unknown: whether it was sent, and no response reported if it was written.
    """

    error: KafkaError | None = None
    base_offset: int = UNKNOWN_OFFSET
    log_append_time_ms: int = -1
    is_unknown: bool = False


_INTERNAL: Final = frozenset(
    ("callback", "holds_memory", "mailbox", "offset_in_batch", "outcome", "size_bytes", "waited_for", "waiters")
)


@final
@mypyc_attr(acyclic=True)
class SendFuture:
    """Result of `send`: by its deadline, the record is delivered or has failed with an error."""

    __slots__ = (
        "callback",
        "created_at_ms",
        "headers",
        "holds_memory",
        "key",
        "mailbox",
        "offset_in_batch",
        "outcome",
        "partition",
        "size_bytes",
        "timestamp_ms",
        "topic",
        "value",
        "waiters",
    )

    def __init__(
        self,
        mailbox: Any,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        timestamp_ms: int,
        created_at_ms: int,
        size_bytes: int,
        callback: Any,
    ) -> None:
        self.mailbox = mailbox
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp_ms = timestamp_ms
        self.created_at_ms = created_at_ms
        self.size_bytes = size_bytes
        self.callback = callback
        self.holds_memory = False
        """Whether the sender has reserved buffer.memory for the record and has not posted it."""
        self.offset_in_batch = 0
        self.waiters: list[Any] | None = None
        self.outcome: Outcome | None = None

    def __reduce__(self) -> Any:
        raise TypeError("a SendFuture cannot be copied or pickled; what result() returns can")

    def done(self) -> bool:
        """Return whether the record was delivered or has failed."""
        mailbox = self.mailbox  # read before the outcome, after which it may be dropped
        if self.outcome is None:
            mailbox.check_process()
        return self.outcome is not None

    def result(self, timeout: float | timedelta | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged; return its metadata.

        Args: timeout: seconds; None waits for the deadline of the record (delivery.timeout.ms after send).
        Raises:
            ResultTimeout: the result is not known yet; delivery continues.
            KafkaError: reason why the record was not delivered, such as DeliveryTimeout.
            IllegalStateError: called in a callback for a pending record, which would deadlock.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        assert self.outcome is not None
        return self._metadata(self.outcome)

    def exception(self, timeout: float | timedelta | None = None) -> KafkaError | None:
        """Wait as `result` does; return the reason why the record was not delivered, or None.

        Each call returns a new error, because a traceback would refer to this future, and the records of a batch share
        the outcome.
        """
        mailbox = self.mailbox
        if self.outcome is None:
            mailbox.wait_for(self, to_timeout_ms(timeout, FOREVER_MS))
        outcome = self.outcome
        assert outcome is not None
        if outcome.error is None:
            return None
        failures = self.mailbox  # dropped as in complete_records
        if failures is not None:
            self.mailbox = None
            failures.handle(1)
        return outcome.error.without_traceback()

    def add_done_callback(self, callback: Any) -> None:
        """Call a function with this future when it is done: on the network loop, or immediately if it is done already.

        As in `concurrent.futures.Future.add_done_callback`, functions are called in the order of registration, and
        their exceptions are logged.
        """
        call_when_done(self, callback)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """Wait in an asyncio coroutine as `result` does. Cancellation of the coroutine does not cancel the delivery."""
        return await_result(self)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in _INTERNAL]

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition; NO_PARTITION while none is chosen."""
        return TopicPartition(self.topic, self.partition)

    @property
    def waited_for(self) -> str:
        return f"the record to {self.topic} is being delivered"

    def _metadata(self, outcome: Outcome) -> RecordMetadata:
        offset = UNKNOWN_OFFSET if outcome.base_offset < 0 else outcome.base_offset + self.offset_in_batch
        timestamp_ms = outcome.log_append_time_ms if outcome.log_append_time_ms >= 0 else self.timestamp_ms
        return RecordMetadata(self.topic, self.partition, offset, timestamp_ms)

    def __repr__(self) -> str:
        state = "pending" if self.outcome is None else "delivered" if self.outcome.error is None else "failed"
        return f"SendFuture({self.topic}-{self.partition}, {state})"


def is_neighbour(record: SendFuture, other: SendFuture) -> bool:
    return record.partition == other.partition and record.topic == other.topic


def rows_of(records: Sequence[SendFuture]) -> Rows:
    """Return the contents of records as columns, without `headers_bytes`."""
    values: list[bytes | None] = []
    keys: list[bytes | None] = []
    headers: list[Sequence[Header]] = []
    timestamps_ms: list[int] = []
    has_keys = has_headers = False
    is_one_time = True
    first_ms = records[0].timestamp_ms
    for record in records:
        key = record.key
        values.append(record.value)
        keys.append(key)
        headers.append(record.headers)
        has_keys = has_keys or key is not None
        has_headers = has_headers or len(record.headers) > 0
        timestamp_ms = record.timestamp_ms
        timestamps_ms.append(timestamp_ms)
        is_one_time = is_one_time and timestamp_ms == first_ms
    return Rows(
        values,
        keys if has_keys else None,
        headers if has_headers else None,
        None,
        None if is_one_time else timestamps_ms,
        first_ms if is_one_time else -1,
    )


def complete_records(
    records: Sequence[SendFuture],
    first: i64,
    end: i64,
    partition: int,
    first_offset: i64,
    outcome: Outcome,
    failures: Any = None,
) -> list[SendFuture]:
    """Complete the records from `first` to before `end`; return the records with a callback or a waiter.

    Args:
        first_offset: offset of the first record in its batch.
        failures: counter for errors that the program gets to know.
    """
    watched: list[SendFuture] = []
    if outcome.error is None:
        failures = None
    at: i64 = first
    while at < end:
        record = records[at]
        record.partition = partition
        record.offset_in_batch = first_offset + at - first
        record.outcome = outcome
        record.mailbox = failures
        if record.callback is not None or record.waiters is not None:
            watched.append(record)
        at += 1
    return watched
