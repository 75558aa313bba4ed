"""Coroutines that are cancelled at any instant lose no record, repeat none, and commit none that was not handed out."""

import asyncio
from random import Random

import pytest

from kctl.client.aio import AsyncProducer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError, UndeliveredError
from kctl.client.records import Record
from tests.sim.aio.scene import AioCluster, play

CANCELLATIONS = 500
PARTITIONS = 3
PATIENCE_S = 600
SEEDS = range(1, 21)
"""10,000 cancellations of readers, and more of writers."""


class Reader:
    """Consumer whose calls are canceled, and the records it returned."""

    def __init__(self, cluster: AioCluster, chance: Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.offsets: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)
        """The next offset that each partition must hand out."""
        self.values: list[bytes | None] = []
        self.cancelled = 0

    def take(self, record: Record) -> None:
        assert record.offset == self.offsets[record.partition], "lost or repeated"
        self.offsets[record.partition] += 1
        self.values.append(record.value)

    def check_commits(self) -> None:
        for partition, offset in self.cluster.committed().items():
            assert offset <= self.offsets[partition], "committed and not handed out"

    async def step(self) -> None:
        """One call, or a loop that ends early."""
        call = self.chance.randrange(6)
        if call < 2:
            for record in await self.consumer.poll(self.chance.choice((0, 0.01, 1))):
                self.take(record)
        elif call < 4:
            left = self.chance.randrange(1, 30)
            async for record in self.consumer:
                self.take(record)
                left -= 1
                if left == 0:
                    break
                if left % 7 == 0:
                    await asyncio.sleep(0.0005)
        elif call == 4:
            await self.consumer.commit()
        else:
            await self.consumer.committed([TopicPartition("t", 0)])

    async def cancelled_step(self) -> None:
        task = asyncio.create_task(self.step())
        await asyncio.sleep(self.chance.choice((0, 0.001, 0.002, 0.003, 0.005, 0.02, 0.1)))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            self.cancelled += 1
        self.check_commits()

    async def run(self, is_written: asyncio.Event) -> None:
        """Read all records, with a new consumer from time to time; each commits on close."""
        while not (is_written.is_set() and sum(self.offsets.values()) == self.written()):
            settings = {"max_poll_records": 10, "auto_commit_interval_ms": 50}
            async with self.cluster.async_consumer(**settings) as self.consumer:
                self.consumer.subscribe(["t"])
                for _ in range(self.chance.randrange(20, 80)):
                    await self.cancelled_step()
            assert self.cluster.committed() == {key: end for key, end in self.offsets.items() if end}

    def written(self) -> int:
        return sum(self.cluster.log(partition).end_offset for partition in range(PARTITIONS))


async def write(cluster: AioCluster, chance: Random, reader: Reader, is_written: asyncio.Event) -> list[bytes]:
    """Send until the reader was cancelled often; return the values that were acknowledged to a task."""
    acknowledged: list[bytes] = []
    number = 0

    async def send(value: bytes) -> None:
        await producer.send("t", value, partition=chance.randrange(PARTITIONS))
        acknowledged.append(value)

    async with cluster.async_producer(linger_ms=chance.choice((0, 5))) as producer:
        while reader.cancelled < CANCELLATIONS:
            tasks = [asyncio.create_task(send(b"%d" % value)) for value in range(number, number + 5)]
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
def test_calls_that_are_cancelled_at_random_lose_and_repeat_nothing(seed: int) -> None:
    chance = Random(seed)

    async def body(cluster: AioCluster) -> None:
        reader, is_written = Reader(cluster, chance), asyncio.Event()
        async with asyncio.timeout(PATIENCE_S):
            acknowledged, _ = await asyncio.gather(write(cluster, chance, reader, is_written), reader.run(is_written))
        stored = [value for partition in range(PARTITIONS) for value in cluster.values(partition)]
        assert sorted(reader.values, key=str) == sorted(stored, key=str)
        assert len(set(stored)) == len(stored), "a record was written twice"
        assert set(acknowledged) <= set(stored)
        assert reader.cancelled >= CANCELLATIONS

    play(body, seed=seed)


def test_record_that_is_accepted_is_delivered_whoever_waits_for_it() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_producer(linger_ms=50) as producer:
            await producer.partitions_for("t")
            tasks = [asyncio.create_task(producer.send("t", b"%d" % number, partition=0)) for number in range(10)]
            await asyncio.sleep(0.01)
            for task in tasks[::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 5
        assert cluster.values(0) == [b"%d" % number for number in range(10)]

    play(body)


async def send_in_vain(producer: AsyncProducer) -> None:
    """Cancel a send whose record fails later."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await producer.send("t", b"x", partition=0)


def test_flush_after_cancelled_send_raises_the_failure_of_its_record() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_producer(linger_ms=1000) as producer:
            cluster.sandbox.fail_requests("Produce", 29, times=1)  # type: ignore[arg-type]  # TOPIC_AUTHORIZATION_FAILED
            await send_in_vain(producer)
            with pytest.raises(UndeliveredError, match=r"1 record .*TOPIC_AUTHORIZATION_FAILED"):
                await producer.flush()
            await producer.flush()

    play(body)


def test_block_with_cancelled_send_raises_the_failure_of_its_record() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.sandbox.fail_requests("Produce", 29, times=1)  # type: ignore[arg-type]  # TOPIC_AUTHORIZATION_FAILED
        with pytest.raises(UndeliveredError, match="1 record"):
            async with cluster.async_producer(linger_ms=1000) as producer:
                await send_in_vain(producer)

    play(body)


def test_record_whose_acceptance_is_cancelled_is_not_sent() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_producer() as producer:
            task = asyncio.create_task(producer.enqueue("t", b"cancelled", partition=0))  # the metadata is missing
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await producer.send("t", b"sent", partition=0)
        assert cluster.values(0) == [b"sent"]

    play(body)


def test_block_that_is_cancelled_commits_nothing_that_it_was_given_last() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 20)

        async def read() -> None:
            async with cluster.async_consumer(max_poll_records=10) as consumer:
                consumer.subscribe(["t"])
                await consumer.poll(5)
                await consumer.commit()
                assert len(await consumer.poll(5)) == 10
                await asyncio.sleep(100)

        task = asyncio.create_task(read())
        await asyncio.sleep(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cluster.committed()[0] == 10

    play(body)


def test_cancelled_close_ends_in_the_background_and_a_further_close_waits_for_it() -> None:
    async def body(cluster: AioCluster) -> None:
        consumer = cluster.async_consumer()
        consumer.subscribe(["t"])
        await consumer.poll(1)
        task = asyncio.create_task(consumer.close())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await consumer.close()).left_group
        producer = cluster.async_producer(linger_ms=1000)
        await producer.partitions_for("t")
        await producer.enqueue("t", b"x", partition=0)
        task = asyncio.create_task(producer.close())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await producer.close()).delivered == 1

    play(body)


def test_error_of_a_record_is_raised_by_the_task_that_awaits_it() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.sandbox.fail_requests("Produce", 29, times=1)  # type: ignore[arg-type]  # TOPIC_AUTHORIZATION_FAILED
        async with cluster.async_producer() as producer:
            with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
                await producer.send("t", b"x", partition=0)

    play(body)
