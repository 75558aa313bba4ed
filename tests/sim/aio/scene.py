"""A cluster in virtual time whose application runs on an event loop of asyncio."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from kctl.client.aio import AsyncConsumer, AsyncProducer
from tests.sim.kit.cluster import SimCluster, dotted
from tests.sim.virtual import Hub, sim_runtime
from tests.sim.virtual.event_loop import run_on_hub

T = TypeVar("T")
GROUP = "g"


class AioCluster(SimCluster):
    """Cluster with topic t of three partitions, and asyncio clients."""

    def async_consumer(self, **properties: object) -> AsyncConsumer:
        """Return a member of group g that starts at the earliest offset."""
        self._consumers += 1
        config = {
            "bootstrap.servers": self.bootstrap,
            "auto.offset.reset": "earliest",
            "group.id": GROUP,
            "heartbeat.interval.ms": 1000,
            "session.timeout.ms": 10_000,
            **dotted(properties),
        }
        return AsyncConsumer(
            config, sim_runtime(self.hub, f"c{self._consumers}", self.network), events=self.events.append
        )

    def async_producer(self, **properties: object) -> AsyncProducer:
        config = {"bootstrap.servers": self.bootstrap, **dotted(properties)}
        return AsyncProducer(config, sim_runtime(self.hub, "p", self.network))

    def committed(self) -> dict[int, int]:
        """Return the committed offset of each partition of topic t."""
        found = self.sandbox.committed(GROUP)
        return {partition: offset.offset for (_, partition), offset in found.items()}


def play(
    body: Callable[[AioCluster], Coroutine[Any, Any, T]], *, seed: int = 1, topics: Mapping[str, int] | None = None
) -> T:
    """Run a coroutine of the application to its end; no loop and no connection may be left."""
    with Hub(seed=seed) as hub:
        cluster = AioCluster(hub, topics=topics)
        return cluster.run(lambda: run_on_hub(cluster.runtime, body(cluster)))
