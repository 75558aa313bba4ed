"""Hooks around send and poll in coroutines: each record once, with the context variables of its task."""

import asyncio
from contextvars import ContextVar

import pytest

from kctl.client import ConsumerRecord, TopicPartition
from kctl.client.aio import AsyncConsumer, AsyncProducer
from kctl.client.producer import OnSent, ProducerRecord, RecordMetadata
from tests.sim.aio.scene import AioCluster, play
from tests.sim.virtual import sim_runtime

TASK = ContextVar("TASK", default="")


def test_hook_of_send_runs_once_for_records_that_wait_for_metadata() -> None:
    seen: list[tuple[bytes | None, str]] = []
    ends: list[tuple[int, bool]] = []

    def on_send(record: ProducerRecord) -> tuple[ProducerRecord, OnSent]:
        seen.append((record.value, TASK.get()))

        def on_sent(metadata: RecordMetadata | None, error: BaseException | None) -> None:
            assert metadata is not None
            ends.append((metadata.partition, error is None))

        return record._replace(partition=2), on_sent

    async def body(cluster: AioCluster) -> None:
        async def send(name: bytes) -> int:
            TASK.set(name.decode())
            return (await producer.send("t", name)).partition

        runtime = sim_runtime(cluster.hub, "p", cluster.network)
        async with AsyncProducer({"bootstrap.servers": cluster.bootstrap}, runtime, on_send=on_send) as producer:
            assert list(await asyncio.gather(send(b"a"), send(b"b"))) == [2, 2]
            await (await producer.enqueue("t", b"c"))
        assert sorted(seen) == [(b"a", "a"), (b"b", "b"), (b"c", "")]
        assert ends == [(2, True)] * 3

    play(body)


def test_hook_of_poll_gets_each_record_that_is_handed_out() -> None:
    async def body(cluster: AioCluster) -> None:
        shown: list[int] = []
        failures = [LookupError("once")]

        def on_poll(records: object) -> None:
            assert isinstance(records, list | tuple)
            if failures:
                raise failures.pop()
            shown.extend(each.offset for each in records)

        cluster.write(0, 4)
        config = {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"}
        runtime = sim_runtime(cluster.hub, "c", cluster.network)
        async with AsyncConsumer(config, runtime, on_poll=on_poll) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            with pytest.raises(LookupError):
                await consumer.poll(5)
            async for record in consumer:
                assert shown[-1] == record.offset
                if record.offset == 1:
                    break
            records: list[ConsumerRecord] = await consumer.poll(5)
            assert [each.offset for each in records] == [2, 3]
        assert shown == [0, 1, 2, 3]

    play(body)
