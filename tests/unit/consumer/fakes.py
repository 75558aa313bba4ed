"""A cluster client without a network, and the batches and answers that the tests feed to request managers."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import cast

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import ManualClock, Timer
from kctl.client.cluster import Cluster, NamedLeader, Node, PartitionInfo, TopicInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient, TimeMark
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.events import Report, ToNetwork
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.subscription import Subscription
from kctl.client.errors import Account, BrokerError, KafkaError
from kctl.client.events import Event
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions
from kctl.client.records import Record, RecordBatchBuilder, stamp_batch
from kctl.client.records._hot.crc32c import crc32c

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
T2 = TopicPartition("t", 2)
TOPIC_ID = bytes(range(16))


def config(**properties: object) -> ConsumerConfig:
    """A consumer's config; `retry_backoff_ms=50` stands for retry.backoff.ms. Back-offs are constant: no jitter."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return ConsumerConfig.parse(
        {"bootstrap.servers": "a:1", "retry.backoff.ms": 100, "retry.backoff.max.ms": 100, **given}
    )


def topic(name: str, leaders: list[int], *, topic_id: bytes = TOPIC_ID, error: BrokerError | None = None) -> TopicInfo:
    """A topic whose partition i is led by leaders[i]."""
    partitions = {i: PartitionInfo(name, i, leader, leader_epoch=7) for i, leader in enumerate(leaders)}
    return TopicInfo(name, topic_id, False, error, partitions)


def take_changes(subscription: Subscription, reset_policy_timestamp_ms: int | None) -> list[ToNetwork]:
    """Take out what the network does not know yet, as a poll does."""
    changes = subscription.changes(reset_policy_timestamp_ms)
    taken = list(changes)
    changes.clear()
    return taken


def take(data: FetchedData, limit: int) -> list[Record]:
    """Take the next records as an application that polls, and comes back."""
    result = data.pop_records(limit, Timer(ManualClock(), 1))
    if result is None:
        return []
    result.given = result.count
    data.settle()
    return result.records


def pop_chunk(data: FetchedData) -> FetchedChunk | None:
    """Take the next chunk as an application that polls, and comes back."""
    result = data.pop_chunk()
    if result is None:
        return None
    result.given = result.count
    data.settle()
    return result.chunk


class FakeNetwork:
    """Every node is ready, unless it is in `down`; it is its own status."""

    def __init__(self) -> None:
        self.down: dict[int, KafkaError | None] = {}
        self.refusal: KafkaError | None = None
        self.fetch_version = 18
        self.epoch_version = 4
        self.attempts: dict[int, KafkaError] = {}
        """What connections under way are waiting for, by node."""
        self.nodes: Sequence[Node] = ()
        self.status = self
        self.is_only_woken = False

    def ready(self, node_id: int) -> bool:
        return node_id not in self.down

    def is_ready(self, node_id: int) -> bool:
        return node_id not in self.down

    def versions(self, node_id: int) -> NodeVersions | None:
        return None if node_id in self.down else self._versions()

    def _versions(self) -> NodeVersions:
        return NodeVersions({1: (4, self.fetch_version), 23: (0, self.epoch_version)})

    def supports(self, node_id: int, kind: type[Request], at_least: int = 0) -> bool:
        return self._versions().supports(kind, at_least)

    def set_nodes(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def node_error(self, node_id: int) -> KafkaError | None:
        return self.down.get(node_id)

    def unfinished(self, node_id: int | None = None) -> KafkaError | None:
        return None if node_id is None else self.attempts.get(node_id)

    def fatal_error(self) -> KafkaError | None:
        return self.refusal

    def clear_refusals(self) -> None:
        self.refusal = None

    def any_ready_node(self, avoid: Sequence[int] = ()) -> Node | None:
        ready = [node_id for node_id in (1, 2, 3) if node_id not in self.down and node_id not in avoid]
        return Node(ready[0], f"host{ready[0]}", 9092) if ready else None


class FakeClient:
    """Metadata that the test writes, and a `FakeNetwork`."""

    def __init__(self, *topics: TopicInfo) -> None:
        self.network = FakeNetwork()
        self.clock = ManualClock()
        self.sent: list[Outgoing] = []
        self.polled_until_ms: list[int] = []
        self.is_closed = False
        self.told: list[Event] = []
        self.metadata = Metadata(max_age_ms=300_000, backoff=ExponentialBackoff(100, 100, Random(0)))
        self.know(*topics)

    def know(self, *topics: TopicInfo) -> None:
        """Take an update of the metadata."""
        nodes = {i: Node(i, f"host{i}", 9092) for i in (1, 2, 3)}
        self.metadata.cluster = Cluster(nodes=nodes, topics={each.name: each for each in topics})
        self.metadata.version += 1
        self.metadata.begin(0)  # whatever update was requested is under way with this

    @property
    def is_refresh_wanted(self) -> bool:
        return self.metadata.due_at_ms() == 0

    def send(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing)

    def poll(self, until_ms: int) -> None:
        self.polled_until_ms.append(until_ms)

    def poll_arrived(self) -> None:
        """Nothing arrives by itself."""

    def close(self) -> None:
        self.is_closed = True

    def activity(self) -> str:
        return "idle"

    def time_mark(self) -> TimeMark:
        return TimeMark({}, 0)

    def account_since(self, mark: TimeMark) -> Account:
        return Account()

    def spent_since(self, mark: TimeMark) -> dict[str, int]:
        return {"connecting": 5}

    def last_error(self) -> KafkaError | None:
        return None

    def learn_leaders(self, named: Mapping[TopicPartition, NamedLeader], nodes: Iterable[Node]) -> list[TopicPartition]:
        return self.metadata.learn_leaders(named, nodes)

    def report(self, event: Event) -> None:
        self.told.append(event)

    def as_client(self) -> ClusterClient:
        return cast(ClusterClient, self)


class Reports(list[Report]):
    """What was reported to the application, taken by kind."""

    def take(self) -> list[Report]:
        taken = list(self)
        self.clear()
        return taken


class Ones:
    """Entropy without surprise."""

    def token_bytes(self, count: int) -> bytes:
        return b"\1" * count


def rng() -> Random:
    return Random(1)


def batch(base_offset: int, count: int, *, gap: int = 0, value_bytes: int = 5) -> bytes:
    """A batch of `count` records from `base_offset` on, whose header says that `gap` more were compacted away."""
    builder = RecordBatchBuilder()
    for i in range(count):
        assert builder.try_append(None, b"%05d" % (base_offset + i) + bytes(value_bytes - 5), [], 1000) is not None
    built = bytearray(stamp_batch(builder.build(), base_offset, 7))
    built[23:27] = (count - 1 + gap).to_bytes(4, "big")
    built[17:21] = crc32c(bytes(built[21:])).to_bytes(4, "big")
    return bytes(built)


def answer(request: Outgoing, response: Response, at_ms: int = 0) -> None:
    """Give a request its answer."""
    request.on_done(Answer(request.node_id, response, None, 12, at_ms))


def fail(request: Outgoing, error: KafkaError, at_ms: int = 0) -> None:
    """Let a request end without an answer."""
    request.on_done(Answer(request.node_id, None, error, -1, at_ms))
