"""AsyncConsumer: the consumer for coroutines.

One network thread fetches, sends heartbeats, and wakes the event loop.
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from inspect import isawaitable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from kctl.client.aio.bridge import await_in_bridge, awaited, run
from kctl.client.aio.driver import runs_here
from kctl.client.aio.surroundings import async_runtime
from kctl.client.aio.turns import after, ends_in_time, left_s
from kctl.client.clock import Timer, to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import (
    Consumer,
    ConsumerRecord,
    GroupMetadata,
    OnPoll,
    RebalanceListener,
    WaitKind,
    WaitReason,
)
from kctl.client.consumer.close import DEFAULT_CLOSE_TIMEOUT_MS, OnClose
from kctl.client.consumer.consumer import Timeout
from kctl.client.consumer.fetch.manager import PREFETCH_BYTES
from kctl.client.consumer.fetched_data import PollResult
from kctl.client.consumer.group.application_side import ListenerContinues
from kctl.client.consumer.group.commit_callbacks import OnCommit
from kctl.client.errors import ConcurrentModificationError, IllegalStateError, KafkaError
from kctl.client.events import EventSink, ignore_events
from kctl.client.loop.close import CloseResult
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.runtime import Runtime

P = ParamSpec("P")
R = TypeVar("R")
OnAsyncCommit = Callable[[Mapping[TopicPartition, OffsetAndMetadata], KafkaError | None], object]
"""Function or coroutine function with the arguments of `OnCommit`."""


class AsyncRebalanceListener:
    """Callbacks for assignment changes as coroutines. Subclass it and override the methods you need.

    They run inside `poll`, the iteration, or `close`, and may call the consumer. If `poll` is cancelled, its callbacks
    continue, and the next call of the consumer first waits for them.
    """

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener.on_partitions_revoked`."""

    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener.on_partitions_assigned`."""

    async def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener.on_partitions_lost`."""
        await self.on_partitions_revoked(topic_partitions)


def _settle(result: object) -> None:
    if isawaitable(result):
        await_in_bridge(result)


class _Awaiting(RebalanceListener):
    def __init__(self, listener: RebalanceListener | AsyncRebalanceListener, calls: "_ListenerCalls") -> None:
        self._listener = listener
        self._calls = calls

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._calls.run(self._listener.on_partitions_revoked, topic_partitions)

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._calls.run(self._listener.on_partitions_assigned, topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._calls.run(self._listener.on_partitions_lost, topic_partitions)


_CALL: ContextVar[asyncio.Task[None] | None] = ContextVar("_CALL", default=None)
"""Task of the listener's call in which the current code runs."""
_LEFT = "waiting for the rebalance listener of a canceled poll"


class _ListenerCalls:
    """Calls of a listener. In a poll, each call runs in its own task, which continues if the poll is cancelled."""

    def __init__(self, client: Consumer) -> None:
        self._side = client._side
        self._one_user = client._one_user
        self._task: asyncio.Task[None] | None = None
        """The last call in a poll."""
        self._topic_partitions: Sequence[TopicPartition] = ()
        """Argument of that call."""
        self._waiting: object = None
        """User of the consumer that waits for the call; None after its poll was cancelled."""

    def run(self, method: Callable[[Sequence[TopicPartition]], object], partitions: Sequence[TopicPartition]) -> None:
        task = self._task
        if task is None or self._topic_partitions is not partitions:
            result = method(partitions)
            is_in_poll = self._side._is_polling and (task is None or task.done())
            if not is_in_poll or not isawaitable(result):
                _settle(result)
                return
            self._topic_partitions, self._waiting = partitions, self._one_user.user
            task = self._task = asyncio.create_task(self._as_user(result))
        elif self.is_caller:
            return
        try:
            await_in_bridge(asyncio.wait({task}))
        except BaseException as error:
            if not task.done():
                self._waiting = None
                if isinstance(error, asyncio.CancelledError):
                    raise ListenerContinues(error) from None
            raise
        task.result()

    async def _as_user(self, result: Awaitable[object]) -> None:
        task = asyncio.current_task()
        _CALL.set(task)
        self._one_user.user = task
        try:
            await result
        finally:
            if self._one_user.user is task:
                self._one_user.user = self._waiting

    def cancel(self, left: asyncio.Task[None]) -> None:
        """Cancel a call that is left running, without waiting for its end. The consumer then accepts other tasks."""
        if not left.cancel():
            return  # it has ended
        self._task = None
        if self._one_user.user is left:
            self._one_user.user = None

    @property
    def is_caller(self) -> bool:
        return self._task is not None and not self._task.done() and _CALL.get() is self._task

    @property
    def left(self) -> asyncio.Task[None] | None:
        """Listener's call that a cancelled poll left running, or None. Always None within that call."""
        task = self._task
        is_left = task is not None and not task.done() and self._waiting is None
        return task if is_left and not self.is_caller else None

    async def left_ends(self) -> None:
        """Wait for the end of the call that is left running."""
        assert self._task is not None
        await asyncio.wait({self._task})


def _awaiting(callback: OnAsyncCommit) -> OnCommit:
    @wraps(callback)
    def on_done(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None) -> None:
        _settle(callback(offsets, error))

    return on_done


class AsyncConsumer:
    """Consumer for coroutines.

    Only one task may wait in a call. Calls that do not wait (`pause`, `seek`, `commit_async`, ...) may come from any
    task, even while another task waits for records. `asyncio.timeout()`, `timeout=`, or cancellation can end a call. No
    records are lost: the next poll returns them, and commits cover only returned records. Errors are as in `Consumer`.
    `async for record in consumer` returns one record at a time. `async with` closes. If the block raises, the last
    records returned are not committed.
    Args: as for `Consumer`. `events` is called on the network thread.
    """

    def __init__(
        self,
        config: Mapping[str, object] | ConsumerConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
        prefetch_bytes: int = PREFETCH_BYTES,
        on_poll: OnPoll | None = None,
    ) -> None:
        made, self._driver = async_runtime(runtime)
        self._client = Consumer(config, made, events=events, prefetch_bytes=prefetch_bytes, on_poll=on_poll)
        self._side = self._client._side
        self._calls = _ListenerCalls(self._client)

    async def _run(self, call: "partial[R]") -> R:
        if self._calls.left is not None:
            clock, default_ms = self._client._clock, self._client._config.default_api_timeout_ms
            call = await after(self._calls.left_ends, call, clock, default_ms, _LEFT)
        try:
            return await run(call)
        except ListenerContinues as interrupt:
            raise interrupt.cause from None
        except ConcurrentModificationError:
            text = "another task is using this consumer: only one task at a time can use it"
            raise ConcurrentModificationError(text) from None

    def _now(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a method that does not wait. If another task is polling, its poll applies the change."""
        user = self._client._one_user.user
        if not runs_here(user):
            return call(*args, **kwargs)
        self._driver.acting_as = user
        try:
            return call(*args, **kwargs)
        finally:
            self._driver.acting_as = None
            self._side.mailbox.waiter.notify()

    # --- records ------------------------------------------------------------------------------------------------------

    async def poll(self, timeout: Timeout = None) -> list[ConsumerRecord]:
        """Return the next records, up to max.poll.records, or an empty list at the timeout.

        Lets other tasks run once, even if records are available. Raises: as `Consumer.poll`.
        """
        result = await self._take(timeout)
        if result is None:
            return []
        records = result.records
        self._show(records, result)
        result.given = result.count  # no await from here to the caller
        return records

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Yield records until the consumer is closed.

        The position advances with each record. After an early exit, the next poll or iteration returns the rest.
        """
        while self._is_open:
            if (result := await self._take(math.inf)) is None:
                continue
            result.is_one_by_one = True
            for record in result.records:
                self._show((record,), result)
                result.given += 1
                yield record
                if not self._has(result):  # a call has read the positions, and may have changed them
                    break

    async def _take(self, timeout: Timeout) -> PollResult | None:
        """Return the next records, or None at the timeout. Lets other tasks run once. The caller counts returned
        records in `given`.
        """
        await asyncio.sleep(0)
        if self._calls.is_caller:
            raise IllegalStateError("cannot call poll() within poll(): return from the listener or callback first")
        if self._calls.left is not None:
            timer = self._client._timer(timeout)
            if not await ends_in_time(self._calls.left_ends, timer):
                return None
            timeout = left_s(timer)
        return await self._run(partial(self._client._poll, timeout))

    def _transaction_mark(self) -> tuple[int, int]:
        return self._now(self._client._transaction_mark)

    def _find_positions(self, timeout: Timeout) -> None:
        self._client._find_positions(timeout)  # waits: the end of a block runs in the bridge

    def _transaction_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._now(self._client._transaction_committed, offsets)

    def _has(self, result: PollResult) -> bool:
        return self._side.data.result is result

    def _give(self, result: PollResult, count: int, *, is_processed: bool = False) -> int:
        """Count the next records of a result as returned, and return their number. See `FetchedData.retake`."""
        current = self._side.data.retake(result, count, is_processed=is_processed)
        if current is None:
            return 0
        records = current.records[current.given : current.given + count]
        self._show(records, current)
        current.given += len(records)
        return len(records)

    def _show(self, records: Sequence[ConsumerRecord], result: PollResult) -> None:
        if self._client._on_poll is not None:
            self._client._show(records, result)

    @property
    def _is_open(self) -> bool:
        return self._side.close_result is None

    # --- calls that wait ----------------------------------------------------------------------------------------------

    async def commit(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None, timeout: Timeout = None
    ) -> None:
        """Commit and wait, as `Consumer.commit_sync` does."""
        await self._run(partial(self._client.commit_sync, offsets, timeout))

    committed = awaited(Consumer.committed)
    position = awaited(Consumer.position)
    lag = awaited(Consumer.lag)
    partitions_for = awaited(Consumer.partitions_for)
    list_topics = awaited(Consumer.list_topics)
    beginning_offsets = awaited(Consumer.beginning_offsets)
    end_offsets = awaited(Consumer.end_offsets)
    offsets_for_times = awaited(Consumer.offsets_for_times)
    client_instance_id = awaited(Consumer.client_instance_id)
    unsubscribe = awaited(Consumer.unsubscribe)

    async def close(self, timeout: Timeout = None, on_close: OnClose | None = None) -> CloseResult:
        """Close, as `Consumer.close` does. The timeout includes the wait for a listener that a cancelled poll left
        running.
        """
        if (left := self._calls.left) is None:
            return await self._run(partial(self._client.close, timeout, on_close))
        timer = Timer(self._client._clock, to_timeout_ms(timeout, DEFAULT_CLOSE_TIMEOUT_MS))
        try:
            await ends_in_time(self._calls.left_ends, timer)
        finally:
            self._calls.cancel(left)
            await asyncio.sleep(0)  # until it is cancelled, before the next call of the listener
            timer.update()
            result = await self._run(partial(self._client.close, left_s(timer), on_close))
        return result

    # --- calls that do not wait ---------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str],
        listener: RebalanceListener | AsyncRebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics as a member of the group, as `Consumer.subscribe` does.

        Raises: ValueError: no topics are given. Use `unsubscribe`, which waits for the listener.
        """
        if isinstance(topics, Iterable) and not isinstance(topics, str):
            topics = list(topics)
            if not topics:
                raise ValueError("topics must not be empty: to leave the group, call unsubscribe()")
        if isinstance(listener, RebalanceListener | AsyncRebalanceListener):
            listener = _Awaiting(listener, self._calls)
        self._now(self._client.subscribe, topics, listener)

    def assign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, as `Consumer.assign` does."""
        self._now(self._client.assign, topic_partitions)

    def unassign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions, as `Consumer.unassign` does."""
        self._now(self._client.unassign, topic_partitions)

    def seek(self, topic_partition: TopicPartition, offset: int) -> None:
        """Set the position, as `Consumer.seek` does."""
        self._now(self._client.seek, topic_partition, offset)

    def seek_to_beginning(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the position to the first record. None means all assigned partitions."""
        self._now(self._client.seek_to_beginning, topic_partitions)

    def seek_to_end(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the position to the end of the log. None means all assigned partitions."""
        self._now(self._client.seek_to_end, topic_partitions)

    def seek_to_committed(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the position to the committed offset, as `Consumer.seek_to_committed` does."""
        self._now(self._client.seek_to_committed, topic_partitions)

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the position of each assigned partition, as a commit would commit it."""
        return self._now(self._client.positions)

    def pause(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop returning records of these partitions until `resume`. Fetched records are kept."""
        self._now(self._client.pause, topic_partitions)

    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Return records of paused partitions again."""
        self._now(self._client.resume, topic_partitions)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        callback: OnAsyncCommit | None = None,
    ) -> None:
        """Commit without waiting, as `Consumer.commit_async` does. The callback may be a coroutine function."""
        on_done = callback if callback is None or not callable(callback) else _awaiting(callback)
        self._now(self._client.commit_async, offsets, on_done)

    def store_offsets(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        """Set the offsets of later commits, as `Consumer.store_offsets` does."""
        self._now(self._client.store_offsets, offsets)

    def enforce_rebalance(self, reason: str = "requested by the application") -> None:
        """Request a rebalance of the group, which the next polls carry out."""
        self._now(self._client.enforce_rebalance, reason)

    def group_metadata(self) -> GroupMetadata:
        """Return the current identity of this member."""
        return self._now(self._client.group_metadata)

    def current_lag(self, topic_partition: TopicPartition) -> int | None:
        """Return the lag of the position, as `Consumer.current_lag` does."""
        return self._now(self._client.current_lag, topic_partition)

    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        """Return, for each assigned partition, why no records arrive."""
        return self._now(self._client.waiting_for)

    def waiting_for_group(self) -> WaitReason | None:
        """Return why the group has assigned no partitions yet, or None.

        A listener that a cancelled poll left running is also a reason.
        """
        if self._calls.left is not None:
            return WaitReason(WaitKind.JOINING, _LEFT)
        return self._now(self._client.waiting_for_group)

    def metrics(self) -> dict[str, float]:
        """Return the counters of the consumer, as `Consumer.metrics` does."""
        return self._client.metrics()

    def wakeup(self) -> None:
        """Let the current or next waiting call raise WakeupError. Any thread or signal handler may call it."""
        self._client.wakeup()

    @property
    def assignment(self) -> list[TopicPartition]:
        """Assigned partitions, in the order of assignment."""
        return self._now(lambda: self._client.assignment)

    @property
    def subscription(self) -> tuple[str, ...] | re.Pattern[str] | None:
        """Subscribed topics or pattern, or None without a subscription."""
        return self._now(lambda: self._client.subscription)

    @property
    def paused(self) -> list[TopicPartition]:
        """Paused partitions."""
        return self._now(lambda: self._client.paused)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the consumer. After an exception, the last records returned count as not processed."""
        if self._client._ends_block(kind):
            await self.close()
