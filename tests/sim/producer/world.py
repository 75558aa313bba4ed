"""A cluster and applications in virtual time, for scenarios: `run(world, app)` and nothing is left behind."""

from collections.abc import Callable, Mapping

from kctl.client.clock import Clock
from kctl.client.producer import Producer
from kctl.client.records import Record, decode_batches
from kctl.client.runtime import Runtime
from kctl.sandbox import ClusterSettings, Sandbox
from tests.sim.virtual import Hub, SimNetwork, sim_runtime


class World:
    """Three nodes 1 ms away, and what one application needs to use them."""

    def __init__(
        self, hub: Hub, *, topics: Mapping[str, int], settings: ClusterSettings | None = None, nodes: int = 3
    ) -> None:
        self.hub = hub
        self.network = SimNetwork(hub)
        self.sandbox = Sandbox(nodes=nodes, topics=topics, settings=settings)
        self.bootstrap = self.sandbox.attach(self.network)
        self.runtime: Runtime = sim_runtime(hub, "app", self.network)
        self.clock: Clock = self.runtime.clock

    def producer(self, properties: Mapping[str, object] | None = None) -> Producer:
        """Return a producer on this world; its properties override the defaults."""
        return Producer({"bootstrap.servers": self.bootstrap, **(properties or {})}, self.runtime)

    def at(self, ms: int, action: Callable[[], None]) -> None:
        """Do something to the cluster `ms` from now."""
        self.hub.call_later_ms(ms, "fault", action)

    def values(self, topic: str, partition: int) -> list[bytes | None]:
        """Return the values in a partition's log, in order."""
        return [record.value for record in self.records(topic, partition)]

    def records(self, topic: str, partition: int) -> list[Record]:
        """Return the records in a partition's log, in order."""
        log = self.sandbox.cluster.topics[topic].partitions[partition].log
        data = b"".join(stored.data for stored in log.batches)
        if not data:
            return []
        reader = decode_batches(data, topic=topic, partition=partition, fetch_offset=0, aborted=None)
        return reader.records(1_000_000)

    def leader(self, topic: str, partition: int) -> int:
        return self.sandbox.cluster.topics[topic].partitions[partition].leader_id


def run(
    app: Callable[[World], None],
    *,
    topics: Mapping[str, int] | None = None,
    seed: int = 1,
    nodes: int = 3,
    settings: ClusterSettings | None = None,
) -> World:
    """Run an application to its end and return the world as it left it; no loop may be left running."""
    with Hub(seed=seed) as hub:
        world = World(hub, topics={"t": 1} if topics is None else topics, nodes=nodes, settings=settings)
        hub.spawn("app", lambda: app(world))
        hub.run()
        assert hub.live_actors == ()  # a loop outlived its close
        hub.run(until_ms=hub.now_ms + 100)  # what is on the wire arrives
        assert world.network.open_connections == 0
        return world
