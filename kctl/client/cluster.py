"""Cluster: immutable snapshot of the metadata of brokers, topics, and partitions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Never

from kctl.client.errors import BrokerError
from kctl.client.wording import place_text

NO_NODE = -1
"""Kafka's id for no leader, or no controller."""
NO_EPOCH = -1
NO_TOPIC_ID = b"\0" * 16


class TopicId(bytes):
    """The 16 bytes of a topic id. `str()` returns Kafka's text form; it is empty if brokers have no ids."""

    __slots__ = ()

    def __str__(self) -> str:
        from base64 import urlsafe_b64encode  # deferred import: only for printed ids

        return "" if self == NO_TOPIC_ID else urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"TopicId({str(self)!r})"


class NoItems(Mapping[Any, Any]):
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
        return "NOTHING"


NOTHING: Final = NoItems()
"""An immutable empty mapping for defaults; unlike a mapping proxy, it can be copied and pickled."""


class Node(NamedTuple):
    """A broker with its address; servers of bootstrap.servers have the ids -1, -2, ..."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        place = place_text(self.host, self.port)
        return place if self.node_id < 0 else f"{place} (id {self.node_id})"


class TopicPartition(NamedTuple):
    """Name of a partition; its text is `topic-partition`, as in Kafka's tools."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped


class PartitionInfo(NamedTuple):
    """A partition. Without a leader, `leader_id` is NO_NODE and `error` has the reason."""

    topic: str
    partition: int
    leader_id: int
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error: BrokerError | None = None


class TopicInfo(NamedTuple):
    """A topic. With an `error` (unknown, not authorized, invalid name), it has no partitions."""

    name: str
    topic_id: bytes
    is_internal: bool
    error: BrokerError | None
    partitions: Mapping[int, PartitionInfo]


class NamedLeader(NamedTuple):
    node_id: int
    epoch: int


class Cluster(NamedTuple):
    nodes: Mapping[int, Node] = NOTHING
    controller_id: int = NO_NODE
    cluster_id: str | None = None
    topics: Mapping[str, TopicInfo] = NOTHING

    def node(self, node_id: int) -> Node | None:
        return self.nodes.get(node_id)

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        info = self.topics.get(topic)
        return None if info is None else info.partitions.get(partition)

    def leader_id(self, topic: str, partition: int) -> int:
        info = self.partition(topic, partition)
        return NO_NODE if info is None else info.leader_id

    def controller(self) -> Node | None:
        """Return the broker for cluster changes, or None; with KRaft, this broker forwards them to the controller."""
        return self.node(self.controller_id)
