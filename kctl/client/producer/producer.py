"""Producer: the public class. Each call ends by its deadline; each record's result is reported exactly once.

It runs on application threads; sender.py is the network loop.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Self

from kctl.client.arguments import check, wrong_type
from kctl.client.clock import FOREVER_MS, Timer, to_timeout_ms
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import CloseTimeout, IllegalStateError, KafkaError, MaxBlockTimeout, RecordTooLargeError
from kctl.client.events import EventSink, OwnedSink, ignore_events
from kctl.client.lifetime import NotCopied, follow_forks, is_normal_end, when_dropped
from kctl.client.loop.at_exit import OpenLoop, check_not_ended
from kctl.client.loop.close import CLOSE_MARGIN_MS, CloseRequest, CloseResult
from kctl.client.loop.mailbox import LOOP_GRACE_MS, Call, CallInterrupted
from kctl.client.network.system import has_threads, system_runtime
from kctl.client.producer.batch_compressor import BatchCompressor
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.producer.future import NO_PARTITION, Callback, ColumnsFuture, RowsCallback, SendFuture
from kctl.client.producer.given_rows import given_rows, has_rows_of_now
from kctl.client.producer.mailbox import FlushMark, ProducerMailbox, RecordRefused, TopicWait
from kctl.client.producer.metrics import ProducerCounters, ProducerMetrics
from kctl.client.producer.record import (
    MEMORY_OVERHEAD_BYTES,
    MOST_PARTITION,
    Content,
    GivenHeaders,
    ProducerRecord,
    RecordMetadata,
    check_partition,
    check_topic,
    checked_record,
    now_timestamp_ms,
)
from kctl.client.producer.record_router import is_usable
from kctl.client.producer.record_run import RecordRun
from kctl.client.producer.run_encoder import RunEncoder
from kctl.client.producer.sender import Sender
from kctl.client.producer.transaction_methods import TransactionMethods
from kctl.client.producer.transactions.calls import GroupMember, TransactionClient
from kctl.client.producer.transactions.states import Step
from kctl.client.records import LAST_TIMESTAMP_MS
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.runtime import Runtime
from kctl.client.wording import listed

logger = logging.getLogger("kctl.client.producer")

Partitioning = Callable[[ProducerRecord, Sequence[PartitionInfo]], int | None]
"""Function that returns a partition number for a record, or None to leave the choice to the producer.

It gets the topic's partitions by number, with their leaders. It runs on the thread of `send`, which raises its
exceptions.
"""
OnSent = Callable[[RecordMetadata | None, BaseException | None], object]
"""Function that gets the metadata of a record after its acknowledgment, or its error.

It is called once, on the network thread, or on the thread of `send` if the record was not accepted. Its exceptions are
logged.
"""
OnSend = Callable[[ProducerRecord], tuple[ProducerRecord, OnSent | None]]
"""Function that gets each record of `send` before the partitioner, and may replace it.

It returns the record to send, and a function for its result or None. It runs on the thread of `send`, which raises its
exceptions.
"""
STUCK_CALLBACK_MS = 5
"""Longer callbacks count as blocking the loop; close does not wait for them beyond its deadline."""
STARVED_MS = 5_000
"""Time without progress of the network thread after which close raises."""


class _Hooked(ProducerRecord):
    """A record that `on_send` returned."""


class Producer(TransactionMethods, NotCopied):
    """Sends records to topics; thread-safe.

    Args:
        config: Kafka property names and values, or a parsed ProducerConfig; `bootstrap.servers` is required.
        runtime: clock, threads, and network; None for those of the system.
        events: function that gets connection and request events.
        partitioner: function that chooses partitions for `send`; see `Partitioning`. None lets the key choose, as in
            the Java client, or without a key, the producer.
        on_send: function that gets the records of `send`, but not of `send_columns`; see `OnSend`.

    Raises:
        ConfigError: a property is unknown, malformed or impossible.
        IllegalStateError: called in an atexit handler that was registered before the import of kctl.client.
    """

    def __init__(
        self,
        config: Mapping[str, object] | ProducerConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
        partitioner: Partitioning | None = None,
        on_send: OnSend | None = None,
    ) -> None:
        check_not_ended()
        self.config = ProducerConfig.parse(config)
        check("events", events, EventSink)
        check("partitioner", partitioner, Partitioning | None)
        check("on_send", on_send, OnSend | None)
        self._partitioner = partitioner
        self._on_send = on_send
        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        self._driver = runtime.driver
        self._events = OwnedSink(events)
        auto_create_topics = self.config.allow_auto_create_topics
        lent, self._token_callback = self.config.lent()
        self._client = ClusterClient(lent, runtime, events=self._events.lend(), auto_create_topics=auto_create_topics)
        self._metadata = self._client.metadata
        limits_ms = self.config.linger_ms, self.config.delivery_timeout_ms
        self._mailbox = ProducerMailbox(
            runtime.clock, runtime.driver, self._client.wakeup, self._client.last_error, *limits_ms
        )
        self._memory = BufferMemory(self.config.buffer_memory, runtime.driver)
        self._counters = ProducerCounters()
        self._sender = Sender(lent, runtime, self._client, self._mailbox, self._memory, self._counters)
        self._compressor = BatchCompressor(runtime.driver, self._mailbox.nudge)
        self._encoder = RunEncoder(self.config, self._sender.expected_ratio, self._compressor)
        self._sender.on_end = self._compressor.stop
        self._transactions = self._sender.transactions
        self._transaction_client = TransactionClient(
            self.config.transactional_id, self._clock, self._driver, self._mailbox
        )
        self._wall_at = (-1, 0)
        """Monotonic time of the last record, and the wall time at that moment; reused within the millisecond."""
        self._max_record_bytes = min(self.config.max_request_size, self.config.buffer_memory)
        self._is_closing = False
        limit_ms = self.config.delivery_timeout_ms if self._transactions is None else self.config.max_block_ms
        loop = self._open_loop = OpenLoop(self._mailbox, limit_ms, self._sender.unfinished)
        self._on_drop = when_dropped(self, loop.drop, self._mailbox, has_threads=has_threads(runtime.driver))
        follow_forks(self)
        self._task = self._mailbox.task = runtime.driver.spawn(self._sender.run, "producer")
        loop.follow()

    def _after_fork(self) -> None:
        self._mailbox.is_forked = self._is_closing = True

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(
        self,
        topic: str | ProducerRecord,
        value: Content = None,
        key: Content = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
        callback: Callback | None = None,
    ) -> SendFuture:
        """Send one record, and return its future after it is accepted.

        Blocks at most max.block.ms, for the topic's metadata and for buffer.memory; never in a callback (on the network
        loop). delivery.timeout.ms starts with acceptance.

        Args:
            topic: name, or a ProducerRecord that replaces all other arguments except `callback`.
            value, key: bytes; a bytearray or memoryview is copied.
            partition: number; None lets the key choose, as in the Java client, or without a key, the producer.
            headers: pairs of name and value.
            timestamp_ms: milliseconds since the epoch, or a datetime with a time zone; None is the current time.
            callback: function that gets the finished future, on the network loop.

        Raises:
            MaxBlockTimeout: metadata or memory was not available in time.
            RecordTooLargeError: the record is larger than max.request.size or buffer.memory.
            BrokerError: the topic is invalid, not allowed, or has no such partition.
            TransportError: waiting cannot help, for example after rejected credentials.
            IllegalStateError: the producer is closed, or has a transactional.id and no open transaction.
            TransactionError: the transaction can only be aborted, or the producer only closed.
            TypeError, ValueError: an argument or the partitioner's result is invalid, or the clock is before 1970.
        """
        if self._on_send is not None and type(topic) is not _Hooked:
            return self._send_hooked(topic, value, key, partition, headers, timestamp_ms, callback)
        if isinstance(topic, ProducerRecord):
            topic, value, key, partition, headers, timestamp_ms = topic
        self._check_send(callback)
        timer: Timer | None = None
        if self._partitioner is not None and partition is None:
            value, key, headers, timestamp_ms, _ = checked_record(topic, value, key, None, headers, timestamp_ms)
            timer = Timer(self._clock, self.config.max_block_ms)
            partition = self._chosen(ProducerRecord(topic, value, key, None, headers, timestamp_ms), timer)
        if (
            type(value) is bytes
            and not headers
            and (timestamp_ms is None or (type(timestamp_ms) is int and 0 <= timestamp_ms <= LAST_TIMESTAMP_MS))
            and (key is None or type(key) is bytes)
            and (partition is None or (type(partition) is int and 0 <= partition <= MOST_PARTITION))
        ):  # the usual call needs no further checks
            size_bytes = MEMORY_OVERHEAD_BYTES + len(value) + (0 if key is None else len(key))
            headers = ()  # None, or an empty list that the caller may fill later
        else:
            value, key, headers, timestamp_ms, size_bytes = checked_record(
                topic, value, key, partition, headers, timestamp_ms
            )
        if size_bytes > self._max_record_bytes:
            raise self._refused(self._too_large(topic, size_bytes))
        clock = self._clock
        start_ms, wall_ms = clock.start_ms(), timestamp_ms
        if wall_ms is None:
            started_ms, wall_ms = self._wall_at
            if start_ms != started_ms:
                wall_ms = now_timestamp_ms(clock)
                self._wall_at = start_ms, wall_ms
        future = SendFuture(
            self._mailbox,
            topic,
            NO_PARTITION if partition is None else partition,
            key,
            value,
            headers,
            wall_ms,
            start_ms,
            size_bytes,
            callback,
        )
        try:
            info = self._metadata.cluster.topics.get(topic)
            if info is None or not is_usable(info, partition) or not self._memory.try_acquire(future):
                check_topic(topic)
                self._wait_to_accept(partition, future, timer or Timer(clock, self.config.max_block_ms))
                if timestamp_ms is None:
                    future.timestamp_ms = now_timestamp_ms(clock)
                future.created_at_ms = clock.start_ms()
            self._mailbox.post_record(future)
        except BaseException as error:  # Ctrl-C too, at any point
            self._withdraw(future, error)
            raise
        if self._mailbox.is_finished:
            self._refuse_at_end(future)
        return future

    def send_columns(
        self,
        topic: str,
        values: Sequence[Content],
        keys: Sequence[Content] | None = None,
        partition: int | None = None,
        headers: Sequence[GivenHeaders | None] | None = None,
        timestamps_ms: Sequence[int | datetime | None] | int | datetime | None = None,
        callback: RowsCallback | None = None,
        timeout: float | timedelta | None = None,
    ) -> ColumnsFuture:
        """Send many records, and return one future after all are accepted; several times faster than `send`.

        Equivalent to `send` for each row in order, except that the whole call blocks at most `timeout`. The columns are
        copied.

        Args:
            values, keys, headers: one entry per row; None if no row has one. Lines and packed columns are encoded in
                place.
            partition: number for all rows. None lets each key choose; rows without keys share a partition for about a
                batch.
            timestamps_ms: one time, or one per row: milliseconds since the epoch, or datetimes with a time zone. None
                is the current time.
            callback: function that gets groups of rows when their results are known, on the network loop.
            timeout: seconds; None is max.block.ms.

        Raises:
            TypeError, ValueError: a row is invalid, or partition is None and the producer has a partitioner. No row is
                accepted.
            RecordTooLargeError: `row` is the first row that is too large; no row is accepted.
            MaxBlockTimeout: only the first `accepted` rows were accepted; they are delivered, and close() counts them.
            BrokerError, TransportError, IllegalStateError, TransactionError: as in `send`.
        """
        self._check_send(callback)
        check_topic(topic)
        if partition is not None:
            check_partition(partition)
        elif self._partitioner is not None:
            raise ValueError("partition must not be None, because the partitioner is only used by send()")
        timer = Timer(self._clock, to_timeout_ms(timeout, self.config.max_block_ms))
        wall_ms = now_timestamp_ms(self._clock) if has_rows_of_now(timestamps_ms) else 0
        limits = self._encoder.limits(topic, partition)
        given = given_rows(values, keys, partition, headers, timestamps_ms, limits, wall_ms)
        if given.largest_bytes > self._max_record_bytes:
            row = given.first_larger_than(self._max_record_bytes)
            raise self._refused(self._too_large(topic, given.memory_bytes(row), row))
        future = ColumnsFuture(self._mailbox, topic, given.count, callback)
        accepted = 0
        for run in given.runs(future, NO_PARTITION if partition is None else partition):
            try:
                if not self._is_known(topic, partition) or not self._memory.try_acquire(run):
                    self._wait_to_accept(partition, run, timer)
                self._encoder.encode(run, self._metadata.cluster.topics.get(topic))
                run.created_at_ms = self._clock.start_ms()
                self._mailbox.post_record(run)
            except BaseException as error:  # Ctrl-C too, at any point
                self._memory.withdraw(run)
                if isinstance(error, MaxBlockTimeout):
                    error.accepted = accepted
                raise
            if self._mailbox.is_finished:
                self._refuse_at_end(run)
            accepted += run.end
        return future

    def _check_send(self, callback: object) -> None:
        if self._is_closing:
            raise self._mailbox.closed_error()
        if self._transactions is not None:
            self._transactions.status.check_send()
        if callback is not None and not callable(callback):
            raise wrong_type("callback", callback, "a function")

    def _send_hooked(
        self,
        topic: str | ProducerRecord,
        value: Content,
        key: Content,
        partition: int | None,
        headers: GivenHeaders | None,
        timestamp_ms: int | datetime | None,
        callback: Callback | None,
    ) -> SendFuture:
        assert self._on_send is not None
        if isinstance(topic, ProducerRecord):
            topic, value, key, partition, headers, timestamp_ms = topic
        self._check_send(callback)
        value, key, headers, timestamp_ms, _ = checked_record(topic, value, key, partition, headers, timestamp_ms)
        record, on_sent = self._on_send(ProducerRecord(topic, value, key, partition, headers, timestamp_ms))
        try:
            future = self.send(_Hooked(*record), callback=callback)
        except BaseException as error:
            if on_sent is not None:
                _report(on_sent, None, error)
            raise
        if on_sent is not None:
            future.add_done_callback(partial(_report_of, on_sent))
        return future

    def _chosen(self, record: ProducerRecord, timer: Timer) -> int | None:
        assert self._partitioner is not None
        while (info := self._metadata.cluster.topics.get(record.topic)) is None or not info.partitions:
            self._wait_to_choose(record.topic, timer)
        chosen = self._partitioner(record, list(info.partitions.values()))
        number: int | None = check("the partition that the partitioner returned", chosen, int | None)
        if number is not None and number not in info.partitions:
            text = f"the partitioner returned {number}, but topic {record.topic} has partitions"
            raise ValueError(f"{text} {listed(sorted(info.partitions))}")
        return number

    def _wait_to_choose(self, topic: str, timer: Timer) -> None:
        try:
            self._wait_for_topic(topic, None, timer)
        except KafkaError as error:
            self._refused(error)
            raise

    def _wait_to_accept(self, partition: int | None, record: SendFuture | RecordRun, timer: Timer) -> None:
        try:
            if not self._is_known(record.topic, partition):
                self._wait_for_topic(record.topic, partition, timer)
            if not self._memory.try_acquire(record):
                self._wait_for_memory(record, timer)
        except KafkaError as error:
            self._refused(error)
            raise

    def _withdraw(self, future: SendFuture, error: BaseException) -> None:
        self._memory.withdraw(future)
        if isinstance(error, KafkaError):  # it was not posted
            future.callback = None  # it may hold the error, whose traceback leads to the future

    def _refuse_at_end(self, record: SendFuture | RecordRun) -> None:
        if self._mailbox.withdraw(record):
            record.holds_memory = True
            self._memory.withdraw(record)
            raise self._mailbox.closed_error()

    def _refused(self, error: KafkaError) -> KafkaError:
        if self._transactions is not None:
            self._mailbox.post(RecordRefused(error))
        return error

    def _too_large(self, topic: str, size_bytes: int, row: int = 0) -> RecordTooLargeError:
        limit = "max.request.size" if self.config.max_request_size <= self.config.buffer_memory else "buffer.memory"
        text = f"cannot send a record of up to {size_bytes} bytes to {topic}: {limit} is {self._max_record_bytes}"
        return RecordTooLargeError(text, row=row)

    def _is_known(self, topic: str, partition: int | None) -> bool:
        info = self._metadata.cluster.topics.get(topic)
        return info is not None and is_usable(info, partition)

    def _wait_for_topic(self, topic: str, partition: int | None, timer: Timer) -> None:
        wait = TopicWait(topic, partition, timer, self._driver.waiter())
        if self._mailbox.is_on_loop():
            self._mailbox.post(wait)
            raise wait.timed_out(f"waiting for the metadata of topic {topic}, which callbacks must not do")
        self._mailbox.ask(wait)

    def _wait_for_memory(self, record: SendFuture | RecordRun, timer: Timer) -> None:
        if not self._mailbox.is_on_loop() and self._memory.acquire(
            record, timer.deadline_at_ms, self._mailbox.nudge_for_memory
        ):
            return
        if self._mailbox.is_finished:
            raise IllegalStateError("the producer was closed while this call waited for buffer.memory")
        timer.update()
        raise MaxBlockTimeout(
            f"waiting for {record.size_bytes} bytes of buffer.memory ({self._memory.used_bytes} of "
            f"{self._memory.total_bytes} are unacknowledged, {self._memory.waiting} calls of send() are waiting)",
            timeout_ms=timer.timeout_ms,
            elapsed_ms=timer.elapsed_ms,
            cause=self._client.metadata.last_error,
        )

    def flush(self, timeout: float | timedelta | None = None) -> None:
        """Send all records without linger, and wait until all earlier records are delivered.

        Args: timeout: seconds; None waits until each record is delivered or has reached its own deadline.
        Raises:
            FlushTimeout: at the timeout, `undelivered` records are outstanding or have failed.
            UndeliveredError: no record is outstanding, but `undelivered` records have failed since the last flush.
            IllegalStateError: called in a callback, which would deadlock, or after close.
        """
        if self._mailbox.is_on_loop():
            raise IllegalStateError("callbacks must not call flush(): the wait would never end")
        if self._is_closing:
            raise self._mailbox.closed_error()
        mark = FlushMark(Timer(self._clock, to_timeout_ms(timeout, FOREVER_MS)), self._driver.waiter())
        try:
            self._mailbox.ask(mark)
        except BaseException as error:
            if error is not mark.error:  # Ctrl-C, or a loop that does not respond: the caller gets no report
                self._mailbox.post(CallInterrupted(mark))
            raise

    def partitions_for(self, topic: str, timeout: float | timedelta | None = None) -> list[PartitionInfo]:
        """Return the topic's partitions, ordered by number.

        Args: timeout: seconds; by default max.block.ms.
        Raises: as in `send`.
        """
        check_topic(topic)
        if self._is_closing:
            raise self._mailbox.closed_error()
        if not self._is_known(topic, None):
            timer = Timer(self._clock, to_timeout_ms(timeout, self.config.max_block_ms))
            self._wait_for_topic(topic, None, timer)
        return list(self._client.metadata.cluster.topics[topic].partitions.values())

    @property
    def created_topics(self) -> dict[str, int]:
        """Topics that this producer caused to be created, with their partition counts."""
        return dict(self._client.metadata.created_topics)

    def metrics(self) -> ProducerMetrics:
        """Return the metrics. The call takes microseconds, never waits, and works after close."""
        self._mailbox.check_process()
        return self._counters.snapshot(
            outstanding=self._sender.outstanding,
            buffer_used_bytes=self._memory.used_bytes,
            buffer_total_bytes=self._memory.total_bytes,
        )

    # --- transactions -------------------------------------------------------------------------------------------------

    def _transact(
        self,
        step: Step,
        timeout: float | timedelta | None,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        member: GroupMember | None = None,
    ) -> Call:
        """Make a call, wait for it, and return it.

        The caller marks it as collected in its next statement, before signals are handled.
        """
        timeout_ms = to_timeout_ms(timeout, self.config.max_block_ms)
        if self._is_closing:
            raise self._mailbox.closed_error()
        return self._transaction_client.ask(step, timeout_ms, offsets, member)

    # --- the end ------------------------------------------------------------------------------------------------------

    def close(self, timeout: float | timedelta | None = None) -> CloseResult:
        """Deliver outstanding records until the deadline, fail the others, and release threads and sockets.

        Idempotent; if several calls overlap, the earliest deadline applies. In a callback, it logs an error and acts as
        close(0).

        Args: timeout: seconds. 0 fails all outstanding records immediately; None waits for each record's own deadline.
        Returns: the result of every record ever sent.
        Raises:
            ValueError: the timeout is negative.
            CloseTimeout: a callback blocks the network loop, which ends after the callback. Or the network thread makes
                no progress for 5 s beyond the deadline.
        Source: KIP-15. Differs: the wait for the thread has a limit too.
        """
        timeout_ms = to_timeout_ms(timeout, FOREVER_MS)
        self._mailbox.check_process()
        timer = Timer(self._clock, timeout_ms)
        self._is_closing = True
        if self._mailbox.is_on_loop():
            logger.error("close() called in a callback: all outstanding records fail immediately, as with close(0)")
            self._mailbox.post_close(CloseRequest.within(Timer(self._clock, 0)))
            self._on_drop.detach()
            return self._sender.close_now()
        self._mailbox.post_close(CloseRequest.within(timer))
        self._on_drop.detach()
        self._join_loop(timer)
        timer.update()
        self._compressor.join(timer)
        timer.update()
        if self._sender.was_forced and timer.remaining_ms <= CLOSE_MARGIN_MS:
            self._driver.wait(self._driver.waiter(), timer.deadline_at_ms)  # what failed, failed at the deadline
        return self._sender.result()

    def _join_loop(self, timer: Timer) -> None:
        """Wait for the end of the loop until the deadline, and longer only while it fails the remaining records.

        Raises:
            CloseTimeout: a callback that began before the deadline still runs, or the thread made no progress for
                STARVED_MS because it gets no CPU time.
        """
        looked_at_ms = max(timer.now_ms, timer.deadline_at_ms - STUCK_CALLBACK_MS)
        if self._driver.join(self._task, looked_at_ms):
            return
        steps, running_callback = self._sender.steps, self._sender.running_callback
        if self._driver.join(self._task, looked_at_ms + STUCK_CALLBACK_MS):
            return
        timer.update()
        if running_callback is not None and self._sender.running_callback is running_callback:
            raise self._not_joined(timer, "waiting for the network loop, blocked by a callback")
        starved_at_ms = timer.now_ms + STARVED_MS
        while not self._driver.join(self._task, timer.now_ms + LOOP_GRACE_MS):
            timer.update()
            if self._sender.steps != steps:  # it is still failing records, which takes time for a hundred thousand
                steps, starved_at_ms = self._sender.steps, timer.now_ms + STARVED_MS
            elif self._sender.running_callback is not None:
                raise self._not_joined(timer, "waiting for the network loop, blocked by a callback")
            elif timer.now_ms >= starved_at_ms:
                raise self._not_joined(timer, "waiting for the network thread, which makes no progress")

    @staticmethod
    def _not_joined(timer: Timer, doing: str) -> CloseTimeout:
        return CloseTimeout(doing, timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flush and close; after an exception in the block, close(0), which drops and logs unacknowledged records.

        sys.exit(0), `Exit(0)` of click and typer, and the end of a generator count as a normal end. With a
        transactional.id, an open transaction is aborted, within max.block.ms.

        Raises: UndeliveredError: the block ended normally, but some records were not delivered.
        """
        if self._mailbox.is_forked:
            return
        if self._transactions is not None:
            self.close(self.config.max_block_ms / 1000)
            return
        try:
            if not self._is_closing and is_normal_end(error):
                self.flush()
            elif not self._is_closing:
                self._open_loop.log_dropped(error)
        finally:
            self.close(0)


def _report(on_sent: OnSent, metadata: RecordMetadata | None, error: BaseException | None) -> None:
    try:
        on_sent(metadata, error)
    except Exception:
        logger.exception("the function returned by on_send raised an exception")


def _report_of(on_sent: OnSent, future: SendFuture) -> None:
    """Pass a future's result to `on_sent`. The next flush still reports a failure, which the program may not read."""
    outcome = future.outcome
    assert outcome is not None
    _report(on_sent, future.result(0) if outcome.error is None else None, outcome.error)
