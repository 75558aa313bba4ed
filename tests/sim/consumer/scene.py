"""A sandbox of three nodes and consumers in virtual time: what the tests of this folder share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.consumer.fetch.manager import PREFETCH_BYTES
from kctl.client.events import Event, PositionReset, RequestSent
from kctl.client.records import RecordBatchBuilder
from kctl.sandbox import Sandbox
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.settings import ClusterSettings
from tests.sim.virtual import Hub, SimNetwork, sim_runtime

T = TypeVar("T")


class Scene:
    """Topic t with partitions led by nodes 1, 2, 3, 1, ...; a consumer is made by `consumer`."""

    def __init__(
        self,
        hub: Hub,
        *,
        nodes: int = 3,
        partitions: int = 3,
        settings: ClusterSettings | None = None,
        racks: Sequence[str] | None = None,
    ) -> None:
        self.hub = hub
        self.network = SimNetwork(hub)
        self.sandbox = Sandbox(nodes=nodes, topics={"t": partitions}, settings=settings, racks=racks)
        self.bootstrap = self.sandbox.attach(self.network)
        self.events: list[Event] = []
        """What all consumers told."""
        self._made = 0

    def consumer(self, **properties: object) -> Consumer:
        """A consumer from the earliest offset on; `fetch_max_wait_ms=50` stands for fetch.max.wait.ms.

        `prefetch_bytes` is the argument of `Consumer` of that name.
        """
        self._made += 1
        prefetch_bytes = properties.pop("prefetch_bytes", PREFETCH_BYTES)
        assert isinstance(prefetch_bytes, int)
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest", **given}
        runtime = sim_runtime(self.hub, f"c{self._made}", self.network)
        return Consumer(config, runtime, events=self.events.append, prefetch_bytes=prefetch_bytes)

    def sent(self, api: str) -> list[RequestSent]:
        """Every request of an API that was sent so far."""
        return [each for each in self.events if isinstance(each, RequestSent) and each.api == api]

    def resets(self) -> list[PositionReset]:
        """Every position that was moved unasked so far."""
        return [each for each in self.events if isinstance(each, PositionReset)]

    def log(self, partition: int, topic: str = "t") -> PartitionLog:
        return self.sandbox.cluster.topics[topic].partitions[partition].log

    def write(
        self, partition: int, count: int, *, first: int = 0, topic: str = "t", word: str = "", value_bytes: int = 0
    ) -> None:
        """Append a batch of `count` records with the values b"first", b"first+1", ..., behind `word`, filled up."""
        builder = RecordBatchBuilder()
        for i in range(first, first + count):
            value = f"{word}{i}".ljust(value_bytes).encode()
            assert builder.try_append(None, value, [], self.hub.now_ms) is not None
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


def drain(consumer: Consumer, count: int, *, timeout: float = 5) -> list[ConsumerRecord]:
    """Poll until `count` records came; each poll must bring some."""
    records: list[ConsumerRecord] = []
    while len(records) < count:
        got = consumer.poll(timeout=timeout)
        assert got, consumer.waiting_for()
        records += got
    return records
