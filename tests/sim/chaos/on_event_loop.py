"""Applications of a run on an event loop: their code runs in a bridge, and its calls await a client for asyncio.

In a plan with `is_aio`, each application has an event loop, and a task for each of its threads. Some calls are
cancelled.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from random import Random
from typing import Any, TypeVar, cast

from kctl.client.aio import AsyncConsumer, AsyncProducer, AsyncRebalanceListener
from kctl.client.aio.bridge import await_in_bridge, run
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer, ConsumerRecord, RebalanceListener
from kctl.client.errors import KafkaError
from kctl.client.events import EventSink
from kctl.client.producer import Producer, SendFuture
from kctl.client.runtime import Runtime
from tests.sim.chaos.chaos_cluster import ChaosCluster, Phase
from tests.sim.virtual import sim_runtime
from tests.sim.virtual.event_loop import run_on_hub

T = TypeVar("T")
CANCELLED = 0.1
"""Share of calls that are cancelled in the chaos, unless they end sooner."""
CANCELLED_AFTER_MS = (0, 0, 1, 2, 3, 5, 20, 100, 1000)
SLOW_MS = (0, 0, 0, 1, 5, 40)
"""Times of calls of the listener in the chaos."""


class Interrupt(KafkaError):
    """The call was ended by a KeyboardInterrupt or a cancellation."""


def application(world: ChaosCluster, name: str, body: Callable[[], None]) -> Callable[[], None]:
    """Return the body of an application, which runs on an event loop if the plan says so."""
    if not world.plan.is_aio:
        return body
    return lambda: run_on_hub(sim_runtime(world.hub, name, world.network, world.resolver), run(body))


def start_thread(world: ChaosCluster, name: str, body: Callable[[], object]) -> object:
    """Run a function in a thread of an application, or in a task of its event loop. Keep the result until its end."""
    if not world.plan.is_aio:
        return world.hub.spawn(name, body)
    return asyncio.get_running_loop().create_task(run(body))


def cancelled(call: Callable[[], T], after_ms: int) -> T:
    """Make a call in a bridge that is cancelled after a time, if it still waits.

    Raises: Interrupt.
    """

    async def limited() -> T:
        try:
            async with asyncio.timeout(after_ms / 1000):
                return await run(call)
        except TimeoutError:
            raise Interrupt(f"cancelled after {after_ms} ms") from None

    return await_in_bridge(limited())


def call_or_cancel(world: ChaosCluster, chance: Random, call: Callable[[], T]) -> T:
    """Make a call, which a draw may cancel in the chaos."""
    if not world.plan.is_aio or world.phase is not Phase.CHAOS or chance.random() >= CANCELLED:
        return call()
    return cancelled(call, chance.choice(CANCELLED_AFTER_MS))


class _OnEventLoop:
    """A client for asyncio with the methods of the synchronous client. Private names lead to the synchronous client."""

    def __init__(self, client: AsyncConsumer | AsyncProducer) -> None:
        self.aio: Any = client

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            return getattr(self.aio._client, name)
        found = getattr(self.aio, name)
        return partial(_awaited, found) if iscoroutinefunction(found) else found


def _awaited(method: Callable[..., Coroutine[Any, Any, T]], *args: Any, **kwargs: Any) -> T:
    return await_in_bridge(method(*args, **kwargs))


class _LoopConsumer(_OnEventLoop):
    def commit_sync(self, *args: Any) -> None:
        _awaited(self.aio.commit, *args)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        records = aiter(self.aio)

        async def following() -> ConsumerRecord | None:
            return await anext(records, None)

        while (record := _awaited(following)) is not None:
            yield record

    def __exit__(self, *args: Any) -> None:
        _awaited(self.aio.__aexit__, *args)


class _LoopProducer(_OnEventLoop):
    def send(self, *args: Any) -> SendFuture:
        *content, callback = args
        assert callback is None  # is not called on the event loop
        future: SendFuture = _awaited(self.aio.enqueue, *content)
        return future


def consumer_for(
    world: ChaosCluster, properties: Mapping[str, object], runtime: Runtime, *, events: EventSink
) -> Consumer:
    """Return a consumer, or an AsyncConsumer with its methods if the plan says so."""
    if not world.plan.is_aio:
        return Consumer(properties, runtime, events=events)
    return cast(Consumer, _LoopConsumer(AsyncConsumer(properties, runtime, events=events)))


def producer_for(
    world: ChaosCluster, properties: Mapping[str, object], runtime: Runtime, *, events: EventSink
) -> Producer:
    """Return a producer, or an AsyncProducer with its methods if the plan says so."""
    if not world.plan.is_aio:
        return Producer(properties, runtime, events=events)
    return cast(Producer, _LoopProducer(AsyncProducer(properties, runtime, events=events)))


class ListenerDelays:
    """Times of a listener's calls, which may delay the end of a call beyond its deadline.

    Attributes: until_ms: end of the last call that takes time.
    """

    def __init__(self, world: ChaosCluster, chance: Random) -> None:
        self._world = world
        self._chance = chance
        self.until_ms = 0

    def added_to(self, listener: RebalanceListener) -> Any:
        """Return a listener that takes time on an event loop, and otherwise none."""
        return SlowListener(listener, self._next_ms) if self._world.plan.is_aio else listener

    def _next_ms(self) -> int:
        ms = self._chance.choice(SLOW_MS) if self._world.phase is Phase.CHAOS else 0
        if ms:
            self.until_ms = self._world.hub.now_ms + ms
        return ms


class SlowListener(AsyncRebalanceListener):
    """Takes time before partitions are revoked and after they are assigned.

    Args: slow_ms: returns the time of the next call.
    """

    def __init__(self, listener: RebalanceListener, slow_ms: Callable[[], int]) -> None:
        self._listener = listener
        self._slow_ms = slow_ms

    async def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        await asyncio.sleep(self._slow_ms() / 1000)
        self._listener.on_partitions_revoked(topic_partitions)

    async def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._listener.on_partitions_assigned(topic_partitions)
        await asyncio.sleep(self._slow_ms() / 1000)

    async def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._listener.on_partitions_lost(topic_partitions)
        await asyncio.sleep(self._slow_ms() / 1000)
