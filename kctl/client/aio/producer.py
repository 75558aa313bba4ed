"""AsyncProducer: the producer for coroutines.

One network thread sends, and wakes the event loop once for many results.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from kctl.client.aio.bridge import WouldWait, awaited, is_bridged, run, timer_of_bridge
from kctl.client.aio.surroundings import async_runtime
from kctl.client.aio.turns import ends_in_time
from kctl.client.awaiting import LoopWait
from kctl.client.clock import Timer, to_timeout_ms
from kctl.client.config import ProducerConfig
from kctl.client.errors import MaxBlockTimeout
from kctl.client.events import EventSink, ignore_events
from kctl.client.producer import (
    OnSend,
    Partitioning,
    Producer,
    ProducerMetrics,
    ProducerRecord,
    RecordMetadata,
    SendFuture,
)
from kctl.client.producer.future import Callback, ColumnsFuture, RowsCallback
from kctl.client.producer.record import Content, GivenHeaders
from kctl.client.producer.record_run import RecordRun
from kctl.client.producer.transaction_methods import TransactionalReader
from kctl.client.runtime import Runtime

R = TypeVar("R")


class _Producer(Producer):
    def _wait_to_accept(self, partition: int | None, record: SendFuture | RecordRun, timer: Timer) -> None:
        if not is_bridged():
            raise WouldWait
        super()._wait_to_accept(partition, record, timer_of_bridge() or timer)

    def _wait_to_choose(self, topic: str, timer: Timer) -> None:
        if not is_bridged():
            raise WouldWait
        super()._wait_to_choose(topic, timer_of_bridge() or timer)

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
        if not is_bridged():
            raise WouldWait  # the hook runs once, even if the record has to wait
        return super()._send_hooked(topic, value, key, partition, headers, timestamp_ms, callback)


def _name_of(topic: str | ProducerRecord) -> str:
    return topic.topic if isinstance(topic, ProducerRecord) else str(topic)


class _Turn:
    """Turn of the calls that send records to a topic and may wait.

    Attributes: calls: number of these calls.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.calls = 0


class AsyncProducer:
    """Producer for coroutines. Any number of tasks may share it.

    `await send(...)` returns when the record is acknowledged. `await enqueue(...)` returns when the record is accepted,
    and waits only for metadata or buffer.memory. A call cancelled before the record was accepted sends nothing.
    Accepted records are delivered even if no task waits. `async with` flushes and closes. If the block raises, such as
    asyncio.CancelledError, unacknowledged records are dropped and their number is logged.
    Args: as for `Producer`. `events` is called on the network thread, `partitioner` and `on_send` on the event loop.
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
        made, _ = async_runtime(runtime)
        self._client = _Producer(config, made, events=events, partitioner=partitioner, on_send=on_send)
        self._clock = made.clock
        self._turns: dict[str, _Turn] = {}

    async def _run(self, call: Callable[[], R]) -> R:
        return await run(call)

    async def enqueue(
        self,
        topic: str | ProducerRecord,
        value: Content = None,
        key: Content = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
    ) -> SendFuture:
        """Return the future of a record after it was accepted.

        Waits at most max.block.ms for metadata and buffer.memory.
        Args: as for `Producer.send`. Raises: as `Producer.send`.
        """
        send = self._client.send
        try:
            if self._turns and _name_of(topic) in self._turns:
                raise WouldWait
            return send(topic, value, key, partition, headers, timestamp_ms)
        except WouldWait:
            return await self._in_turn(topic, partial(send, topic, value, key, partition, headers, timestamp_ms))

    async def send(
        self,
        topic: str | ProducerRecord,
        value: Content = None,
        key: Content = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
    ) -> RecordMetadata:
        """Send a record, and return its topic, partition, and offset when it is acknowledged.

        Args: as for `Producer.send`.
        Raises: as `Producer.send`, or KafkaError: reason why the record was not delivered, such as DeliveryTimeout.
        """
        wait = LoopWait(asyncio.get_running_loop())
        send = self._client.send
        try:
            if self._turns and _name_of(topic) in self._turns:
                raise WouldWait
            future = send(topic, value, key, partition, headers, timestamp_ms, wait)
        except WouldWait:
            call = partial(send, topic, value, key, partition, headers, timestamp_ms, wait)
            future = await self._in_turn(topic, call)
        await wait.done
        return future.result(0)

    async def send_columns(
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
        """Send many records, and return one future after all are accepted.

        Args, Raises: as `Producer.send_columns`.
        """
        columns = (values, keys, partition, headers, timestamps_ms, callback, timeout)
        return await self._in_turn(topic, partial(self._client.send_columns, topic, *columns), timeout)

    async def _in_turn(
        self, topic: str | ProducerRecord, send: Callable[[], R], timeout: float | timedelta | None = None
    ) -> R:
        """Send after the earlier calls for the topic that wait: the records keep the order of the calls."""
        timer = Timer(self._clock, to_timeout_ms(timeout, self._client.config.max_block_ms))
        name = _name_of(topic)
        turn = self._turns.setdefault(name, _Turn())
        turn.calls += 1
        is_next = False
        try:
            is_next = await ends_in_time(turn.lock.acquire, timer)
            if not is_next:
                waiting_for = f"waiting for earlier calls of send() for topic {name}"
                raise MaxBlockTimeout(waiting_for, timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)
            return await run(send, timer)
        finally:
            turn.calls -= 1
            if is_next:
                turn.lock.release()
            if not turn.calls:
                del self._turns[name]

    flush = awaited(Producer.flush)
    partitions_for = awaited(Producer.partitions_for)
    init_transactions = awaited(Producer.init_transactions)
    begin_transaction = awaited(Producer.begin_transaction)
    send_offsets_to_transaction = awaited(Producer.send_offsets_to_transaction)
    commit_transaction = awaited(Producer.commit_transaction)
    abort_transaction = awaited(Producer.abort_transaction)
    close = awaited(Producer.close)

    @asynccontextmanager
    async def transaction(
        self, consumer: TransactionalReader | None = None, timeout: float | timedelta | None = None
    ) -> AsyncIterator[None]:
        """Run a block in a transaction, as `Producer.transaction` does."""
        block = self._client.transaction(consumer, timeout)
        await run(block.__enter__)
        try:
            yield
        except BaseException as error:
            await run(partial(block.__exit__, type(error), error, error.__traceback__))
            raise
        await run(partial(block.__exit__, None, None, None))

    @property
    def created_topics(self) -> dict[str, int]:
        """Dict from topic to partition count, for topics that were created because records were sent to them."""
        return self._client.created_topics

    def metrics(self) -> ProducerMetrics:
        """Return the counters of the producer."""
        return self._client.metrics()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await run(partial(self._client.__exit__, kind, error, traceback))
