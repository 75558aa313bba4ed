"""Replication schedule: delays, frozen nodes, and replica.lag.time.max.ms.

Unlike Kafka, a follower gets all missing records in one step, after `replication_delay_ms`.
"""

from typing import TYPE_CHECKING

from kctl.sandbox.partition import NO_LEADER, Partition, Stand

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster


class Replication:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        for node in cluster.nodes.values():
            node.faults.on_change(self._faults_changed)

    def follow(self, partition: Partition) -> None:
        if partition.is_late:
            _LateCopies(self._cluster, partition).start()
        self.look(partition)

    def lag(self, partition: Partition, node_id: int) -> None:
        self._watch(partition, node_id, partition.lag(node_id))

    def look(self, partition: Partition) -> None:
        """Stop followers on frozen nodes, and start the others unless the leader is frozen."""
        is_led = partition.leader_id != NO_LEADER and not self._cluster.nodes[partition.leader_id].faults.is_frozen
        for node_id in partition.replicas:
            if self._cluster.nodes[node_id].faults.is_frozen:
                stand = partition.freeze(node_id)
                if stand is not None:
                    self._watch(partition, node_id, stand)
            elif is_led:
                partition.thaw(node_id)

    def _watch(self, partition: Partition, node_id: int, stand: Stand) -> None:
        after_ms = self._cluster.settings.replica_lag_time_max_ms
        self._cluster.scheduler.call_later(after_ms, lambda: partition.overdue(node_id, stand))

    def _faults_changed(self) -> None:
        for topic in self._cluster.topics.values():
            for partition in topic.partitions.values():
                if len(partition.replicas) > 1:
                    self.look(partition)
                    partition.log.wake()  # replicate again from a leader that continues


class _LateCopies:
    def __init__(self, cluster: "Cluster", partition: Partition) -> None:
        self._cluster = cluster
        self._partition = partition
        self._ordered = (-1, -1)
        """Leader epoch and end offset of the last scheduled copy."""

    def start(self) -> None:
        self._partition.log.watch(self._look)

    def _look(self) -> None:
        partition = self._partition
        wanted = partition.leader_epoch, partition.log.end_offset
        if partition.leader_id == NO_LEADER or self._is_leader_frozen or wanted == self._ordered:
            return
        self._ordered = wanted
        delay_ms = self._cluster.settings.replication_delay_ms
        self._cluster.scheduler.call_later(delay_ms, lambda: self._copy(*wanted))

    def _copy(self, leader_epoch: int, end_offset: int) -> None:
        if self._partition.leader_epoch != leader_epoch:
            return
        if self._is_leader_frozen:
            self._ordered = (-1, -1)  # schedule it again after the freeze
            return
        self._partition.copy(end_offset)

    @property
    def _is_leader_frozen(self) -> bool:
        leader_id = self._partition.leader_id
        return leader_id != NO_LEADER and self._cluster.nodes[leader_id].faults.is_frozen
