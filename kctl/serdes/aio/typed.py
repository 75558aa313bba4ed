"""Typed producers and consumers for asyncio."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from kctl.client import ConsumerRecord, RecordMetadata, SendFuture
from kctl.client.aio import AsyncConsumer, AsyncProducer
from kctl.client.consumer.consumer import Timeout
from kctl.client.consumer.fetched_data import PollResult
from kctl.client.producer.record import GivenHeaders
from kctl.serdes.aio.formats import AsyncSerde, check_serde, settled
from kctl.serdes.errors import RecordDecodeError, SerdesError, is_of_data
from kctl.serdes.formats import Serde
from kctl.serdes.typed import TypedRecord, at_record, letter_headers

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C", AsyncConsumer, AsyncProducer)
OnAsyncError = Callable[[ConsumerRecord, RecordDecodeError], object]
"""Function or coroutine function for records that cannot be decoded. If it raises, the consumer retries the record.
Otherwise it continues.
"""


class _Typed(Generic[C]):
    """Client with formats. Leaving the `async with` block closes the client."""

    client: C

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.client.__aexit__(kind, error, traceback)


class AsyncTypedConsumer(_Typed[AsyncConsumer], Generic[K, V]):
    """Consumer for coroutines that decodes records.

    Use `client` to subscribe, commit, seek, and pause. A call that is cancelled while it decodes neither returns nor
    commits records. The next call returns them. Leaving the `async with` block closes the consumer.
    Args:
        client: the consumer.
        key, value: the formats. Null keys and values are None.
        on_error: handler of records that cannot be decoded. None raises the error.
    Raises: TypeError: a format blocks the event loop.
    """

    def __init__(
        self,
        client: AsyncConsumer,
        key: Serde[K] | AsyncSerde[K],
        value: Serde[V] | AsyncSerde[V],
        *,
        on_error: OnAsyncError | None = None,
    ) -> None:
        check_serde(key)
        check_serde(value)
        self.client = client
        self._key = key
        self._value = value
        self._on_error = on_error

    async def poll(self, timeout: Timeout = None) -> list[TypedRecord[K, V]]:
        """Return the next decoded records, as `AsyncConsumer.poll` does.

        If a record cannot be decoded, the records before it are returned first. The next poll raises the error and
        stays at the record. Seek to skip it. A fetch of schemas may exceed the timeout.
        Raises:
            RecordDecodeError: a record cannot be decoded, and there is no handler.
            KafkaError: the registry does not respond, or as `AsyncConsumer.poll`.
        """
        timer = self.client._client._timer(timeout)
        while True:
            result = await self.client._take(timer.remaining_ms / 1000)
            found = [] if result is None else await self._decoded_records(result)
            timer.update()
            if found or result is None or timer.is_expired:
                return found

    async def _decoded_records(self, result: PollResult) -> list[TypedRecord[K, V]]:
        """Return the records before the first one that cannot be decoded, and count them as returned.

        If the first record cannot be decoded, handle it. Returns fewer records if a call reads or changes the positions
        in the meantime.
        """
        found: list[TypedRecord[K, V]] = []
        for record in result.records:
            try:
                found.append(await self._decoded(record))
            except Exception as error:  # noqa: BLE001 - after records, the next poll finds the error again
                if not found:
                    await self._handle(result, record, error)
                break
            if not self.client._has(result):
                break
        return found[: self.client._give(result, len(found))] if found else []  # no await from here to the caller

    async def __aiter__(self) -> AsyncIterator[TypedRecord[K, V]]:
        """Yield decoded records without end, as the loop over an `AsyncConsumer` does. Raises: as `poll`."""
        while self.client._is_open:
            result = await self.client._take(math.inf)
            if result is None:
                continue
            result.is_one_by_one = True
            for record in result.records:
                try:
                    typed = await self._decoded(record)
                except Exception as error:  # noqa: BLE001 - raised again without a handler
                    await self._handle(result, record, error)
                    break
                if not self.client._give(result, 1):  # another call changed the positions while a schema was fetched
                    break
                yield typed
                if not self.client._has(result):
                    break

    async def _handle(self, result: PollResult, record: ConsumerRecord, error: Exception) -> None:
        """Pass the next record of a result, which cannot be decoded, to the handler. Without a handler, raise the
        error.

        The position moves past the record when the handler ends, even if the handler commits.
        """
        data = self.client._side.data
        if data.retake(result, 1) is None:  # another call changed the positions while a schema was fetched
            return
        if self._on_error is None or not isinstance(error, RecordDecodeError):
            raise error
        await settled(self._on_error(record, error))
        self.client._give(result, 1, is_processed=True)
        data.processed()

    async def _decoded(self, record: ConsumerRecord) -> TypedRecord[K, V]:
        key = await self._read("key", self._key, record.key, record)
        return TypedRecord(key, await self._read("value", self._value, record.value, record), record)

    @staticmethod
    async def _read(side: str, serde: Serde[Any] | AsyncSerde[Any], data: bytes | None, record: ConsumerRecord) -> Any:
        if data is None:
            return None
        try:
            return await settled(serde.deserialize(data, record.topic, record.headers))
        except SerdesError as error:
            if not is_of_data(error):
                raise
            raise at_record(error, side, data, record) from error


class _Turn:
    __slots__ = ("is_over", "reached")

    def __init__(self) -> None:
        self.is_over = False
        self.reached: asyncio.Future[None] | None = None


class _Turns:
    def __init__(self) -> None:
        self._queues: dict[str, deque[_Turn]] = {}

    def take(self, topic: str) -> _Turn:
        turn = _Turn()
        self._queues.setdefault(topic, deque()).append(turn)
        return turn

    async def reach(self, topic: str, turn: _Turn) -> None:
        if self._queues[topic][0] is not turn:
            turn.reached = asyncio.get_running_loop().create_future()
            await turn.reached

    def leave(self, topic: str, turn: _Turn) -> None:
        turn.is_over = True
        queue = self._queues[topic]
        while queue and queue[0].is_over:
            queue.popleft()
        if not queue:
            del self._queues[topic]
        elif (reached := queue[0].reached) is not None and not reached.done():
            reached.set_result(None)


class AsyncTypedProducer(_Typed[AsyncProducer], Generic[K, V]):
    """Producer for coroutines that encodes records. Any number of tasks may share it.

    Records of one topic are accepted in the order of the calls, even while schemas are fetched. A call cancelled before
    its record was accepted sends nothing. Use `client` to flush and for transactions. Leaving the `async with` block
    closes the producer.
    Args:
        client: the producer.
        key, value: the formats. None is sent as null.
    Raises: TypeError: a format blocks the event loop.
    """

    def __init__(self, client: AsyncProducer, key: Serde[K] | AsyncSerde[K], value: Serde[V] | AsyncSerde[V]) -> None:
        check_serde(key)
        check_serde(value)
        self.client = client
        self._key = key
        self._value = value
        self._turns = _Turns()

    async def enqueue(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
    ) -> SendFuture:
        """Return the future of a record after it was accepted, as `AsyncProducer.enqueue` does.

        Raises:
            EncodeError: key or value does not fit its format.
            KafkaError: the registry failed a request, or as `AsyncProducer.enqueue`.
        """
        turn = self._turns.take(topic)
        try:
            value_bytes = None if value is None else await settled(self._value.serialize(value, topic))
            key_bytes = None if key is None else await settled(self._key.serialize(key, topic))
            await self._turns.reach(topic, turn)
            return await self.client.enqueue(topic, value_bytes, key_bytes, partition, headers, timestamp_ms)
        finally:
            self._turns.leave(topic, turn)

    async def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
    ) -> RecordMetadata:
        """Send a record, and return its topic, partition, and offset when it is acknowledged, as `AsyncProducer.send`
        does.

        Raises: as `enqueue`, or KafkaError: reason why the record was not delivered.
        """
        return await (await self.enqueue(topic, value, key, partition, headers, timestamp_ms))


class AsyncDeadLetters:
    """Handler that sends records to a dead letter topic, as `DeadLetters` does, for coroutines.

    Args:
        producer: sends the records, and is not closed.
        topic: the dead letter topic.
    """

    def __init__(self, producer: AsyncProducer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    async def __call__(self, record: ConsumerRecord, error: Exception) -> RecordMetadata:
        """Send a record and wait for its acknowledgment, before its offset is committed."""
        return await self._producer.send(self._topic, record.value, record.key, headers=letter_headers(record, error))
