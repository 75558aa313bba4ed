"""What a node reports of itself and can be made to report otherwise: its disk, its metadata, its registration.

Unlike the faults of faults.py these change no connection and no request: only answers of Metadata, DescribeCluster,
DescribeLogDirs and DescribeQuorum.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.sandbox.partition import Partition

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic

ENDLESS_BYTES = 1 << 40


class Leadership(NamedTuple):
    """Who led a partition when a node stopped to follow the metadata."""

    leader_id: int
    leader_epoch: int
    in_sync: tuple[int, ...]


class NodeState:
    """The state of one node beside its logs.

    Attributes:
        disk_bytes: the size of its disk.
        is_disk_offline: its log directory cannot be used.
        is_registered: whether the cluster knows it.
        is_fenced: the controller hears no heartbeats of it; only DescribeCluster names it, on request.
        held_at_ms: since when it has followed no metadata; None while it does.
    """

    __slots__ = ("_held", "_held_topics", "disk_bytes", "held_at_ms", "is_disk_offline", "is_fenced", "is_registered")

    def __init__(self) -> None:
        self.held_at_ms: int | None = None
        self._held_topics: dict[str, Topic] = {}
        self._held: dict[tuple[str, int], Leadership] = {}
        self.heal()

    def heal(self) -> None:
        """Take all of it back."""
        self.disk_bytes = ENDLESS_BYTES
        self.is_disk_offline = False
        self.is_registered = True
        self.is_fenced = False
        self.release_metadata()

    @property
    def is_listed(self) -> bool:
        """Whether the metadata of the cluster lists the node."""
        return self.is_registered and not self.is_fenced

    def hold_metadata(self, topics: "Iterable[Topic]", wall_ms: int) -> None:
        """Keep reporting these topics as they are now, and no others."""
        self.held_at_ms = wall_ms
        self._held_topics = {topic.name: topic._replace(partitions=dict(topic.partitions)) for topic in topics}
        self._held = {
            (each.topic_name, each.index): Leadership(each.leader_id, each.leader_epoch, tuple(each.in_sync))
            for topic in self._held_topics.values()
            for each in topic.partitions.values()
        }

    def release_metadata(self) -> None:
        """Follow the metadata again."""
        self.held_at_ms = None
        self._held_topics = {}
        self._held = {}

    def known_topics(self, topics: "Mapping[str, Topic]") -> "Mapping[str, Topic]":
        """Return the topics of the cluster as this node has them."""
        return topics if self.held_at_ms is None else self._held_topics

    def leadership(self, partition: Partition) -> Leadership:
        """Return who leads a partition as this node has it."""
        held = self._held.get((partition.topic_name, partition.index))
        return held or Leadership(partition.leader_id, partition.leader_epoch, tuple(partition.in_sync))
