"""State that a node reports. Tests can change it. Unlike faults, it does not affect requests."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.sandbox.partition import Partition

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic

ENDLESS_BYTES = 1 << 40


class Leadership(NamedTuple):
    """Leader and in-sync replicas of a partition at the time of `hold_metadata`."""

    leader_id: int
    leader_epoch: int
    in_sync: tuple[int, ...]


class NodeState:
    """State that a node reports.

    Attributes:
        is_fenced: True hides the broker in Metadata, and in DescribeCluster unless the request includes fenced brokers.
        held_at_ms: wall-clock time of `hold_metadata`, or None.
    """

    __slots__ = ("_held", "_held_topics", "disk_bytes", "held_at_ms", "is_disk_offline", "is_fenced", "is_registered")

    def __init__(self) -> None:
        self.held_at_ms: int | None = None
        self._held_topics: dict[str, Topic] = {}
        self._held: dict[tuple[str, int], Leadership] = {}
        self.heal()

    def heal(self) -> None:
        self.disk_bytes = ENDLESS_BYTES
        self.is_disk_offline = False
        self.is_registered = True
        self.is_fenced = False
        self.release_metadata()

    @property
    def is_listed(self) -> bool:
        return self.is_registered and not self.is_fenced

    def hold_metadata(self, topics: "Iterable[Topic]", wall_ms: int) -> None:
        """Report the current metadata of these topics until `release_metadata`."""
        self.held_at_ms = wall_ms
        self._held_topics = {topic.name: topic._replace(partitions=dict(topic.partitions)) for topic in topics}
        self._held = {
            (each.topic_name, each.index): Leadership(each.leader_id, each.leader_epoch, tuple(each.in_sync))
            for topic in self._held_topics.values()
            for each in topic.partitions.values()
        }

    def release_metadata(self) -> None:
        self.held_at_ms = None
        self._held_topics = {}
        self._held = {}

    def known_topics(self, topics: "Mapping[str, Topic]") -> "Mapping[str, Topic]":
        return topics if self.held_at_ms is None else self._held_topics

    def leadership(self, partition: Partition) -> Leadership:
        held = self._held.get((partition.topic_name, partition.index))
        return held or Leadership(partition.leader_id, partition.leader_epoch, tuple(partition.in_sync))
