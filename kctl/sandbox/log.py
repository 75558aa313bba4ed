"""Log of one partition, shared by all replicas: batches in offset order, and watchers of new batches.

Callers supply the time. Compaction and retention leave gaps in the offsets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batch_building import coordinator_batch, marker_batch
from kctl.sandbox.batches import BatchRefused, StoredBatch, appended, header_of, produced_batch
from kctl.sandbox.compaction import Aborted, Due, Limits, compacted, due
from kctl.sandbox.leader_epochs import LeaderEpochs
from kctl.sandbox.producers import Appended, ProducerStates
from kctl.sandbox.record_walk import check_records
from kctl.sandbox.retention import kept_from
from kctl.sandbox.segments import Segments
from kctl.sandbox.settings import TopicSettings

_INDEX_INTERVAL_BYTES = 4_096


class OffsetOutOfRange(Exception):
    """Offset outside of the log."""


class PartitionLog:
    def __init__(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.start_offset = 0
        self.end_offset = 0
        self.epochs = LeaderEpochs()
        self._batches: list[StoredBatch] = []
        self._base_offsets: list[int] = []
        self.producers = ProducerStates()
        self.segments = Segments()
        self.compacted_until = 0
        """End offset of the compacted part."""
        self.when_stored: Callable[[], None] = lambda: None
        """Called after each stored batch."""
        self._aborted: list[Aborted] = []
        """Aborted transactions, in the order of their markers."""
        self._watchers: dict[int, Callable[[], None]] = {}
        self._watches = 0

    # --- writing ------------------------------------------------------------------------------------------------------

    def append(self, records: bytes | None, leader_epoch: int, wall_ms: int) -> Appended:
        """Append the batch in `records`, and return its position. For a duplicate, return the position of the first
        copy.

        Raises: BatchRefused: the batch is invalid.
        """
        header = produced_batch(records)
        assert records is not None
        if len(records) > self.settings.max_message_bytes:
            text = (
                f"the batch of {len(records)} bytes is larger than the topic allows ({self.settings.max_message_bytes})"
            )
            raise BatchRefused(ErrorCode.MESSAGE_TOO_LARGE, text)
        check_records(header, records, need_keys=self.settings.is_compacted)
        append_time_ms = wall_ms if self.settings.is_log_append_time else -1
        if append_time_ms < 0 and header.max_timestamp_ms > wall_ms + self.settings.timestamp_after_max_ms:
            text = f"timestamp {header.max_timestamp_ms} is too far ahead of the broker's {wall_ms}"
            raise BatchRefused(ErrorCode.INVALID_TIMESTAMP, text)
        known = self.producers.check(header)
        if known is not None:
            return known
        base_offset = self.end_offset
        self._store(records, leader_epoch, append_time_ms, wall_ms)
        self.wake()
        return Appended(base_offset, append_time_ms)

    def append_own(
        self,
        pairs: Sequence[tuple[bytes, bytes | None]],
        leader_epoch: int,
        wall_ms: int,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        """Append records that a coordinator writes. They are transactional if a producer ID is given."""
        data = coordinator_batch(pairs, wall_ms, producer_id, producer_epoch)
        self._store(data, leader_epoch, -1, wall_ms)
        self.wake()

    def _store(self, records: bytes, leader_epoch: int, append_time_ms: int, wall_ms: int) -> int | None:
        """Store a batch. If it is a marker, return the start of the transaction that it ends, otherwise None."""
        data = appended(records, self.end_offset, leader_epoch, append_time_ms if append_time_ms >= 0 else None)
        opened_at = self._add(StoredBatch(header_of(data), data), wall_ms)
        self.when_stored()
        return opened_at

    def _add(self, stored: StoredBatch, wall_ms: int) -> int | None:
        header = stored.header
        self.epochs.begin(header.leader_epoch, header.base_offset)
        self._batches.append(stored)
        self._base_offsets.append(header.base_offset)
        self.end_offset = header.last_offset + 1
        self.segments.place(header, len(stored.data), wall_ms, self.settings)
        return self.producers.remember(header)

    def restore(
        self,
        batches: Iterable[StoredBatch],
        start_offset: int,
        end_offset: int,
        aborted: Iterable[Aborted],
        wall_ms: int,
    ) -> None:
        """Take over the content of an earlier log, and abort its open transactions."""
        for stored in batches:
            self._add(stored, wall_ms)
        self.start_offset, self.end_offset = start_offset, end_offset
        self._aborted = list(aborted)
        for producer_id, producer in list(self.producers):
            if producer.open_from is not None:
                self.append_marker(producer_id, producer.epoch, self.epochs.latest, wall_ms, commit=False, by_epoch=0)

    def append_marker(
        self, producer_id: int, producer_epoch: int, leader_epoch: int, wall_ms: int, *, commit: bool, by_epoch: int
    ) -> None:
        """End the transaction of a producer in this partition, even if the producer wrote nothing to it.

        Args:
            producer_id, producer_epoch: the producer. An epoch newer than in its batches fences it.
            leader_epoch: epoch of the appending leader.
            by_epoch: epoch of the coordinator.
        """
        self.producers.check_marker(producer_id, producer_epoch, by_epoch)
        data = marker_batch(producer_id, producer_epoch, commit=commit, coordinator_epoch=by_epoch, wall_ms=wall_ms)
        marker_offset = self.end_offset
        opened_at = self._store(data, leader_epoch, -1, wall_ms)
        self.producers.ended_by(producer_id, by_epoch)
        if opened_at is not None and not commit:
            self._aborted.append(Aborted(producer_id, opened_at, marker_offset))
        self.wake()

    def delete_records(self, before_offset: int) -> None:
        if before_offset > self.end_offset:
            raise OffsetOutOfRange(f"offset {before_offset} of a log that ends at {self.end_offset}")
        self.start_offset = max(self.start_offset, before_offset)
        self.epochs.advance(self.start_offset)
        self._aborted = [one for one in self._aborted if one.marker_offset >= self.start_offset]
        bounds = [one.base_offset for one in self.segments]
        first = max(0, bisect_right(bounds, self.start_offset) - 1)
        self._keep([batch for batch in self._batches if batch.header.last_offset >= self.start_offset], bounds[first:])

    def cut(self, end_offset: int) -> None:
        """Truncate the log at `end_offset`. A batch that contains this offset is removed entirely."""
        if end_offset >= self.end_offset:
            return
        left = [batch for batch in self._batches if batch.header.last_offset < end_offset]
        self._keep(left, [one.base_offset for one in self.segments if one.base_offset < end_offset])
        last = self._batches[-1].header.last_offset + 1 if self._batches else self.start_offset
        self.end_offset = max(self.start_offset, last)
        self.epochs.cut(self.end_offset)
        self.producers.cut(self.end_offset, [batch.header for batch in self._batches])
        self._aborted = [one for one in self._aborted if one.marker_offset < self.end_offset]
        self.compacted_until = min(self.compacted_until, self.end_offset)

    def _keep(self, batches: list[StoredBatch], bounds: list[int]) -> None:
        self._batches = batches
        self.segments.keep(batches, bounds)
        self._base_offsets = [batch.header.base_offset for batch in batches]

    def begin_epoch(self, epoch: int) -> None:
        self.epochs.begin(epoch, self.end_offset)

    # --- cleanup ------------------------------------------------------------------------------------------------------

    def due(self, wall_ms: int) -> Due:
        return due(self, wall_ms)

    def compact(self, wall_ms: int) -> None:
        until = self.due(wall_ms)
        limits = Limits(wall_ms, self.settings.delete_retention_ms, self.producers.last_of())
        left = compacted(self, until, limits)
        self._keep(left.batches, self.segments.merged(left.until_offset, self.settings.segment_bytes))
        self._aborted = sorted(left.aborted, key=lambda one: one.marker_offset)
        self.compacted_until = left.until_offset

    def expire(self, wall_ms: int, high_watermark: int) -> None:
        """Delete segments according to retention.ms and retention.bytes."""
        before_offset = kept_from(self, wall_ms, high_watermark)
        if before_offset > self.start_offset:
            if before_offset == self.end_offset and self.segments.active_offset < self.end_offset:
                self.segments.roll(self.end_offset, wall_ms)
            self.delete_records(before_offset)

    @property
    def aborted(self) -> tuple[Aborted, ...]:
        return tuple(self._aborted)

    # --- transactions -------------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Start of the first open transaction, or the end of the log if no transaction is open."""
        first_open = self.producers.first_open_offset
        return self.end_offset if first_open is None else max(first_open, self.start_offset)

    def aborted_between(self, offset: int, read_bytes: int) -> list[Aborted]:
        """Return the aborted transactions that overlap a read of `read_bytes` at `offset`.

        As in Kafka, whose index has an entry for each 4 KiB, includes transactions that begin shortly after the read.
        """
        first = bisect_left(self._aborted, offset, key=lambda one: one.marker_offset)
        if first == len(self._aborted):
            return []
        upper = self._offset_behind(offset, read_bytes + _INDEX_INTERVAL_BYTES)
        return [one for one in self._aborted[first:] if one.first_offset < upper]

    def _offset_behind(self, offset: int, size_bytes: int) -> int:
        at = max(0, bisect_right(self._base_offsets, offset) - 1)
        while at < len(self._batches) and size_bytes > 0:
            size_bytes -= len(self._batches[at].data)
            at += 1
        return self._base_offsets[at] if at < len(self._batches) else self.end_offset

    # --- reading ------------------------------------------------------------------------------------------------------

    def batches_from(self, offset: int, end_offset: int) -> list[StoredBatch]:
        """Return the batches from the one that contains `offset` up to `end_offset`.

        Raises: OffsetOutOfRange: `offset` is outside of the log.
        """
        if not self.start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(f"offset {offset} of a log from {self.start_offset} to {end_offset}")
        if offset == end_offset:
            return []
        first = max(0, bisect_right(self._base_offsets, offset) - 1)
        if self._batches and self._batches[first].header.last_offset < offset:
            first += 1  # compaction left a gap
        return self._batches[first : bisect_left(self._base_offsets, end_offset)]

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool, end_offset: int | None = None) -> bytes:
        """Return up to `max_bytes` of batches, from the one that contains `offset`. As in Kafka, the last may be
        incomplete.

        Args:
            at_least_one: return the first batch even if it is larger than `max_bytes`. If False, return nothing.
            end_offset: end of the readable part. None is the end of the log.
        """
        batches = self.batches_from(offset, self.end_offset if end_offset is None else end_offset)
        if not batches:
            return b""
        first_bytes = len(batches[0].data)
        if first_bytes > max_bytes:
            return batches[0].data if at_least_one else b""
        return _cut([batch.data for batch in batches], max_bytes)

    @property
    def batches(self) -> tuple[StoredBatch, ...]:
        return tuple(self._batches)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each append and each `wake`. Return a function that removes the watcher."""
        self._watches += 1
        number = self._watches
        self._watchers[number] = watcher

        def stop() -> None:
            self._watchers.pop(number, None)

        return stop

    def wake(self) -> None:
        for number in list(self._watchers):
            watcher = self._watchers.get(number)
            if watcher is not None:  # an earlier watcher may have removed it
                watcher()

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def is_contiguous(self) -> bool:
        return all(one.header.last_offset + 1 == two.header.base_offset for one, two in pairwise(self._batches))


def _cut(batches: Sequence[bytes], max_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = max_bytes
    for data in batches:
        parts.append(data[:left])
        left -= len(parts[-1])
        if left == 0:
            break
    return b"".join(parts)
