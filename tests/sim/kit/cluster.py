"""SimCluster: sandbox nodes on a simulated network in virtual time, and the clients that use them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

from kctl.client.admin import Admin
from kctl.client.clock import Clock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.consumer.fetch.manager import PREFETCH_BYTES
from kctl.client.errors import KafkaError
from kctl.client.events import Event, PositionReset, RequestSent
from kctl.client.producer import Producer
from kctl.client.records import BatchReader, Record, RecordBatchBuilder
from kctl.client.runtime import Runtime
from kctl.sandbox import ClusterSettings, ListenerSecurity, Sandbox
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.partition import Partition
from tests.sim.kit.nodes import SimNodes
from tests.sim.virtual import Hub, sim_runtime

T = TypeVar("T")
C = TypeVar("C", bound=AbstractContextManager[object])

ON_THE_WIRE_MS = 100
"""Time after which everything that was sent has arrived."""
POLL_S = 0.2
SAME_ROUNDS = 20
"""Polls of all members with the same shares after which a group has settled: longer than a heartbeat interval."""
MOST_ROUNDS = 60


def dotted(properties: Mapping[str, object]) -> dict[str, object]:
    """Return client properties by Kafka's names, such as fetch.max.wait.ms for `fetch_max_wait_ms`."""
    return {name.replace("_", "."): value for name, value in properties.items()}


class SimCluster(SimNodes):
    """Three nodes 1 ms away; the partitions 0, 1, 2, 3, ... of topic t are led by the nodes 1, 2, 3, 1, ...

    Producers, admin clients and single readers use the runtime of the one application; each consumer has its own.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        nodes: int = 3,
        topics: Mapping[str, int] | None = None,
        settings: ClusterSettings | None = None,
        racks: Sequence[str] | None = None,
        security: ListenerSecurity | None = None,
    ) -> None:
        """Start the nodes, with topic t of three partitions unless `topics` are given."""
        topics = {"t": 3} if topics is None else topics
        super().__init__(hub, Sandbox(nodes=nodes, topics=topics, settings=settings, racks=racks, security=security))
        self.runtime: Runtime = sim_runtime(hub, "app", self.network)
        self.clock: Clock = self.runtime.clock
        self.events: list[Event] = []
        """The events of all consumers."""
        self._stack = ExitStack()
        self._consumers = 0

    # --- clients ----------------------------------------------------------------------------------------------------

    def consumer(self, **properties: object) -> Consumer:
        """Return a consumer that starts at the earliest offset; `fetch_max_wait_ms=50` sets fetch.max.wait.ms.

        `prefetch_bytes` is an argument of `Consumer`.
        """
        self._consumers += 1
        prefetch_bytes = properties.pop("prefetch_bytes", PREFETCH_BYTES)
        assert isinstance(prefetch_bytes, int)
        config = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest", **dotted(properties)}
        runtime = sim_runtime(self.hub, f"c{self._consumers}", self.network)
        return Consumer(config, runtime, events=self.events.append, prefetch_bytes=prefetch_bytes)

    def classic_member(self, group_id: str, topic: str = "t", **properties: object) -> Consumer:
        """Return a subscribed member of a group of the classic protocol."""
        consumer = self.consumer(group_id=group_id, session_timeout_ms=30_000, **properties)
        consumer.subscribe([topic])
        return consumer

    def kip_848_member(self, group_id: str, topic: str = "t", **properties: object) -> Consumer:
        """Return a subscribed member of a group of the consumer protocol."""
        consumer = self.consumer(group_id=group_id, group_protocol="consumer", **properties)
        consumer.subscribe([topic])
        return consumer

    def producer(self, properties: Mapping[str, object] | None = None) -> Producer:
        """Return a producer; its properties have Kafka's names."""
        return Producer({"bootstrap.servers": self.bootstrap, **(properties or {})}, self.runtime)

    def admin(self, **properties: object) -> Admin:
        """Return an admin client."""
        config = {"bootstrap.servers": self.bootstrap, **dotted(properties)}
        return Admin(config, self.runtime, events=self.events.append)

    def enter(self, client: C) -> C:
        """Return a client that `run` closes at the end, the last one first."""
        self._stack.enter_context(client)
        return client

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Leave a group behind that has committed these offsets and has no member."""
        with self.consumer(group_id=group_id) as consumer:
            consumer.commit_sync({TopicPartition(*key): offset for key, offset in offsets.items()}, timeout=30)

    # --- what the clients did ---------------------------------------------------------------------------------------

    def sent(self, api: str) -> list[RequestSent]:
        """Return every request of an API that consumers and admin clients have sent."""
        return [each for each in self.events if isinstance(each, RequestSent) and each.api == api]

    def resets(self) -> list[PositionReset]:
        """Return every position that consumers have moved unasked."""
        return [each for each in self.events if isinstance(each, PositionReset)]

    def elapsed_ms(self, call: Callable[[], object]) -> int:
        """Return how long a call takes."""
        before_ms = self.hub.now_ms
        call()
        return self.hub.now_ms - before_ms

    # --- state of the nodes -----------------------------------------------------------------------------------------

    def partition(self, partition: int, topic: str = "t") -> Partition:
        return self.sandbox.cluster.topics[topic].partitions[partition]

    def log(self, partition: int, topic: str = "t") -> PartitionLog:
        return self.partition(partition, topic).log

    def leader(self, partition: int, topic: str = "t") -> int:
        return self.partition(partition, topic).leader_id

    def coordinator(self, group_id: str = "g") -> int:
        return self.sandbox.cluster.groups.node_of(group_id).node_id

    def elsewhere(self, group_id: str) -> int:
        """Return a node that does not coordinate the group."""
        return next(node_id for node_id in (1, 2, 3) if node_id != self.coordinator(group_id))

    def records(self, partition: int, topic: str = "t") -> list[Record]:
        """Return the records in a partition's log, in order."""
        data = b"".join(stored.data for stored in self.log(partition, topic).batches)
        if not data:
            return []
        reader = BatchReader(data, topic=topic, partition=partition, fetch_offset=0, aborted=None)
        return reader.records(1_000_000)

    def values(self, partition: int, topic: str = "t") -> list[bytes | None]:
        """Return the values in a partition's log, in order."""
        return [record.value for record in self.records(partition, topic)]

    def write(
        self, partition: int, count: int, *, first: int = 0, topic: str = "t", word: str = "", value_bytes: int = 0
    ) -> None:
        """Append a batch of `count` records with the values b"first", b"first+1", ..., behind `word`, padded."""
        builder = RecordBatchBuilder()
        for i in range(first, first + count):
            value = f"{word}{i}".ljust(value_bytes).encode()
            assert builder.try_append(None, value, [], self.hub.now_ms) is not None
        found = self.partition(partition, topic)
        found.log.append(builder.build(), found.leader_epoch, self.hub.now_ms)

    # --- runs -------------------------------------------------------------------------------------------------------

    def run(self, body: Callable[[], T]) -> T:
        """Run `body` as the application and return its result; no loop and no connection may be left."""
        results: list[T] = []

        def app() -> None:
            with self._stack:
                results.append(body())

        self.hub.spawn("app", app)
        self.hub.run()
        self._check_nothing_is_left()
        return results[0]

    def play(self, *actors: Callable[[], None]) -> None:
        """Run actors side by side to their ends; a failure of one is the test's."""
        failures: list[BaseException] = []

        def guarded(actor: Callable[[], None]) -> Callable[[], None]:
            def body() -> None:
                try:
                    actor()
                except (AssertionError, KafkaError) as error:
                    failures.append(error)

            return body

        for number, actor in enumerate(actors):
            self.hub.spawn(f"actor{number}", guarded(actor))
        self.hub.run()
        if failures:
            raise failures[0]
        self._check_nothing_is_left()

    def _check_nothing_is_left(self) -> None:
        assert self.hub.live_actors == (), "a loop is left"
        self.hub.run(until_ms=self.hub.now_ms + ON_THE_WIRE_MS)
        assert self.network.open_connections == 0


def run(
    app: Callable[[SimCluster], None],
    *,
    topics: Mapping[str, int] | None = None,
    seed: int = 1,
    nodes: int = 3,
    settings: ClusterSettings | None = None,
) -> SimCluster:
    """Run an application to its end on a cluster with topic t of one partition, and return the cluster."""
    with Hub(seed=seed) as hub:
        cluster = SimCluster(hub, topics={"t": 1} if topics is None else topics, nodes=nodes, settings=settings)
        cluster.run(lambda: app(cluster))
        return cluster


def run_with_admin(
    app: Callable[[SimCluster, Admin], None],
    *,
    topics: Mapping[str, int] | None = None,
    settings: ClusterSettings | None = None,
    **properties: object,
) -> SimCluster:
    """Run an application with an admin client on a cluster with the topics t of four partitions and u of two."""

    def body(cluster: SimCluster) -> None:
        app(cluster, cluster.enter(cluster.admin(**properties)))

    return run(body, topics={"t": 4, "u": 2} if topics is None else topics, seed=3, settings=settings)


def drain(consumer: Consumer, count: int, *, timeout: float = 5) -> list[ConsumerRecord]:
    """Poll until `count` records came; each poll must bring some."""
    records: list[ConsumerRecord] = []
    while len(records) < count:
        got = consumer.poll(timeout=timeout)
        assert got, consumer.waiting_for()
        records += got
    return records


def settle(*members: Consumer) -> None:
    """Poll until every member has a share, and has had it for a while."""
    shares: list[frozenset[TopicPartition]] = []
    same = 0
    for _ in range(MOST_ROUNDS):
        for member in members:
            member.poll(POLL_S)
        before, shares = shares, [frozenset(member.assignment) for member in members]
        same = same + 1 if shares == before and all(shares) else 0
        if same == SAME_ROUNDS:
            return
    raise AssertionError(f"the shares are not settled: {shares}")
