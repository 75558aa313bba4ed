"""Schedule of compaction and retention. An idle cluster has no timer.

Kafka checks logs every log.cleaner.backoff.ms and log.retention.check.interval.ms. Unlike Kafka, the sandbox checks
only after a batch is stored.
"""

from typing import TYPE_CHECKING

from kctl.sandbox.partition import Partition
from kctl.sandbox.retention import is_limited, next_due_ms

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster


class Cleaner:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._compacting: set[Partition] = set()
        self._expiring: set[Partition] = set()

    def follow(self, partition: Partition) -> None:
        partition.log.when_stored = lambda: self.look(partition)

    def look(self, partition: Partition) -> None:
        """Schedule the compaction and retention that the log needs."""
        settings, log = partition.log.settings, partition.log
        if (
            settings.is_compacted
            and partition not in self._compacting
            and log.compacted_until < log.segments.active_offset
        ):
            self._compacting.add(partition)
            self._later(self._cluster.settings.log_cleaner_backoff_ms, partition)
        if is_limited(log) and partition not in self._expiring:
            self._expire_later(partition)

    def _later(self, delay_ms: int, partition: Partition) -> None:
        self._cluster.scheduler.call_later(delay_ms, lambda: self._compact(partition))

    def _compact(self, partition: Partition) -> None:
        self._compacting.discard(partition)
        log = partition.log
        if not log.settings.is_compacted or not self._is_there(partition):
            return
        found = log.due(self._cluster.scheduler.wall_ms())
        if found.is_due:
            log.compact(self._cluster.scheduler.wall_ms())
            self.look(partition)
        elif found.may_be_later:
            self._compacting.add(partition)
            self._later(self._cluster.settings.log_cleaner_backoff_ms, partition)

    def _expire_later(self, partition: Partition) -> None:
        every_ms = max(1, self._cluster.settings.log_retention_check_interval_ms)
        due_ms = next_due_ms(partition.log, self._cluster.scheduler.wall_ms()) or 0
        self._expiring.add(partition)
        self._cluster.scheduler.call_later(max(1, -(-due_ms // every_ms)) * every_ms, lambda: self._expire(partition))

    def _expire(self, partition: Partition) -> None:
        self._expiring.discard(partition)
        log = partition.log
        if not is_limited(log) or not self._is_there(partition):
            return
        log.expire(self._cluster.scheduler.wall_ms(), partition.high_watermark)
        if next_due_ms(log, self._cluster.scheduler.wall_ms()) is not None:
            self._expire_later(partition)

    def _is_there(self, partition: Partition) -> bool:
        return self._cluster.partition(partition.topic_name, partition.index) is partition
