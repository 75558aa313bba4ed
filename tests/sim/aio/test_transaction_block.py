"""Block of AsyncProducer.transaction(): its end, and the event loop during it."""

import asyncio
from itertools import pairwise

import pytest

from kctl.client.aio import AsyncProducer
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AbortableTransactionError
from kctl.sandbox import Fault
from tests.sim.aio.scene import AioCluster, play

TICK_S = 0.1
FROZEN_MS = 2000


async def ticking(ticks: list[int], cluster: AioCluster) -> None:
    """Note the time ten times a second, if the event loop runs."""
    while True:
        ticks.append(cluster.hub.now_ms)
        await asyncio.sleep(TICK_S)


async def begun(cluster: AioCluster) -> AsyncProducer:
    producer = cluster.async_producer(transactional_id="x", max_block_ms=30_000)
    await producer.init_transactions()
    return producer


def longest_pause_ms(ticks: list[int]) -> int:
    return max(later - earlier for earlier, later in pairwise(ticks))


@pytest.mark.parametrize("error", [ValueError("mine"), asyncio.CancelledError()])
def test_abort_of_a_block_is_awaited_while_other_tasks_run(error: BaseException) -> None:
    failed_at_ms = 0

    async def failing(cluster: AioCluster, producer: AsyncProducer) -> None:
        nonlocal failed_at_ms
        async with producer.transaction():
            await producer.send("t", b"v", partition=0)
            cluster.break_all(Fault.FREEZE)
            cluster.at(cluster.hub.now_ms + FROZEN_MS, lambda: cluster.sandbox.heal())
            failed_at_ms = cluster.hub.now_ms
            raise error

    async def body(cluster: AioCluster) -> None:
        producer = await begun(cluster)
        ticks: list[int] = []
        ticker = asyncio.create_task(ticking(ticks, cluster))
        with pytest.raises(type(error)):
            await failing(cluster, producer)
        assert cluster.hub.now_ms - failed_at_ms >= FROZEN_MS, "the block ended before its abort"
        assert longest_pause_ms(ticks) <= 2 * TICK_S * 1000, "the abort blocked the event loop"
        ticker.cancel()
        async with producer.transaction():
            await producer.send("t", b"w", partition=0)
        await producer.close()

    play(body)


def test_commit_of_a_block_is_awaited_while_other_tasks_run() -> None:
    async def body(cluster: AioCluster) -> None:
        producer = await begun(cluster)
        ticks: list[int] = []
        ticker = asyncio.create_task(ticking(ticks, cluster))
        async with producer.transaction():
            await producer.send("t", b"v", partition=0)
            cluster.break_all(Fault.FREEZE)
            cluster.at(cluster.hub.now_ms + FROZEN_MS, lambda: cluster.sandbox.heal())
            ended_at_ms = cluster.hub.now_ms
        assert cluster.hub.now_ms - ended_at_ms >= FROZEN_MS
        assert longest_pause_ms(ticks) <= 2 * TICK_S * 1000
        ticker.cancel()
        await producer.close()

    play(body)


def test_record_that_is_lost_aborts_the_block() -> None:
    async def losing(cluster: AioCluster, producer: AsyncProducer) -> None:
        async with producer.transaction():
            await producer.partitions_for("t")
            cluster.break_all(Fault.FREEZE)
            cluster.at(cluster.hub.now_ms + FROZEN_MS, lambda: cluster.sandbox.heal())
            await producer.enqueue("t", b"v", partition=0)

    async def body(cluster: AioCluster) -> None:
        producer = cluster.async_producer(
            transactional_id="x", delivery_timeout_ms=1000, request_timeout_ms=500, linger_ms=0
        )
        await producer.init_transactions()
        with pytest.raises(AbortableTransactionError):
            await losing(cluster, producer)
        async with producer.transaction():
            await producer.send("t", b"w", partition=0)
        await producer.close()

    play(body)


@pytest.mark.parametrize("ends_by", ["cancellation", "timeout"])
def test_block_that_ends_while_it_sends_offsets_is_aborted_and_its_records_come_again(ends_by: str) -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 5)
        async with await begun(cluster) as producer, cluster.async_consumer(enable_auto_commit=False) as consumer:
            consumer.assign([TopicPartition("t", 0)])

            async def copy(timeout: float) -> None:
                records = await consumer.poll(5)
                async with producer.transaction(consumer, timeout):
                    for record in records:
                        await producer.enqueue("t", record.value, partition=1)

            cluster.sandbox.fail_requests("TxnOffsetCommit", ErrorCode.COORDINATOR_NOT_AVAILABLE, times=1000)
            if ends_by == "timeout":
                with pytest.raises(AbortableTransactionError):
                    await copy(1)
            else:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(1):
                        await copy(100)
            cluster.sandbox.heal()
            await copy(10)
        assert cluster.committed() == {0: 5}
        async with cluster.async_consumer(isolation_level="read_committed") as reader:
            reader.assign([TopicPartition("t", 1)])
            assert [record.value for record in await reader.poll(5)] == [b"%d" % number for number in range(5)]

    play(body)


def test_block_that_resets_its_consumer_after_records_commits_the_new_position() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 5)
        async with await begun(cluster) as producer, cluster.async_consumer(enable_auto_commit=False) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            async with producer.transaction(consumer):
                assert await consumer.poll(5)
                consumer.seek_to_end()
        assert cluster.committed() == {0: 5}

    play(body)
