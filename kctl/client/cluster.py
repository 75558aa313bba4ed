"""Cluster: an immutable snapshot of the metadata of nodes, topics and partitions.

Owns the value types and the look-ups in them; knows neither how metadata is fetched nor how old it may be.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Never

from kctl.client.errors import BrokerError
from kctl.client.wording import place_text

NO_NODE = -1
"""What Kafka writes where no node is leader or controller."""
NO_EPOCH = -1
NO_TOPIC_ID = b"\0" * 16


class TopicId(bytes):
    """The 16 bytes of a topic id; `str()` is the id as Kafka's tools print it, empty if brokers have no ids."""

    __slots__ = ()

    def __str__(self) -> str:
        from base64 import urlsafe_b64encode  # deferred import: only for ids that are printed

        return "" if self == NO_TOPIC_ID else urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"TopicId({str(self)!r})"


class NoItems(Mapping[Any, Any]):
    """The type of `NOTHING`."""

    __slots__ = ()

    def __getitem__(self, key: object) -> Never:
        raise KeyError(key)

    def __iter__(self) -> Iterator[Never]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return hash(())

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        """Return the name of the one instance, for pickle and copy."""
        return "NOTHING"


NOTHING: Final = NoItems()
"""An empty mapping that cannot be filled, for defaults; unlike a mapping proxy it can be copied and pickled."""


class Node(NamedTuple):
    """A broker as clients dial it; entries of bootstrap.servers have the ids -1, -2, ..."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        place = place_text(self.host, self.port)
        return place if self.node_id < 0 else f"{place} (id {self.node_id})"


class TopicPartition(NamedTuple):
    """The name of one partition; written `topic-partition`, as Kafka's own tools do."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition numbers of each topic, both in the order given."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped


class PartitionInfo(NamedTuple):
    """One partition; `leader_id` is NO_NODE while it has none, and `error` is the reason then."""

    topic: str
    partition: int
    leader_id: int
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error: BrokerError | None = None


class TopicInfo(NamedTuple):
    """One topic; with an `error` (unknown, not authorized, invalid name) it has no partitions."""

    name: str
    topic_id: bytes
    is_internal: bool
    error: BrokerError | None
    partitions: Mapping[int, PartitionInfo]


class NamedLeader(NamedTuple):
    """The leader of a partition as a response names it."""

    node_id: int
    epoch: int


class Cluster(NamedTuple):
    """One snapshot of the cluster's metadata, with the brokers by id."""

    nodes: Mapping[int, Node] = NOTHING
    controller_id: int = NO_NODE
    cluster_id: str | None = None
    topics: Mapping[str, TopicInfo] = NOTHING

    def node(self, node_id: int) -> Node | None:
        """Return the broker with that id, or None when it is not part of this snapshot."""
        return self.nodes.get(node_id)

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        """Return the partition, or None when this snapshot does not know it."""
        info = self.topics.get(topic)
        return None if info is None else info.partitions.get(partition)

    def leader_id(self, topic: str, partition: int) -> int:
        """Return the node that leads the partition, or NO_NODE when none is known."""
        info = self.partition(topic, partition)
        return NO_NODE if info is None else info.leader_id

    def controller(self) -> Node | None:
        """Return the broker to which cluster changes are sent, or None if none is known; on KRaft it forwards them."""
        return self.node(self.controller_id)
