"""Topic __consumer_offsets: the partition of each group, and the records of coordinators.

The sandbox writes the records for clients and never reads them. Share and streams groups write offsets only.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kctl.sandbox.batches import BatchRefused
from kctl.sandbox.groups.member_records import Layout, Snapshot, changes, later_changes
from kctl.sandbox.groups.offset_records import (
    GroupMetadataValue,
    OffsetCommitValue,
    Pair,
    commit_key,
    commit_value,
    group_key,
    group_value,
)
from kctl.sandbox.groups.offsets import CommittedOffset

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster
    from kctl.sandbox.log import PartitionLog

OFFSETS_TOPIC = "__consumer_offsets"
_PARTITIONS_OF_KAFKA = 50
_NO_PRODUCER = (-1, -1)
_LEAST = -(2**31)


class OffsetsTopic:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster

    def index_of(self, group_id: str) -> int:
        """Return the partition of a group, from Java's string hash of its ID, as in Kafka."""
        code = 0
        data = group_id.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(data), 2):
            code = (31 * code + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
        signed = code - (1 << 32) if code >> 31 else code
        place = 0 if signed == _LEAST else abs(signed)
        return place % (self._cluster.settings.offsets_topic_num_partitions or _PARTITIONS_OF_KAFKA)

    def create(self) -> None:
        """Create the topic, unless it exists or the settings disable it."""
        cluster, settings = self._cluster, self._cluster.settings
        if OFFSETS_TOPIC in cluster.topics or not settings.offsets_topic_num_partitions:
            return
        ids = list(cluster.nodes)
        replicas = min(settings.offsets_topic_replication_factor, len(ids))
        cluster.create_topic(
            OFFSETS_TOPIC,
            properties={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
            },
            assignment=[
                [ids[(index + step) % len(ids)] for step in range(replicas)]
                for index in range(settings.offsets_topic_num_partitions)
            ],
        )

    def move(self, group_id: str, node_id: int) -> bool:
        """Move the leader of a group's partition. Return False if the topic does not exist."""
        log = self._log(self.index_of(group_id))
        if log is not None:
            self._cluster.move_leader(OFFSETS_TOPIC, self.index_of(group_id), node_id, log.end_offset)
        return log is not None

    def leader_of(self, index: int) -> int | None:
        """Return the leader of a partition, possibly `NO_LEADER`, or None if the topic does not exist."""
        partition = self._cluster.partition(OFFSETS_TOPIC, index)
        return None if partition is None else partition.leader_id

    # --- records ------------------------------------------------------------------------------------------------------

    def committed(
        self,
        group_id: str,
        offsets: Mapping[tuple[str, int], CommittedOffset],
        producer: tuple[int, int] = _NO_PRODUCER,
    ) -> None:
        """Write committed offsets, in a transaction if `producer` is given."""
        topics, wall_ms = self._cluster.topics, self._cluster.scheduler.wall_ms()
        pairs: list[Pair] = []
        for (topic, index), one in offsets.items():
            value = OffsetCommitValue(
                offset=one.offset, leader_epoch=one.leader_epoch, metadata=one.metadata or "", commit_timestamp=wall_ms
            )
            if producer == _NO_PRODUCER and topic in topics:
                value.topic_id = topics[topic].topic_id
            pairs.append((commit_key(group_id, topic, index), commit_value(value)))
        self._write(group_id, pairs, producer)

    def joined(self, group_id: str, value: GroupMetadataValue) -> None:
        value.current_state_timestamp = self._cluster.scheduler.wall_ms()
        self._write(group_id, [(group_key(group_id), group_value(value))])

    def changed(self, group_id: str, layout: Layout, before: Snapshot, now: Snapshot) -> None:
        wall_ms = self._cluster.scheduler.wall_ms()
        for find in (changes, later_changes):
            self._write(group_id, find(layout, group_id, before, now, wall_ms))

    def gone(self, group_id: str, offsets: Sequence[tuple[str, int]], group: Sequence[Pair] = ()) -> None:
        """Write tombstones of offsets, and the records `group`, which are tombstones of the group."""
        if self._log(self.index_of(group_id)) is not None:
            self._write(group_id, [*((commit_key(group_id, *one), None) for one in offsets), *group])

    def ended(self, index: int, producer: tuple[int, int], *, commit: bool, coordinator_epoch: int) -> None:
        """Write the marker that ends a transaction in one partition."""
        log = self._log(index)
        if log is None:
            return
        try:
            log.append_marker(
                *producer,
                log.epochs.latest,
                self._cluster.scheduler.wall_ms(),
                commit=commit,
                by_epoch=coordinator_epoch,
            )
        except BatchRefused:
            return  # a newer epoch is writing

    def _write(self, group_id: str, pairs: list[Pair], producer: tuple[int, int] = _NO_PRODUCER) -> None:
        if not pairs:
            return
        self.create()
        log = self._log(self.index_of(group_id))
        if log is not None:
            log.append_own(pairs, log.epochs.latest, self._cluster.scheduler.wall_ms(), *producer)

    def _log(self, index: int) -> "PartitionLog | None":
        partition = self._cluster.partition(OFFSETS_TOPIC, index)
        return None if partition is None else partition.log
