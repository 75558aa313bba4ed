"""Markers that end a prepared transaction in each of its partitions, as soon as the partition has a leader.

A marker is complete when all in-sync replicas have it. If it is lost before with its leader, it is written again.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kctl.sandbox.batches import BatchRefused
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.partition import NO_LEADER, Partition
from kctl.sandbox.transactions.group_offsets import GroupOffsets
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster


class _Written(NamedTuple):
    """Leader epoch of a written marker, and the end of the log after it."""

    leader_epoch: int
    end_offset: int


class Markers:
    """Remaining markers of one transaction."""

    def __init__(
        self,
        cluster: "Cluster",
        offsets: GroupOffsets,
        producer: ProducerIdentity,
        partitions: list[TopicPartition],
        done: Callable[[], None],
        *,
        commit: bool,
        coordinator_epoch: int,
        are_delayed: bool = False,
    ) -> None:
        """Start to write. If `are_delayed`, each `write_next` allows one more marker."""
        self._cluster = cluster
        self._offsets = offsets
        self._producer = producer
        self._left: dict[TopicPartition, _Written | None] = dict.fromkeys(partitions)
        self._delayed = partitions[::-1] if are_delayed else []
        self._done = done
        self._commit = commit
        self._coordinator_epoch = coordinator_epoch
        self._stops: list[Callable[[], None]] = []
        self._is_writing = False
        self._is_held = False
        self._is_stopped = False

    def write(self) -> None:
        """Write markers now or when leaders are available. Call `done` after the last one."""
        if self._is_writing or self._is_held or self._is_stopped:
            return
        self._is_writing = True
        self._stop_watching()
        for one in list(self._left):
            if one not in self._delayed and self._is_done(one):
                del self._left[one]
        self._is_writing = False
        if not self._left:
            self._is_stopped = True
            self._done()

    def write_next(self) -> None:
        if self._delayed:
            self._delayed.pop()
        self.write()

    def _is_done(self, at: TopicPartition) -> bool:
        if at.topic == OFFSETS_TOPIC:
            self._offsets.end(at, self._producer, commit=self._commit, coordinator_epoch=self._coordinator_epoch)
            return True
        partition = self._cluster.partition(*at)
        if partition is None:
            return True
        written = self._left[at]
        if written is not None and written.leader_epoch != partition.leader_epoch:
            written = None if partition.log.producers.has_any_open(self._producer.producer_id) else written
        if written is None:
            written = self._left[at] = self._write_one(partition)
        if written is not None and partition.high_watermark >= min(written.end_offset, partition.log.end_offset):
            return True
        self._stops.append(partition.log.watch(self.write))
        return False

    def _write_one(self, partition: Partition) -> "_Written | None":
        leader_id = partition.leader_id
        if leader_id == NO_LEADER or self._cluster.nodes[leader_id].faults.is_frozen:
            return None
        wall_ms, by_epoch = self._cluster.scheduler.wall_ms(), self._coordinator_epoch
        if not _append(partition, self._producer, wall_ms, commit=self._commit, by_epoch=by_epoch):
            return _Written(partition.leader_epoch, 0)
        return _Written(partition.leader_epoch, partition.log.end_offset)

    def hold(self) -> None:
        self._is_held = True

    def release(self) -> None:
        self._is_held = False
        self.write()

    def stop(self) -> None:
        self._is_stopped = True
        self._stop_watching()

    def _stop_watching(self) -> None:
        for stop in self._stops:
            stop()
        self._stops.clear()


def write_all(
    cluster: "Cluster",
    offsets: GroupOffsets,
    producer: ProducerIdentity,
    partitions: Iterable[TopicPartition],
    *,
    commit: bool,
    coordinator_epoch: int,
) -> None:
    """End a transaction in all partitions where it is open, without regard to leaders and faults."""
    for at in partitions:
        if at.topic == OFFSETS_TOPIC:
            offsets.end(at, producer, commit=commit, coordinator_epoch=coordinator_epoch)
            continue
        partition = cluster.partition(*at)
        if partition is not None and partition.log.producers.has_any_open(producer.producer_id):
            _append(partition, producer, cluster.scheduler.wall_ms(), commit=commit, by_epoch=coordinator_epoch)


def _append(partition: Partition, producer: ProducerIdentity, wall_ms: int, *, commit: bool, by_epoch: int) -> bool:
    """Append a marker. Return False if a newer epoch is writing: Kafka's coordinator skips the partition too."""
    try:
        partition.log.append_marker(*producer, partition.leader_epoch, wall_ms, commit=commit, by_epoch=by_epoch)
    except BatchRefused:
        return False
    return True
