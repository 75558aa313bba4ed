"""OffsetTracker: finds the offsets to commit if worker threads process records out of order."""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import timedelta

from kctl.client.arguments import check, checked
from kctl.client.clock import FOREVER_MS, Timer, to_timeout_ms
from kctl.client.cluster import NO_EPOCH, TopicPartition
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.lifetime import NotCopied
from kctl.client.network.system import system_runtime
from kctl.client.records import Record
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.runtime import Runtime

DEFAULT_LIMIT = 10_000


class _Entry:
    __slots__ = ("is_done", "leader_epoch", "offset")

    def __init__(self, offset: int, leader_epoch: int) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.is_done = False


class _Partition:
    """Tracked records of one partition.

    Attributes:
        entries: records in offset order, starting with the first that is not done.
        next_offset: offset up to which all tracked records are done; None if none is.
        leader_epoch: leader epoch of the record before `next_offset`.
    """

    __slots__ = ("by_offset", "entries", "leader_epoch", "next_offset", "unfinished")

    def __init__(self) -> None:
        self.entries: deque[_Entry] = deque()
        self.by_offset: dict[int, _Entry] = {}
        self.next_offset: int | None = None
        self.leader_epoch = NO_EPOCH
        self.unfinished = 0

    def add(self, offset: int, leader_epoch: int) -> None:
        """Append a record. It replaces entries from its offset on, because the consumer has moved back."""
        while self.entries and self.entries[-1].offset >= offset:
            entry = self.entries.pop()
            del self.by_offset[entry.offset]
            self.unfinished -= not entry.is_done
        if self.next_offset is not None and self.next_offset > offset:
            self.next_offset = None
        entry = self.by_offset[offset] = _Entry(offset, leader_epoch)
        self.entries.append(entry)
        self.unfinished += 1

    def done(self, offset: int, leader_epoch: int) -> None:
        """Mark a record as done, and advance past the done records at the start.

        Ignores a record whose leader epoch differs from the entry's, because the log was truncated in the meantime.
        """
        entry = self.by_offset.get(offset)
        if entry is None or entry.is_done or entry.leader_epoch != leader_epoch:
            return
        entry.is_done = True
        self.unfinished -= 1
        while self.entries and self.entries[0].is_done:
            first = self.entries.popleft()
            del self.by_offset[first.offset]
            self.next_offset, self.leader_epoch = first.offset + 1, first.leader_epoch


class OffsetTracker(NotCopied, RebalanceListener):
    """Offsets to commit if worker threads process records out of order.

    The consumer's thread calls `add` for each record of a poll, in order; workers call `done` in any order. `offsets`
    returns the offset up to which all records of a partition are done. After a restart, records beyond it are read
    again, and no record is lost. A record that is never done blocks its partition.

    As the listener of `subscribe`, the tracker forgets revoked partitions.

    Args:
        limit: number of tracked records at which `is_full` becomes true. Done records count until all records before
            them are done.
        runtime: clock and threads; None for those of the system.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT, runtime: Runtime | None = None) -> None:
        if check("limit", limit, int) < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        runtime = runtime or system_runtime()
        self._limit = limit
        self._clock = runtime.clock
        self._driver = runtime.driver
        self._progress = runtime.driver.waiter()
        self._lock = threading.Lock()
        self._partitions: dict[TopicPartition, _Partition] = {}

    @checked
    def add(self, record: Record) -> None:
        """Track a record of a poll; call this method before a worker gets the record."""
        with self._lock:
            tp = TopicPartition(record.topic, record.partition)
            self._partitions.setdefault(tp, _Partition()).add(record.offset, record.leader_epoch)

    @checked
    def done(self, record: Record) -> None:
        """Mark a record as processed; any thread. Untracked records are ignored."""
        with self._lock:
            partition = self._partitions.get(TopicPartition(record.topic, record.partition))
            if partition is not None:
                partition.done(record.offset, record.leader_epoch)
        self._progress.notify()

    @property
    def is_full(self) -> bool:
        """Whether `limit` records are tracked. If so, pause the consumer and keep polling."""
        with self._lock:
            return sum(len(each.entries) for each in self._partitions.values()) >= self._limit

    def offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets for `commit_sync`, `commit_async`, or `store_offsets`."""
        with self._lock:
            return {
                tp: OffsetAndMetadata(each.next_offset, leader_epoch=each.leader_epoch)
                for tp, each in self._partitions.items()
                if each.next_offset is not None
            }

    @checked
    def unfinished(self, topic_partitions: Iterable[TopicPartition] | None = None) -> int:
        """Return the number of unfinished records of the given partitions; None means all partitions."""
        with self._lock:
            wanted = self._partitions if topic_partitions is None else dict.fromkeys(topic_partitions)
            return sum(each.unfinished for tp, each in self._partitions.items() if tp in wanted)

    @checked
    def wait_done(
        self, topic_partitions: Iterable[TopicPartition] | None = None, timeout: float | timedelta | None = None
    ) -> bool:
        """Wait until all records of the given partitions are done; return whether they are. None means all partitions.

        A listener that commits before a revocation calls `wait_done`, `commit_sync(offsets())`, then
        `on_partitions_revoked` of this class. Only one thread may wait.

        Args: timeout: seconds; None for no limit.
        """
        wanted = None if topic_partitions is None else list(topic_partitions)
        timer = Timer(self._clock, to_timeout_ms(timeout, FOREVER_MS))
        while self.unfinished(wanted):
            if not self._driver.wait(self._progress, timer.deadline_at_ms):
                return not self.unfinished(wanted)
        return True

    @checked
    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Drop the records and offsets of the given partitions."""
        with self._lock:
            for tp in topic_partitions:
                self._partitions.pop(tp, None)
        self._progress.notify()

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Forget revoked or lost partitions."""
        self.forget(topic_partitions)
