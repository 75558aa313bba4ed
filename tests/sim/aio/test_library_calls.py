"""Stored offsets and partitioners of the application in coroutines."""

import asyncio

from kctl.client import ConsumerRecord, OffsetTracker, TopicPartition
from kctl.client.aio import AsyncProducer
from tests.sim.aio.scene import AioCluster, play
from tests.sim.virtual import sim_runtime

T0 = TopicPartition("t", 0)


def test_tasks_finish_records_out_of_order_and_stored_offsets_are_committed() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 6)
        tracker = OffsetTracker()
        async with cluster.async_consumer(enable_auto_offset_store=False) as consumer:
            consumer.subscribe(["t"], tracker)
            records: list[ConsumerRecord] = []
            while len(records) < 6:
                records += await consumer.poll(5)
            for record in records:
                tracker.add(record)

            async def work(at: int) -> None:
                await asyncio.sleep(1 - at / 10)
                tracker.done(records[at])

            await asyncio.gather(*(work(at) for at in (0, 1, 2, 4, 5)))
            consumer.store_offsets(tracker.offsets())
        assert cluster.committed() == {0: 3}

    play(body)


def test_partitioner_waits_for_partitions_without_blocking_the_event_loop() -> None:
    async def body(cluster: AioCluster) -> None:
        runtime = sim_runtime(cluster.hub, "p", cluster.network)
        async with AsyncProducer(
            {"bootstrap.servers": cluster.bootstrap}, runtime, partitioner=lambda _record, known: len(known) - 1
        ) as producer:
            sent, other = await asyncio.gather(producer.send("t", b"v"), producer.enqueue("t", b"w"))
            assert (sent.partition, (await other).partition) == (2, 2)

    play(body)
