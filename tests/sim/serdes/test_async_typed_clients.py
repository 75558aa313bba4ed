"""Typed clients for asyncio in virtual time: order while schemas are fetched, cancellation, and invalid records."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

from kctl.client import ConsumerRecord, TopicPartition
from kctl.client.aio.bridge import WouldWait, await_in_bridge, is_bridged
from kctl.client.errors import ConnectionRefused, IllegalStateError
from kctl.client.http import HttpResponse
from kctl.serdes import DecodeError, EncodeError, Json, Mapped, RecordDecodeError, Registry, Text, TypedRecord
from kctl.serdes.aio import (
    AsyncDeadLetters,
    AsyncMapped,
    AsyncRegistry,
    AsyncSerde,
    AsyncTypedConsumer,
    AsyncTypedProducer,
    registry,
)
from kctl.serdes.aio.typed import OnAsyncError
from kctl.serdes.wire import Header
from tests.sim.aio.scene import AioCluster, play
from tests.sim.virtual import sim_runtime
from tests.support.registry.server import FakeRegistry

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CANCELLATIONS = 500
PATIENCE_S = 600
SEEDS = range(1, 21)
SCHEMA = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
FETCH_S = 0.1
HANDLED_EVERY = 7


class Order(NamedTuple):
    """A value of the application."""

    id: int


class Slow:
    """Numbers as text, whose conversion waits; the handler of a consumer gets some of them."""

    def __init__(self, chance: Random, most_s: float) -> None:
        self._chance = chance
        self._most_s = most_s

    async def wait(self) -> None:
        if self._chance.random() < 0.7:
            await asyncio.sleep(self._chance.random() * self._most_s)

    async def serialize(self, value: int, topic: str) -> bytes:
        await self.wait()
        return b"%d" % value

    async def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> int:
        await self.wait()
        if int(data) % HANDLED_EVERY == 1:
            raise DecodeError("not a usable number")
        return int(data)


class AwaitedRegistry:
    """HTTP client of a registry whose responses take time. Attributes: failure: raised by requests."""

    def __init__(self) -> None:
        self.fake = FakeRegistry()
        self.requests: list[str] = []
        self.failure: ConnectionRefused | None = None
        self.running = 0

    def request(self, method: str, url: str, *_: object, body: bytes | None = None, **__: object) -> HttpResponse:
        if not is_bridged():
            raise WouldWait
        self.requests.append(f"{method} {url}")
        self.running += 1
        assert self.running == 1, "requests share a connection and a timeout"
        try:
            await_in_bridge(asyncio.sleep(FETCH_S))
        finally:
            self.running -= 1
        if self.failure is not None:
            raise self.failure
        path = url.removeprefix("http://one")
        status, content = self.fake.answer(method, path, None if body is None else json.loads(body))
        return HttpResponse(status, "", {}, json.dumps(content).encode())

    def close(self) -> None: ...


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> AwaitedRegistry:
    made = AwaitedRegistry()
    monkeypatch.setattr(registry, "AwaitedHttpClient", lambda *_, **__: made)
    return made


def registry_of(cluster: AioCluster) -> AsyncRegistry:
    return AsyncRegistry({"schema.registry.url": "http://one"}, sim_runtime(cluster.hub, "r", cluster.network))


def consumer_of(cluster: AioCluster, on_error: OnAsyncError | None = None) -> AsyncTypedConsumer[str, Any]:
    client = cluster.async_consumer(enable_auto_commit=False)
    client.assign([T0, T1])
    return AsyncTypedConsumer(client, Text(), Json(), on_error=on_error)


def write(cluster: AioCluster, *values: bytes | None, partition: int = 0) -> None:
    with cluster.producer() as producer:
        for value in values:
            producer.send("t", value, b"k", partition, headers=[("trace", b"a1")])


def ids(records: list[TypedRecord[str, Any]]) -> list[int]:
    return [id_of(each) for each in records]


def id_of(record: TypedRecord[str, Any]) -> int:
    assert record.value is not None
    number: int = record.value["id"]
    return number


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_records_keep_the_order_of_their_calls_while_they_are_encoded(seed: int) -> None:
    chance = Random(seed)

    async def body(cluster: AioCluster) -> None:
        serde = Slow(chance, 1.0)
        async with AsyncTypedProducer(cluster.async_producer(), serde, serde) as producer:
            tasks = []
            for number in range(100):
                call: Callable[..., Any] = chance.choice((producer.send, producer.enqueue))
                tasks.append(asyncio.create_task(call("t", number, number, partition=0)))
                if chance.random() < 0.2:
                    await asyncio.sleep(chance.random() * 0.1)
            cancelled = {number for number in range(100) if chance.random() < 0.2}
            for number in cancelled:
                tasks[number].cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert {number for number, each in enumerate(done) if isinstance(each, asyncio.CancelledError)} <= cancelled
            await producer.client.flush()
        stored = [int(value or b"") for value in cluster.values(0)]
        assert stored == sorted(set(stored))
        assert {*range(100)} - cancelled <= set(stored)

    play(body)


def test_topics_do_not_wait_for_each_other() -> None:
    class SlowFor(Slow):
        async def serialize(self, value: int, topic: str) -> bytes:
            await asyncio.sleep(5 if topic == "t" else 0)
            return b"%d" % value

    async def body(cluster: AioCluster) -> None:
        serde = SlowFor(Random(1), 0)
        async with AsyncTypedProducer(cluster.async_producer(), serde, serde) as producer:
            slow = asyncio.create_task(producer.send("t", 1, partition=0))
            await asyncio.sleep(0.01)
            assert (await producer.send("u", 1, partition=0)).offset == 0
            assert not slow.done()
            assert (await slow).offset == 0
            assert producer._turns._queues == {}

    play(body, topics={"t": 1, "u": 1})


def test_record_that_cannot_be_encoded_holds_up_no_other() -> None:
    async def body(cluster: AioCluster) -> None:
        async with AsyncTypedProducer(cluster.async_producer(), Text(), Json('{"type": "integer"}')) as producer:
            tasks = [asyncio.create_task(producer.send("t", value, partition=0)) for value in (1, "x", 2)]
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(done[1], EncodeError)
        assert cluster.values(0) == [b"1", b"2"]

    play(body)


# --- registry ---------------------------------------------------------------------------------------------------------


def test_tasks_share_one_fetch_and_keep_their_order(http: AwaitedRegistry) -> None:
    async def body(cluster: AioCluster) -> None:
        async with registry_of(cluster) as registry:
            orders = AsyncMapped(registry.avro(SCHEMA), lambda found: Order(found["id"]), lambda each: {"id": each.id})
            async with AsyncTypedProducer(cluster.async_producer(), Text(), orders) as producer:
                tasks = [asyncio.create_task(producer.send("t", Order(id), "k", partition=0)) for id in range(50)]
                await asyncio.sleep(FETCH_S / 2)
                tasks[0].cancel()  # the first one has begun the fetch
                tasks[7].cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                assert http.requests == ["POST http://one/subjects/t-value/versions"]
            async with cluster.async_consumer() as client:
                client.assign([T0])
                consumer = AsyncTypedConsumer(client, Text(), orders)
                found: list[int] = []
                while len(found) < 48:
                    found += [each.value.id for each in await consumer.poll(5) if each.value]
            assert found == [id for id in range(50) if id not in (0, 7)]
            assert [each.partition("one")[2] for each in http.requests[1:]] == ["/schemas/ids/1"]
            assert await registry.client.subjects() == ["t-value"]

    play(body)


def test_close_ends_fetches_and_the_tasks_that_wait_for_them(http: AwaitedRegistry) -> None:
    async def body(cluster: AioCluster) -> None:
        registry = registry_of(cluster)
        async with AsyncTypedProducer(cluster.async_producer(), Text(), registry.avro(SCHEMA)) as producer:
            sends = [asyncio.create_task(producer.send("t", {"id": id}, partition=0)) for id in range(2)]
            await asyncio.sleep(FETCH_S / 2)
            sends[0].cancel()
            await registry.close()
            assert http.running == 0
            assert asyncio.all_tasks() <= {asyncio.current_task(), *sends}
            done = await asyncio.gather(*sends, return_exceptions=True)
            assert [type(each) for each in done] == [asyncio.CancelledError, IllegalStateError]
            assert (await producer.send("t", {"id": 1}, partition=0)).offset == 0

    play(body)


def test_failed_fetch_fails_the_tasks_that_wait_for_it_and_a_later_one_succeeds(http: AwaitedRegistry) -> None:
    http.failure = ConnectionRefused("no registry")

    async def body(cluster: AioCluster) -> None:
        registry = registry_of(cluster)
        async with registry, AsyncTypedProducer(cluster.async_producer(), Text(), registry.avro(SCHEMA)) as producer:
            sends = [producer.send("t", {"id": id}, partition=0) for id in range(10)]
            done = await asyncio.gather(*sends, return_exceptions=True)
            assert [type(each) for each in done] == [ConnectionRefused] * 10
            assert len(http.requests) == 1
            http.failure = None
            assert (await producer.send("t", {"id": 1}, partition=0)).offset == 0
            with pytest.raises(EncodeError):
                await producer.send("t", {"id": "x"}, partition=0)

    play(body)


def test_event_loop_runs_on_while_a_schema_is_fetched(http: AwaitedRegistry) -> None:
    async def body(cluster: AioCluster) -> None:
        registry = registry_of(cluster)
        async with registry, AsyncTypedProducer(cluster.async_producer(), Text(), registry.avro(SCHEMA)) as producer:
            sending = asyncio.create_task(producer.send("t", {"id": 1}, partition=0))
            ticks = 0
            while not sending.done():
                await asyncio.sleep(0.001)
                ticks += 1
            assert ticks >= FETCH_S * 1000
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(FETCH_S / 2):
                        await registry.client.versions("t-value")
                assert await registry.client.versions("t-value") == [1]

    play(body)


def test_format_that_blocks_the_event_loop_is_rejected() -> None:
    async def body(cluster: AioCluster) -> None:
        blocking: Mapped[Any] = Mapped(
            Registry({"schema.registry.url": "http://one"}).avro(), lambda each: each, lambda each: each
        )
        async with cluster.async_producer() as producer, cluster.async_consumer() as consumer:
            with pytest.raises(TypeError, match="use AsyncRegistry"):
                AsyncTypedProducer(producer, Text(), blocking)
            with pytest.raises(TypeError, match="use AsyncRegistry"):
                AsyncTypedConsumer(consumer, blocking, Text())

    play(body)


# --- invalid records --------------------------------------------------------------------------------------------------


def test_record_that_cannot_be_decoded_is_an_error_with_its_place_until_a_seek() -> None:
    async def body(cluster: AioCluster) -> None:
        write(cluster, b'{"id":1}', b"{", b'{"id":3}')
        async with consumer_of(cluster) as consumer:
            assert ids(await consumer.poll(5)) == [1]
            for _ in range(2):
                with pytest.raises(RecordDecodeError, match="value of t-0 at offset 1: not JSON") as caught:
                    await consumer.poll(5)
                assert (caught.value.offset, caught.value.raw) == (1, b"{")
            await consumer.client.commit()
            assert cluster.committed()[0] == 1
            with pytest.raises(RecordDecodeError):
                await anext(aiter(consumer))
            consumer.client.seek(T0, 2)
            assert ids(await consumer.poll(5)) == [3]

    play(body)


def test_coroutine_sends_dead_letters_and_gets_no_record_twice() -> None:
    async def body(cluster: AioCluster) -> None:
        write(cluster, b"{", b'{"id":1}', b"[", b'{"id":3}')
        producer = cluster.async_producer()
        async with producer, consumer_of(cluster, AsyncDeadLetters(producer, "dead")) as consumer:
            assert [ids(await consumer.poll(5)) for _ in range(2)] == [[1], [3]]
            assert await consumer.client.position(T0) == 4
            consumer.client.seek_to_beginning()
            seen: list[int] = []
            async for record in consumer:
                seen.append(id_of(record))
                if len(seen) == 2:
                    break
            assert seen == [1, 3]
        letters = cluster.records(0, "dead")
        assert [each.value for each in letters] == [b"{", b"["] * 2
        headers: Mapping[str, bytes | None] = dict(letters[1].headers)
        assert (headers["trace"], headers["__connect.errors.offset"]) == (b"a1", b"2")

    play(body, topics={"t": 2, "dead": 1})


def test_records_that_a_handler_has_processed_do_not_come_again_after_its_failure() -> None:
    handled: list[int] = []

    async def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
        await asyncio.sleep(0.01)
        if record.offset == 1 and 1 not in handled:
            handled.append(1)
            raise RuntimeError("no room")
        handled.append(record.offset)

    async def body(cluster: AioCluster) -> None:
        write(cluster, b"{", b"[", b'{"id":2}')
        async with consumer_of(cluster, handle) as consumer:
            with pytest.raises(RuntimeError, match="no room"):
                await consumer.poll(5)
            assert ids(await consumer.poll(5)) == [2]
        assert handled == [0, 1, 1]

    play(body, topics={"t": 2})


@pytest.mark.parametrize("is_with_offsets", [False, True])
def test_handler_that_commits_gets_each_record_once(is_with_offsets: bool) -> None:
    handled: list[int] = []

    async def body(cluster: AioCluster) -> None:
        async def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
            handled.append(record.offset)
            await consumer.client.commit({T0: record.offset + 1} if is_with_offsets else None)

        write(cluster, b"{", b'{"id":1}', b"[", b'{"id":3}')
        async with asyncio.timeout(60), consumer_of(cluster, handle) as consumer:
            assert [ids(await consumer.poll(5)) for _ in range(2)] == [[1], [3]]
            consumer.client.seek_to_beginning()
            seen: list[int] = []
            async for record in consumer:
                seen.append(id_of(record))
                if len(seen) == 2:
                    break
            assert seen == [1, 3]
            assert consumer.client.metrics()["records-consumed-total"] == 8
        assert handled == [0, 2] * 2

    play(body)


def test_poll_whose_handler_is_slow_ends_by_its_deadline() -> None:
    handled: list[int] = []

    async def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
        await asyncio.sleep(1)
        handled.append(record.offset)

    async def body(cluster: AioCluster) -> None:
        write(cluster, *[b"{"] * 10, b'{"id":10}')
        async with consumer_of(cluster, handle) as consumer:
            async with asyncio.timeout(4):
                assert await consumer.poll(2.5) == []
            assert handled == [0, 1, 2]
            assert ids(await consumer.poll(60)) == [10]
        assert handled == [*range(10)]

    play(body)


def test_handled_record_does_not_come_again_after_a_cancellation() -> None:
    handled: list[int] = []

    async def body(cluster: AioCluster) -> None:
        async def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
            await client.commit()
            handled.append(record.offset)

        write(cluster, b"0", b"x", b"2", b"3")
        async with cluster.async_consumer(enable_auto_commit=False) as client:
            client.assign([T0])
            consumer = AsyncTypedConsumer(client, Text(), ALWAYS_SLOW, on_error=handle)
            assert [each.value for each in await consumer.poll(60)] == [0]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.9):
                    await consumer.poll(60)
            assert (handled, client.positions()[T0].offset) == ([1], 2)
            assert [each.value for each in await consumer.poll(60)] == [2, 3]
        assert handled == [1]

    play(body)


def test_handler_may_seek_back_to_its_record_and_pause_its_partition() -> None:
    handled: list[int] = []

    async def body(cluster: AioCluster) -> None:
        def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
            handled.append(record.offset)
            if handled == [0]:
                consumer.client.seek(T0, 0)
            else:
                consumer.client.pause([T0])

        write(cluster, b"{", b'{"id":1}')
        async with consumer_of(cluster, handle) as consumer:
            assert await consumer.poll(1) == []
            consumer.client.resume([T0])
            assert ids(await consumer.poll(5)) == [1]
        assert handled == [0, 0]

    play(body)


def test_records_arrive_while_another_task_reads_the_positions() -> None:
    async def body(cluster: AioCluster) -> None:
        async def watch() -> None:
            while True:
                client.current_lag(T0)
                await asyncio.sleep(0.3)

        write(cluster, b"0", b"x", b"2", b"3")
        async with cluster.async_consumer() as client:
            client.assign([T0])
            handled: list[int] = []
            consumer = AsyncTypedConsumer(
                client, Text(), ALWAYS_SLOW, on_error=lambda record, _: handled.append(record.offset)
            )
            watching = asyncio.create_task(watch())
            found = [[each.value for each in await consumer.poll(60)] for _ in range(3)]
            client.seek(T0, 2)
            assert (await anext(aiter(consumer))).value == 2
            watching.cancel()
        assert (found, handled) == ([[0], [2], [3]], [1])

    play(body)


def test_seek_of_another_task_while_records_are_decoded_holds() -> None:
    async def body(cluster: AioCluster) -> None:
        write(cluster, b"1", b"2", b"3")
        async with cluster.async_consumer() as client:
            client.assign([T0])
            consumer = AsyncTypedConsumer(client, Text(), ALWAYS_SLOW)
            polling = asyncio.create_task(consumer.poll(60))
            await asyncio.sleep(1.5)
            client.seek(T0, 2)
            assert [each.value for each in await polling] == [3]
            client.seek(T0, 0)
            reading = asyncio.ensure_future(anext(aiter(consumer)))
            await asyncio.sleep(0.5)
            client.seek(T0, 1)
            assert (await reading).value == 2

    play(body)


class AlwaysSlow:
    """Numbers that are decoded in a second."""

    async def serialize(self, value: int, topic: str) -> bytes:
        return b"%d" % value

    async def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> int:
        await asyncio.sleep(1)
        if not data.isdigit():
            raise DecodeError("not a number")
        return int(data)


ALWAYS_SLOW: AsyncSerde[int] = AlwaysSlow()


# --- cancellation -----------------------------------------------------------------------------------------------------


class Reader:
    """Typed consumer whose calls are cancelled, and the records it returned."""

    def __init__(self, cluster: AioCluster, chance: Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.offsets = dict.fromkeys(range(3), 0)
        """The next offset that each partition must return."""
        self.values: list[int] = []
        self.cancelled = 0

    def take(self, record: ConsumerRecord) -> None:
        assert record.offset == self.offsets[record.partition], "lost or repeated"
        self.offsets[record.partition] += 1
        self.values.append(int(record.value or b""))

    async def handle(self, record: ConsumerRecord, error: RecordDecodeError) -> None:
        if self.chance.random() < 0.3:
            await self.consumer.client.commit()
        self.take(record)

    async def step(self) -> None:
        if self.chance.random() < 0.5:
            for record in await self.consumer.poll(self.chance.choice((0, 0.01, 1))):
                self.take(record.record)
            return
        left = self.chance.randrange(1, 30)
        async for record in self.consumer:
            self.take(record.record)
            left -= 1
            if left == 0:
                break

    async def cancelled_step(self) -> None:
        task = asyncio.create_task(self.step())
        await asyncio.sleep(self.chance.choice((0, 0.001, 0.005, 0.02, 0.1)))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            self.cancelled += 1
        for partition, offset in self.cluster.committed().items():
            assert offset <= self.offsets[partition], "committed and not returned"

    async def run(self, is_written: asyncio.Event) -> None:
        while not (is_written.is_set() and len(self.values) == self.written()):
            settings = {"max_poll_records": 10, "auto_commit_interval_ms": 20}
            client = self.cluster.async_consumer(**settings)
            serde = Slow(self.chance, 0.004)
            async with AsyncTypedConsumer(client, Text(), serde, on_error=self.handle) as self.consumer:
                client.subscribe(["t"])
                for _ in range(self.chance.randrange(20, 80)):
                    await self.cancelled_step()

    def written(self) -> int:
        return sum(self.cluster.log(partition).end_offset for partition in range(3))


async def write_numbers(cluster: AioCluster, chance: Random, reader: Reader, is_written: asyncio.Event) -> set[int]:
    """Send until the reader was cancelled often; return the numbers that were acknowledged to a task."""
    acknowledged: set[int] = set()
    number = 0

    async def send(value: int) -> None:
        await producer.send("t", value, partition=value % 3)
        acknowledged.add(value)

    client = cluster.async_producer(linger_ms=chance.choice((0, 5)))
    async with AsyncTypedProducer(client, Text(), Slow(chance, 0.01)) as producer:
        while reader.cancelled < CANCELLATIONS:
            tasks = [asyncio.create_task(send(value)) for value in range(number, number + 5)]
            number += len(tasks)
            await asyncio.sleep(chance.choice((0, 0.001, 0.004, 0.02)))
            for task in tasks:
                if chance.random() < 0.3:
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    is_written.set()
    return acknowledged


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in SEEDS[1:])])
def test_typed_calls_that_are_cancelled_at_random_lose_and_repeat_nothing(seed: int) -> None:
    chance = Random(seed)

    async def body(cluster: AioCluster) -> None:
        reader, is_written = Reader(cluster, chance), asyncio.Event()
        async with asyncio.timeout(PATIENCE_S):
            writing = write_numbers(cluster, chance, reader, is_written)
            acknowledged, _ = await asyncio.gather(writing, reader.run(is_written))
        stored = [[int(value or b"") for value in cluster.values(partition)] for partition in range(3)]
        assert [sorted(each) for each in stored] == stored, "out of order"
        assert sorted(reader.values) == sorted(value for each in stored for value in each)
        assert len(set(reader.values)) == len(reader.values), "a record was written twice"
        assert acknowledged <= set(reader.values)

    play(body, seed=seed)
