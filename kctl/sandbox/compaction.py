"""Log compaction: keeps the latest record of each key, and tombstones and markers for a limited time.

Source: KIP-58 and KIP-354 (lags), KIP-534 (delete horizons), KIP-98 (transactions).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.sandbox.batch_building import kept_batch
from kctl.sandbox.batches import BatchHeader, StoredBatch, header_of
from kctl.sandbox.record_walk import RawRecord, records_of

if TYPE_CHECKING:
    from kctl.sandbox.log import PartitionLog

_COMMIT_KEY = b"\0\0\0\1"
"""Key of a commit marker."""


class Aborted(NamedTuple):
    producer_id: int
    first_offset: int
    marker_offset: int


class Due(NamedTuple):
    """Part of a log that can be compacted, and whether it is large or old enough to be compacted now."""

    first_dirty_offset: int
    until_offset: int
    is_due: bool
    may_be_later: bool
    """True if the log can become due without new records."""


def due(log: "PartitionLog", wall_ms: int) -> Due:
    """Return the part of a log that can be compacted."""
    settings = log.settings
    first_dirty = max(log.compacted_until, log.start_offset)
    bounds = [*(one.base_offset for one in log.segments)]
    inactive = list(zip(log.segments, bounds[1:], strict=False))
    stable = log.last_stable_offset
    until = next((one.base_offset for one, end in inactive if stable < end), log.segments.active_offset)
    dirty = [one for one, end in inactive if end > first_dirty]
    young_ms = wall_ms - settings.min_compaction_lag_ms
    young = [
        one.base_offset for one in dirty if settings.min_compaction_lag_ms and one.greatest_timestamp_ms > young_ms
    ]
    is_held_by_lag = bool(young) and young[0] < until
    until = young[0] if is_held_by_lag else until
    clean_bytes = sum(one.size_bytes for one, end in inactive if end <= first_dirty)
    dirty_bytes = sum(one.size_bytes for one in dirty if one.base_offset < until)
    oldest_ms = min((one.first_timestamp_ms for one in dirty if one.first_timestamp_ms >= 0), default=wall_ms)
    is_overdue = wall_ms - oldest_ms > settings.max_compaction_lag_ms
    if not dirty_bytes:
        return Due(first_dirty, until, is_due=False, may_be_later=is_held_by_lag)
    is_due = is_overdue or dirty_bytes / (clean_bytes + dirty_bytes) > settings.min_cleanable_dirty_ratio
    has_limit = settings.max_compaction_lag_ms < 2**63 - 1
    return Due(first_dirty, until, is_due, may_be_later=not is_due and (is_held_by_lag or has_limit))


class _Transactions:
    """Transactions seen while batches are read in offset order."""

    def __init__(self, aborted: Iterable[Aborted]) -> None:
        self._coming = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._aborting: dict[int, Aborted] = {}
        self._seen: set[int] = set()
        """Producers with remaining batches of a current aborted transaction."""
        self._committing: set[int] = set()
        self.kept: list[Aborted] = []
        """Aborted transactions with remaining batches."""

    def _advance(self, header: BatchHeader) -> None:
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            one = self._coming.pop()
            self._aborting[one.producer_id] = one

    def is_aborted(self, header: BatchHeader) -> bool:
        self._advance(header)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborting:
            self._seen.add(header.producer_id)
            return True
        self._committing.add(header.producer_id)
        return False

    def is_marker_free(self, header: BatchHeader, records: list[RawRecord]) -> bool:
        """Return whether the log has no more batches of the transaction that this marker ends."""
        self._advance(header)
        if not records:
            return True
        producer_id = header.producer_id
        if (records[0].key or b"") == _COMMIT_KEY:
            was_seen = producer_id in self._committing
            self._committing.discard(producer_id)
            return not was_seen
        aborted = self._aborting.pop(producer_id, None)
        if aborted is not None and producer_id in self._seen:
            self._seen.discard(producer_id)
            self.kept.append(aborted)
            return False
        return True


class Compacted(NamedTuple):
    """Batches of a compacted log, and the aborted transactions that readers still need."""

    batches: list[StoredBatch]
    aborted: list[Aborted]
    until_offset: int
    """End of the compacted part, exclusive."""


class Limits(NamedTuple):
    """Limits of a compaction.

    Attributes:
        last_of: dict from producer ID to the offset and epoch of its last data batch. The offset is None after a
            marker. The batch is kept for its sequence numbers, even if it has no records.
    """

    wall_ms: int
    delete_retention_ms: int
    last_of: Mapping[int, tuple[int | None, int]]


def compacted(log: "PartitionLog", due_now: Due, limits: Limits) -> Compacted:
    latest, end_offset = _latest_offsets(log, due_now)
    transactions = _Transactions(log.aborted)
    kept: list[StoredBatch] = []
    for batch in log.batches:
        if batch.header.base_offset >= end_offset:
            kept.append(batch)
        else:
            kept += _left_of(batch, latest, end_offset, transactions, limits)
    aborted = [*transactions.kept, *(one for one in log.aborted if one.marker_offset >= end_offset)]
    return Compacted(kept, aborted, end_offset)


def _latest_offsets(log: "PartitionLog", due_now: Due) -> tuple[dict[bytes, int], int]:
    transactions = _Transactions(one for one in log.aborted if one.marker_offset >= due_now.first_dirty_offset)
    latest: dict[bytes, int] = {}
    end_offset = due_now.first_dirty_offset
    for header, data in log.batches:
        if header.base_offset >= due_now.until_offset:
            break
        if header.last_offset < due_now.first_dirty_offset:
            continue
        if header.is_control:
            transactions.is_marker_free(header, list(records_of(header, data)))
        elif not transactions.is_aborted(header):
            for record in records_of(header, data):
                offset = header.base_offset + record.offset_delta
                if record.key is not None and offset >= log.start_offset:
                    latest[record.key] = offset
        end_offset = header.last_offset + 1
    return latest, end_offset


def _kept_records(
    header: BatchHeader,
    records: list[RawRecord],
    latest: Mapping[bytes, int],
    transactions: _Transactions,
    *,
    is_past: bool,
) -> tuple[list[RawRecord], bool]:
    """Return the records to keep, and whether some of them need a delete horizon.

    Args:
        is_past: whether the batch's delete horizon has passed.
    """
    if header.is_control:
        is_free = transactions.is_marker_free(header, records)
        return ([] if is_free and is_past else records), is_free
    is_aborted = transactions.is_aborted(header)
    left = [] if is_aborted else [one for one in records if _is_kept(header, one, latest, is_past=is_past)]
    return left, any(not one.has_value for one in left)


def _left_of(
    batch: StoredBatch, latest: Mapping[bytes, int], end_offset: int, transactions: _Transactions, limits: Limits
) -> Iterator[StoredBatch]:
    header, horizon_ms = batch.header, batch.header.delete_horizon_ms
    records = list(records_of(header, batch.data))
    is_past = horizon_ms is not None and horizon_ms <= limits.wall_ms
    left, starts_horizon = _kept_records(header, records, latest, transactions, is_past=is_past)
    if not left:
        if _is_remembered(header, limits) or header.last_offset + 1 == end_offset:
            yield _stored(header, [], None)
    elif starts_horizon and horizon_ms is None:
        yield _stored(header, left, limits.wall_ms + limits.delete_retention_ms)
    elif len(left) < len(records):
        yield _stored(header, left, horizon_ms)
    else:
        yield batch


def _is_kept(header: BatchHeader, record: RawRecord, latest: Mapping[bytes, int], *, is_past: bool) -> bool:
    key = record.key
    if key is None or latest.get(key, -1) > header.base_offset + record.offset_delta:
        return False
    return record.has_value or not is_past


def _is_remembered(header: BatchHeader, limits: Limits) -> bool:
    last_offset, epoch = limits.last_of.get(header.producer_id, (-1, -1))
    if last_offset is None:
        return header.is_control and header.producer_epoch == epoch
    return last_offset == header.last_offset


def _stored(header: BatchHeader, records: list[RawRecord], horizon_ms: int | None) -> StoredBatch:
    data = kept_batch(header, records, horizon_ms)
    return StoredBatch(header_of(data), data)
