"""The clients of asyncio used wrongly: from other threads and event loops, and with functions for coroutines."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from kctl.client.aio import AsyncAdmin, AsyncConsumer, AsyncProducer, AsyncRebalanceListener
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import RebalanceListener
from kctl.client.errors import ApiTimeout, ConcurrentModificationError
from kctl.testing import KafkaSandbox
from tests.support.bounds import bound

T0 = TopicPartition("t", 0)
PATIENCE_S = bound(60)


@pytest.fixture
def kafka() -> Iterator[KafkaSandbox]:
    with KafkaSandbox(1, topics={"t": 1}) as kafka:
        kafka.produce("t", "first")
        yield kafka


def consumer_of(kafka: KafkaSandbox) -> AsyncConsumer:
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    return AsyncConsumer({**servers, "enable.auto.commit": False})


CALLS: list[Callable[[AsyncConsumer], object]] = [
    lambda consumer: consumer.pause([T0]),
    lambda consumer: consumer.seek(T0, 0),
    lambda consumer: consumer.assign([]),
    lambda consumer: consumer.assignment,
    lambda consumer: consumer.commit_async({T0: 1}),
]


@pytest.mark.parametrize("call", CALLS)
def test_call_of_another_thread_while_a_task_waits_is_rejected(
    kafka: KafkaSandbox, call: Callable[[AsyncConsumer], object]
) -> None:
    async def main() -> None:
        async with consumer_of(kafka) as consumer:
            consumer.assign([T0])
            consumer.seek_to_end()
            waiting = asyncio.create_task(consumer.poll(PATIENCE_S))
            while consumer._client._one_user.user is None:
                await asyncio.sleep(0)
            with pytest.raises(ConcurrentModificationError, match="another thread"):
                await asyncio.to_thread(call, consumer)
            consumer.seek_to_beginning()  # a task of the event loop may
            assert [record.value for record in await waiting] == [b"first"]

    asyncio.run(main())


def test_admin_call_of_a_second_event_loop_is_rejected_while_the_first_waits(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        async with AsyncAdmin({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
            with kafka.freeze():
                waiting = asyncio.create_task(admin.list_topics(timeout=PATIENCE_S))
                await asyncio.sleep(0)
                with pytest.raises(ConcurrentModificationError, match="another event loop"):
                    await asyncio.to_thread(asyncio.run, admin.list_topics())
            assert "t" in await waiting
        assert await asyncio.to_thread(asyncio.run, admin.close())

    asyncio.run(main())


def test_admin_call_that_waits_for_its_turn_ends_at_its_timeout(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        async with AsyncAdmin({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
            with kafka.freeze():
                first = asyncio.create_task(admin.list_topics(timeout=PATIENCE_S))
                await asyncio.sleep(0)
                waiting = [admin.list_topics(timeout=0.02), admin.list_groups(timeout=0.01)]
                ended = await asyncio.gather(*waiting, return_exceptions=True)
                assert [type(one) for one in ended] == [ApiTimeout, ApiTimeout]
                assert "list_groups(): waiting for other calls of this admin client" in str(ended[1])
                assert not first.done()
            assert "t" in await first

    asyncio.run(main())


class Mixed(AsyncRebalanceListener):
    """One method is a function, and the other is a coroutine function."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_partitions_assigned(self, _: Sequence[TopicPartition]) -> None:  # type: ignore[override]
        self.seen.append("assigned")

    async def on_partitions_revoked(self, _: Sequence[TopicPartition]) -> None:
        await asyncio.sleep(0)
        self.seen.append("revoked")


class Coroutines(RebalanceListener):
    """A listener for threads, written with a coroutine function."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_partitions_assigned(self, _: Sequence[TopicPartition]) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.seen.append("assigned")

    def on_partitions_revoked(self, _: Sequence[TopicPartition]) -> None:
        self.seen.append("revoked")


@pytest.mark.parametrize("listener", [Mixed(), Coroutines()])
def test_listener_of_functions_and_coroutine_functions_is_called(
    kafka: KafkaSandbox, listener: Mixed | Coroutines
) -> None:
    async def main() -> None:
        async with consumer_of(kafka) as consumer:
            consumer.subscribe(["t"], listener)
            assert len(await consumer.poll(PATIENCE_S)) == 1
            with pytest.raises(ValueError, match="topics must not be empty"):
                consumer.subscribe([])
            assert listener.seen == ["assigned"]
            await consumer.unsubscribe()
            assert listener.seen == ["assigned", "revoked"]

    asyncio.run(main())


def test_coroutine_that_is_called_back_after_a_commit_may_call_the_consumer(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        seen: list[tuple[list[TopicPartition], Exception | None, int]] = []
        async with consumer_of(kafka) as consumer:

            async def called_back(offsets: Mapping[TopicPartition, object], error: Exception | None) -> None:
                committed = (await consumer.committed([T0], PATIENCE_S))[T0]
                assert committed is not None
                seen.append((list(offsets), error, committed.offset))

            consumer.assign([T0])
            consumer.commit_async({T0: 1}, called_back)
            await consumer.commit({T0: 1}, PATIENCE_S)
            assert seen == [([T0], None, 1)]

    asyncio.run(main())


def test_dropped_producer_is_named_by_its_public_class(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        await AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers}).send("t", b"x")
        gc.collect()

    with pytest.warns(ResourceWarning, match="^unclosed Producer: "):
        asyncio.run(main())
