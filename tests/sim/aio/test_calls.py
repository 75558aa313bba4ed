"""Calls of the clients of asyncio in virtual time: deadlines, listeners, and calls of several tasks."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from kctl.client.aio import AsyncConsumer, AsyncRebalanceListener
from kctl.client.cluster import TopicPartition
from kctl.client.errors import (
    ApiTimeout,
    ConcurrentModificationError,
    FlushTimeout,
    IllegalStateError,
    MaxBlockTimeout,
    WakeupError,
)
from kctl.sandbox import Fault
from tests.sim.aio.scene import AioCluster, play
from tests.sim.virtual.event_loop import HubEventLoop

T0 = TopicPartition("t", 0)


async def took_ms(cluster: AioCluster, call: Coroutine[Any, Any, object]) -> int:
    before_ms = cluster.hub.now_ms
    await call
    return cluster.hub.now_ms - before_ms


async def failed_after_ms(cluster: AioCluster, error: type[BaseException], call: Coroutine[Any, Any, object]) -> int:
    before_ms = cluster.hub.now_ms
    with pytest.raises(error):
        await call
    return cluster.hub.now_ms - before_ms


@pytest.mark.parametrize("timeout_ms", [0, 1, 37, 1500])
def test_poll_without_records_ends_on_its_millisecond(timeout_ms: int) -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            consumer.assign([T0])
            await consumer.poll(1)
            assert await took_ms(cluster, consumer.poll(timeout_ms / 1000)) == timeout_ms

    play(body)


def test_timeout_of_asyncio_and_of_the_call_both_hold() -> None:
    async def under_timeout(consumer: AsyncConsumer, seconds: float, call_seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await consumer.end_offsets([T0], timeout=call_seconds)

    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            consumer.assign([T0])
            await consumer.position(T0)
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            assert await failed_after_ms(cluster, TimeoutError, under_timeout(consumer, 0.25, 9)) == 250
            assert await failed_after_ms(cluster, ApiTimeout, under_timeout(consumer, 9, 0.75)) == 750
            cluster.sandbox.heal()
            assert await consumer.end_offsets([T0], timeout=5) == {T0: 0}

    play(body)


def test_limits_of_a_producer_hold_in_coroutines() -> None:
    async def body(cluster: AioCluster) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        producer = cluster.async_producer(max_block_ms=300)
        assert await failed_after_ms(cluster, MaxBlockTimeout, producer.enqueue("t", b"x")) == 300
        cluster.sandbox.heal()
        await producer.send("t", b"x", partition=0)
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        await producer.enqueue("t", b"y", partition=0)
        assert await failed_after_ms(cluster, FlushTimeout, producer.flush(0.4)) == 400
        cluster.sandbox.heal()
        assert (await producer.close(5)).delivered == 2

    play(body)


def test_full_memory_holds_up_one_task_and_not_the_event_loop() -> None:
    async def body(cluster: AioCluster) -> None:
        producer = cluster.async_producer(buffer_memory=4000, linger_ms=0, batch_size=1000, max_block_ms=60_000)
        await producer.partitions_for("t")
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)

        async def write() -> None:
            for _ in range(20):
                await producer.enqueue("t", b"x" * 500, partition=0)

        task = asyncio.create_task(write())
        assert await took_ms(cluster, asyncio.sleep(2)) == 2000
        assert not task.done()
        cluster.sandbox.heal()
        await task
        assert (await producer.close()).delivered == 20

    play(body)


def test_second_task_that_waits_is_refused_and_calls_that_do_not_wait_are_not() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            consumer.assign([T0])
            await consumer.position(T0)
            consumer.pause([T0])
            cluster.write(0, 3)
            polling = asyncio.create_task(consumer.poll(100))
            await asyncio.sleep(1)
            with pytest.raises(ConcurrentModificationError, match="another task is using this consumer"):
                await consumer.committed([T0])
            assert (consumer.assignment, consumer.paused) == ([T0], [T0])
            consumer.commit_async({T0: 0})
            await asyncio.sleep(1)
            assert not polling.done()
            before_ms = cluster.hub.now_ms
            consumer.resume([T0])  # the poll that waits is told of it
            assert len(await polling) == 3
            assert cluster.hub.now_ms - before_ms < 100

    play(body)


def test_waits_that_end_early_leave_no_timer() -> None:
    async def body(cluster: AioCluster) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HubEventLoop)
        async with cluster.async_consumer() as consumer:
            consumer.assign([T0])
            for number in range(100):
                cluster.write(0, 1, first=number)
                assert len(await consumer.poll(1000)) == 1
        assert len(loop.timers) < 10

    play(body)


def test_wakeup_ends_the_wait_of_another_task() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            consumer.assign([T0])
            polling = asyncio.create_task(consumer.poll(100))
            await asyncio.sleep(1)
            consumer.wakeup()
            with pytest.raises(WakeupError):
                await polling

    play(body)


class Committing(AsyncRebalanceListener):
    """Waits and commits in the coroutines of a listener."""

    def __init__(self, consumer: AsyncConsumer) -> None:
        self.consumer = consumer
        self.calls: list[tuple[str, int]] = []

    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await asyncio.sleep(0.05)
        assert len(await self.consumer.committed(topic_partitions)) == len(topic_partitions)
        self.calls.append(("assigned", len(topic_partitions)))

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self.consumer.commit()
        self.calls.append(("revoked", len(topic_partitions)))


def test_coroutines_of_a_listener_may_wait_and_call_the_consumer() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 5)
        async with cluster.async_consumer(enable_auto_commit=False) as consumer:
            listener = Committing(consumer)
            consumer.subscribe(["t"], listener)
            assert len(await consumer.poll(10)) == 5
            await consumer.unsubscribe()
            assert listener.calls == [("assigned", 3), ("revoked", 3)]
            assert cluster.committed()[0] == 5

    play(body)


def test_transaction_is_seen_whole() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_producer(transactional_id="copier") as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.enqueue("t", b"x", partition=0)
            await producer.commit_transaction()
        async with cluster.async_consumer(isolation_level="read_committed") as consumer:
            consumer.assign([T0])
            assert [one.value for one in await consumer.poll(5)] == [b"x"]

    play(body)


def test_transaction_block_that_is_cancelled_is_aborted_and_its_records_come_again() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 5)
        async with (
            cluster.async_producer(transactional_id="copier") as producer,
            cluster.async_consumer(enable_auto_commit=False) as consumer,
        ):
            await producer.init_transactions()
            consumer.assign([T0])

            async def copy(seconds: float) -> None:
                async with producer.transaction(consumer):
                    for record in await consumer.poll(5):
                        await producer.enqueue("t", record.value, partition=1)
                    await asyncio.sleep(seconds)

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await copy(100)
            await copy(0)
            assert await consumer.lag() == {T0: 0}
            assert {tp: found.offset for tp, found in consumer.positions().items()} == {T0: 5}
        assert cluster.committed() == {0: 5}
        async with cluster.async_consumer(isolation_level="read_committed") as reader:
            reader.assign([TopicPartition("t", 1)])
            assert [record.value for record in await reader.poll(5)] == [b"%d" % number for number in range(5)]

    play(body)


def calls_after_close(consumer: AsyncConsumer) -> list[Callable[[], Coroutine[Any, Any, object]]]:
    return [consumer.poll, consumer.commit, lambda: consumer.position(T0), consumer.list_topics]


def test_calls_after_close_are_refused() -> None:
    async def body(cluster: AioCluster) -> None:
        consumer = cluster.async_consumer()
        await consumer.close()
        for call in calls_after_close(consumer):
            with pytest.raises(IllegalStateError):
                await call()
        assert [record async for record in consumer] == []

    play(body)
