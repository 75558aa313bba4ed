"""Coroutines of a rebalance listener whose poll is cancelled: they run once and to their end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import pytest

from kctl.client import TopicPartition
from kctl.client.aio import AsyncConsumer, AsyncRebalanceListener
from kctl.client.broker_errors import ErrorCode
from kctl.client.consumer import ConsumerRecord
from kctl.client.errors import ApiTimeout, IllegalStateError
from kctl.sandbox import Fault
from tests.sim.aio.scene import AioCluster, play

SLOW_S = 0.8
"""Time of a call of the listener; longer than the patience of a poll."""
PATIENCE_S = 0.5


class Slow(AsyncRebalanceListener):
    """Takes longer than a poll may; then seeks and uses the consumer."""

    def __init__(self, consumer: AsyncConsumer, seconds: float = SLOW_S) -> None:
        self.consumer = consumer
        self.seconds = seconds
        self.calls: list[str] = []

    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("assigned")
        assert len(await self.consumer.committed(topic_partitions)) == len(topic_partitions)
        for tp in topic_partitions:
            self.consumer.seek(tp, 3)

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("revoked")
        await self.consumer.commit()

    async def _wait(self, name: str) -> None:
        self.calls.append(name)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.calls.append(f"{name} cancelled")
            raise
        self.calls.append(f"{name} ends")


class Raising(Slow):
    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("assigned")
        raise LookupError("database")


class Silent(Slow):
    """Calls the consumer in no method."""

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("revoked")


class Polling(Slow):
    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("assigned")
        await self.consumer.poll(1)


async def impatient_poll(consumer: AsyncConsumer) -> list[ConsumerRecord]:
    """Return the records of a poll; none if it was cancelled."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await consumer.poll(10)
    except TimeoutError:
        return []


async def until(listener: Slow, call: str) -> None:
    """Poll impatiently until the listener is called."""
    for _ in range(20):
        await impatient_poll(listener.consumer)
        if call in listener.calls:
            return
    raise AssertionError(listener.calls)


def test_listener_of_cancelled_polls_runs_once_and_its_seek_holds() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 10)
        async with cluster.async_consumer(auto_offset_reset="latest", enable_auto_commit=False) as consumer:
            listener = Slow(consumer)
            consumer.subscribe(["t"], listener)
            records = [record for _ in range(20) for record in await impatient_poll(consumer)]
            assert listener.calls == ["assigned", "assigned ends"]
            assert [record.offset for record in records] == [3, 4, 5, 6, 7, 8, 9]

    play(body)


def test_revoked_partitions_stay_until_the_listener_of_a_cancelled_poll_ends() -> None:
    async def body(cluster: AioCluster) -> None:
        cluster.write(0, 10)
        async with (
            cluster.async_consumer(enable_auto_commit=False) as first,
            cluster.async_consumer(enable_auto_commit=False) as second,
        ):
            listener = Slow(first, 0)
            first.subscribe(["t"], listener)
            await until(listener, "assigned ends")
            listener.seconds = 5
            second.subscribe(["t"])
            joining = asyncio.create_task(second.poll(30))
            await until(listener, "revoked")
            for _ in range(3):
                await impatient_poll(first)
            assert listener.calls.count("revoked") == 1
            assert "revoked ends" not in listener.calls
            assert second.assignment == []
            await until(listener, "revoked ends")
            for _ in range(10):
                await impatient_poll(first)
            assert second.assignment
            joining.cancel()
            await asyncio.wait({joining})

    play(body)


def test_exception_of_a_listener_of_a_cancelled_poll_is_raised_by_the_next_poll() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            listener = Raising(consumer)
            consumer.subscribe(["t"], listener)
            await until(listener, "assigned")
            with pytest.raises(LookupError, match="database"):
                await consumer.poll(10)
            assert len(consumer.assignment) == 3
            await consumer.poll(0.1)
            assert listener.calls == ["assigned", "assigned ends"]

    play(body)


def test_calls_after_a_cancelled_poll_wait_for_the_listener() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            listener = Slow(consumer)
            consumer.subscribe(["t"], listener)
            await until(listener, "assigned")
            assert len(consumer.assignment) == 3
            await consumer.commit()
            assert listener.calls == ["assigned", "assigned ends"]

    play(body)


def test_calls_after_a_cancelled_poll_end_at_their_timeouts_while_the_listener_runs() -> None:
    async def body(cluster: AioCluster) -> None:
        reason = "waiting for the rebalance listener of a canceled poll"
        consumer = cluster.async_consumer(default_api_timeout_ms=4000)
        listener = Silent(consumer, 1000)
        consumer.subscribe(["t"], listener)
        await until(listener, "assigned")
        assert str(consumer.waiting_for_group()) == reason
        before_ms = cluster.hub.now_ms
        assert await consumer.poll(2) == []
        assert cluster.hub.now_ms - before_ms == 2000
        with pytest.raises(ApiTimeout, match=f"3s .*{reason}"):
            await consumer.committed(consumer.assignment, 3)
        assert cluster.hub.now_ms - before_ms == 5000
        with pytest.raises(ApiTimeout, match=reason):
            await consumer.unsubscribe()
        assert cluster.hub.now_ms - before_ms == 9000
        listener.seconds = 0
        await consumer.close(1)
        await asyncio.sleep(1)  # the network thread ends

    play(body)


def test_call_after_a_cancelled_poll_has_the_rest_of_its_timeout_when_the_listener_ends() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            listener = Silent(consumer)
            consumer.subscribe(["t"], listener)
            await until(listener, "assigned")
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            before_ms = cluster.hub.now_ms
            with pytest.raises(ApiTimeout):
                await consumer.committed(consumer.assignment, 2)
            assert listener.calls == ["assigned", "assigned ends"]
            assert cluster.hub.now_ms - before_ms == 2000
            cluster.sandbox.heal()

    play(body)


def test_poll_in_the_listener_of_a_cancelled_poll_is_refused() -> None:
    async def body(cluster: AioCluster) -> None:
        async with cluster.async_consumer() as consumer:
            listener = Polling(consumer)
            consumer.subscribe(["t"], listener)
            await until(listener, "assigned")
            with pytest.raises(IllegalStateError, match="within"):
                await consumer.poll(10)

    play(body)


@pytest.mark.parametrize(("seconds", "end"), [(SLOW_S, "ends"), (1000, "cancelled")])
def test_close_after_a_cancelled_poll_cancels_the_listener_at_its_deadline(seconds: float, end: str) -> None:
    async def body(cluster: AioCluster) -> None:
        consumer = cluster.async_consumer()
        listener = Silent(consumer, seconds)
        consumer.subscribe(["t"], listener)
        await until(listener, "assigned")
        listener.seconds = 0
        before_ms = cluster.hub.now_ms
        await consumer.close(timeout=5)
        assert cluster.hub.now_ms - before_ms <= 5000
        await asyncio.sleep(1)  # the network thread ends
        assert listener.calls == ["assigned", f"assigned {end}", "revoked", "revoked ends"]

    play(body)


def test_cancelled_close_after_a_cancelled_poll_closes() -> None:
    async def body(cluster: AioCluster) -> None:
        consumer = cluster.async_consumer()
        listener = Silent(consumer, 1000)
        consumer.subscribe(["t"], listener)
        await until(listener, "assigned")
        listener.seconds = 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await consumer.close()
        assert (await consumer.close()).left_group
        assert listener.calls == ["assigned", "assigned cancelled", "revoked", "revoked ends"]

    play(body)


class Numbering(Slow):
    """Notes the partitions of each call. In a revocation, it may call the consumer and raise an exception."""

    def __init__(self, consumer: AsyncConsumer) -> None:
        super().__init__(consumer, 0)
        self.removed: list[tuple[str, list[int]]] = []
        self.then: Callable[[], Awaitable[object]] = partial(asyncio.sleep, 0)

    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await self._wait("assigned")

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.removed.append(("revoked", [tp.partition for tp in topic_partitions]))
        await self._wait("revoked")
        then, self.then = self.then, partial(asyncio.sleep, 0)
        await then()

    async def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.removed.append(("lost", [tp.partition for tp in topic_partitions]))


END: dict[str, Callable[[AsyncConsumer], Awaitable[object]]] = {
    "close": AsyncConsumer.close,
    "unsubscribe": AsyncConsumer.unsubscribe,
}
REMOVED = {
    "cooperative-sticky": [("revoked", [2]), ("revoked", [0, 1])],
    "range": [("revoked", [0, 1, 2])],
}


@asynccontextmanager
async def revocation(cluster: AioCluster, strategy: str) -> AsyncIterator[Numbering]:
    """Yield the listener of a member whose poll was cancelled in a revocation."""
    properties = {"enable_auto_commit": False, "partition_assignment_strategy": strategy}
    first, second = cluster.async_consumer(**properties), cluster.async_consumer(**properties)
    listener = Numbering(first)
    first.subscribe(["t"], listener)
    await until(listener, "assigned ends")
    listener.seconds = 3
    second.subscribe(["t"])
    joining = asyncio.create_task(second.poll(30))
    await until(listener, "revoked")
    listener.seconds = 0
    yield listener
    await first.close()
    joining.cancel()
    await asyncio.wait({joining})
    await second.close()


@pytest.mark.parametrize("has_ended", [False, True])
@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("strategy", REMOVED)
def test_end_after_a_revocation_of_a_cancelled_poll_calls_for_the_other_partitions(
    strategy: str, end: str, has_ended: bool
) -> None:
    async def body(cluster: AioCluster) -> None:
        async with revocation(cluster, strategy) as listener:
            if has_ended:
                await asyncio.sleep(5)
            await END[end](listener.consumer)
            assert listener.removed == REMOVED[strategy]

    play(body)


@pytest.mark.parametrize("end", END)
def test_end_after_a_revocation_of_a_cancelled_poll_raises_its_exception(end: str) -> None:
    async def failing() -> None:
        raise LookupError("database")

    async def body(cluster: AioCluster) -> None:
        async with revocation(cluster, "cooperative-sticky") as listener:
            listener.then = failing
            with pytest.raises(LookupError, match="database"):
                await END[end](listener.consumer)
            assert listener.removed == REMOVED["cooperative-sticky"]

    play(body)


def test_close_that_cancels_a_revocation_calls_for_its_partitions_again() -> None:
    async def body(cluster: AioCluster) -> None:
        async with revocation(cluster, "cooperative-sticky") as listener:
            await listener.consumer.close(timeout=1)
            assert listener.removed == [("revoked", [2]), *REMOVED["cooperative-sticky"]]

    play(body)


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("strategy", REMOVED)
def test_revocation_of_a_cancelled_poll_that_ends_the_consumer_is_called_once_for_each_partition(
    strategy: str, end: str
) -> None:
    async def body(cluster: AioCluster) -> None:
        async with revocation(cluster, strategy) as listener:
            listener.then = partial(END[end], listener.consumer)
            await asyncio.sleep(5)
            assert listener.removed == REMOVED[strategy]

    play(body)


def test_loss_after_a_revocation_of_a_cancelled_poll_is_told_of_the_other_partitions() -> None:
    async def body(cluster: AioCluster) -> None:
        async with revocation(cluster, "cooperative-sticky") as listener:
            cluster.sandbox.fail_requests("Heartbeat", ErrorCode.UNKNOWN_MEMBER_ID, times=10)
            await asyncio.sleep(5)
            await until(listener, "revoked ends")
            assert listener.removed == [("revoked", [2]), ("lost", [0, 1])]

    play(body)
