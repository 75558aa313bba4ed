"""What a node reports of itself and can be made to report otherwise: its disk, its metadata, its registration.

Unlike the faults of faults.py these change no connection and no request: only answers of Metadata, DescribeCluster,
DescribeLogDirs and DescribeQuorum. Shown by tests/unit/sandbox/test_commands.py and
tests/sim/why/test_broker_stories.py.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kctl.sandbox.partition import Partition

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
        is_registered: whether the metadata of the cluster names it.
        held_at_ms: since when it has followed no metadata; None while it does.
    """

    __slots__ = ("_held", "disk_bytes", "held_at_ms", "is_disk_offline", "is_registered")

    def __init__(self) -> None:
        self.held_at_ms: int | None = None
        self._held: dict[tuple[str, int], Leadership] = {}
        self.heal()

    def heal(self) -> None:
        """Take all of it back."""
        self.disk_bytes = ENDLESS_BYTES
        self.is_disk_offline = False
        self.is_registered = True
        self.release_metadata()

    def hold_metadata(self, partitions: Iterable[Partition], wall_ms: int) -> None:
        """Keep reporting these partitions as they are now."""
        self.held_at_ms = wall_ms
        self._held = {
            (each.topic_name, each.index): Leadership(each.leader_id, each.leader_epoch, tuple(each.in_sync))
            for each in partitions
        }

    def release_metadata(self) -> None:
        """Follow the metadata again."""
        self.held_at_ms = None
        self._held = {}

    def knows(self, topic_name: str, partitions: Iterable[int]) -> bool:
        """Return whether a topic existed when this node stopped to follow the metadata, if it has."""
        return self.held_at_ms is None or any((topic_name, index) in self._held for index in partitions)

    def leadership(self, partition: Partition) -> Leadership:
        """Return who leads a partition as this node has it."""
        held = self._held.get((partition.topic_name, partition.index))
        return held or Leadership(partition.leader_id, partition.leader_epoch, tuple(partition.in_sync))
