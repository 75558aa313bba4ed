"""A sandbox of three nodes and consumers in virtual time: what the tests of this folder share."""

from collections.abc import Callable
from typing import TypeVar

from kctl.client.consumer.consumer import Consumer
from kctl.client.records import RecordBatchBuilder
from kctl.sandbox import Sandbox
from kctl.sandbox.sim import Hub, SimNetwork, sim_runtime

T = TypeVar("T")


class Scene:
    """Topic t with partitions led by nodes 1, 2, 3, 1, ...; a consumer is made by `consumer`."""

    def __init__(self, hub: Hub, *, nodes: int = 3, partitions: int = 3) -> None:
        self.hub = hub
        self.network = SimNetwork(hub)
        self.sandbox = Sandbox(nodes=nodes, topics={"t": partitions})
        self.bootstrap = self.sandbox.attach(self.network)
        self._made = 0

    def consumer(self, **properties: object) -> Consumer:
        """A consumer from the earliest offset on; `fetch_max_wait_ms=50` stands for fetch.max.wait.ms."""
        self._made += 1
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest", **given}
        return Consumer(config, sim_runtime(self.hub, f"c{self._made}", self.network))

    def write(self, partition: int, count: int, *, first: int = 0, topic: str = "t") -> None:
        """Append a batch of `count` records with the values b"first", b"first+1", ..."""
        builder = RecordBatchBuilder()
        for i in range(first, first + count):
            assert builder.try_append(None, b"%d" % i, [], self.hub.now_ms) is not None
        found = self.sandbox.cluster.topics[topic].partitions[partition]
        found.log.append(builder.build(), found.leader_epoch, self.hub.now_ms)

    def leader(self, partition: int, topic: str = "t") -> int:
        return self.sandbox.cluster.topics[topic].partitions[partition].leader_id

    def run(self, body: Callable[[], T]) -> T:
        """Run `body` as the application and return its result."""
        results: list[T] = []
        self.hub.spawn("app", lambda: results.append(body()))
        self.hub.run()
        assert self.hub.live_actors == (), "a thread is left"
        return results[0]

    def elapsed_ms(self, call: Callable[[], object]) -> int:
        """Return how long a call takes."""
        before_ms = self.hub.now_ms
        call()
        return self.hub.now_ms - before_ms
