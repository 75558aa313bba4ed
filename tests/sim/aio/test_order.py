"""Order of records that several tasks send in virtual time."""

import asyncio

import pytest

from kctl.client.aio.producer import _Turn
from kctl.client.errors import MaxBlockTimeout, UnknownTopicOrPartitionError
from kctl.sandbox import Fault
from tests.sim.aio.scene import AioCluster, play


@pytest.mark.parametrize("seed", range(6))
def test_records_that_wait_for_metadata_keep_the_order_of_the_calls(seed: int) -> None:
    async def body(cluster: AioCluster) -> list[bytes | None]:
        async with cluster.async_producer() as producer:
            tasks = []
            for number in range(60):
                tasks.append(asyncio.create_task(producer.send("t", b"%d" % number, partition=0)))
                await asyncio.sleep(0.001 if number % 3 else 0)
            await asyncio.gather(*tasks)
        return cluster.values(0)

    assert play(body, seed=seed) == [b"%d" % number for number in range(60)]


def test_each_call_that_waits_for_its_turn_ends_at_its_own_timeout() -> None:
    async def body(cluster: AioCluster) -> list[int]:
        cluster.sandbox.start_fault(1, Fault.FREEZE)
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        cluster.sandbox.start_fault(3, Fault.FREEZE)
        producer = cluster.async_producer(max_block_ms=300)
        start_ms, ended_at_ms = cluster.hub.now_ms, []

        async def send() -> None:
            with pytest.raises(MaxBlockTimeout):
                await producer.send("t", b"x")
            ended_at_ms.append(cluster.hub.now_ms - start_ms)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(send())
                await asyncio.sleep(0.1)
        await producer.close(0)
        return ended_at_ms

    assert play(body) == [300, 400, 500]


def test_a_cancelled_call_leaves_its_turn_to_the_next() -> None:
    async def body(cluster: AioCluster) -> list[bytes | None]:
        async with cluster.async_producer() as producer:
            tasks = [asyncio.create_task(producer.send("t", b"%d" % number, partition=0)) for number in range(4)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            tasks[2].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return cluster.values(0)

    assert play(body) == [b"1", b"3"]


def test_columns_keep_the_order_of_the_calls() -> None:
    async def body(cluster: AioCluster) -> list[bytes | None]:
        async with cluster.async_producer() as producer:
            await asyncio.gather(
                *(producer.send("t", b"%d" % number, partition=0) for number in range(3)),
                producer.send_columns("t", [b"3", b"4"], partition=0),
                producer.send("t", b"5", partition=0),
            )
        return cluster.values(0)

    assert play(body) == [b"%d" % number for number in range(6)]


def test_a_call_whose_turn_does_not_come_sends_nothing() -> None:
    async def body(cluster: AioCluster) -> list[bytes | None]:
        async with cluster.async_producer(max_block_ms=300) as producer:
            await producer.send("t", b"0", partition=0)
            turn = producer._turns.setdefault("t", _Turn())
            turn.calls += 1
            await turn.lock.acquire()
            with pytest.raises(MaxBlockTimeout, match="waiting for earlier calls of send"):
                await producer.send("t", b"1", partition=0)
            turn.lock.release()
        return cluster.values(0)

    assert play(body) == [b"0"]


def test_a_call_that_waits_delays_no_other_topic() -> None:
    async def body(cluster: AioCluster) -> bool:
        async with cluster.async_producer(max_block_ms=300) as producer:
            await producer.send("t", b"0", partition=0)
            missing = asyncio.create_task(producer.enqueue("u", b"x", partition=99))
            await asyncio.sleep(0)
            sending = producer.enqueue("t", b"1", partition=0)
            with pytest.raises(StopIteration):  # it does not wait
                sending.send(None)
            with pytest.raises(UnknownTopicOrPartitionError):
                await missing
        return True

    assert play(body)
