"""SharePartition: records of one partition that a share group hands out. Source: KIP-932.

An acquired record is locked for one member until it is acknowledged or the lock expires. Records up to the first one
that is not done are before the start offset.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import StoredBatch
from kctl.sandbox.runtime import Handle

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
MOST_DELIVERIES = 5
"""Kafka's default of group.share.delivery.count.limit. The record is then done."""
MOST_IN_FLIGHT = 2000
"""Kafka's default of group.share.partition.max.record.locks."""


class Acknowledged(Protocol):
    """Offsets and their types: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class Acquired(NamedTuple):
    first_offset: int
    last_offset: int
    deliveries: int


class _Lock:
    """Lock of the records that a member acquired together."""

    __slots__ = ("member_id", "timer")

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.timer: Handle | None = None


class _Record:
    __slots__ = ("deliveries", "is_done", "lock")

    def __init__(self) -> None:
        self.deliveries = 0
        self.is_done = False
        self.lock: _Lock | None = None


class SharePartition:
    """State of the records of one partition for one group.

    Args:
        call_later: starts the timer of a lock.
        when_freed: called when locked records become available again.
    Attributes:
        start_offset: first record that is not done.
        leader_epoch: epoch of the leader that hands them out. A new leader knows no locks.
    """

    def __init__(
        self,
        start_offset: int,
        leader_epoch: int,
        call_later: Callable[[Callable[[], None]], Handle],
        when_freed: Callable[[], None],
    ) -> None:
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self._call_later = call_later
        self._when_freed = when_freed
        self._next_offset = start_offset
        """End of the records that were ever acquired."""
        self._records: dict[int, _Record] = {}
        """Records from the start offset on that were acquired."""

    @property
    def available_offset(self) -> int:
        """First record that can be acquired."""
        free = (offset for offset, one in self._records.items() if not one.is_done and one.lock is None)
        return min(free, default=self._next_offset)

    def follow(self, leader_epoch: int, log_start_offset: int, log_end_offset: int) -> None:
        """Drop all locks if the leader is new, and records that the log no longer has."""
        if leader_epoch != self.leader_epoch:
            self.leader_epoch = leader_epoch
            self._unlock(lambda _: True)
        self._next_offset = min(max(self._next_offset, log_start_offset), log_end_offset)
        kept = range(log_start_offset, log_end_offset)
        self._records = {offset: one for offset, one in self._records.items() if offset in kept}
        self.start_offset = min(max(self.start_offset, log_start_offset), log_end_offset)

    def acquire(
        self, member_id: str, batches: Iterable[StoredBatch], end_offset: int, most: int, *, is_strict: bool
    ) -> list[Acquired]:
        """Lock available records for a member.

        Args:
            end_offset: end of the readable part of the log.
            most: maximum number of records. Unless `is_strict`, the last batch is acquired whole.
        """
        lock = _Lock(member_id)
        end_offset = min(end_offset, self.start_offset + MOST_IN_FLIGHT)
        taken: list[Acquired] = []
        count = 0
        for batch in batches:
            first = max(batch.header.base_offset, self.start_offset)
            for offset in range(first, min(batch.header.last_offset + 1, end_offset)):
                if is_strict and count >= most:
                    break
                if offset < self._next_offset and offset not in self._records:
                    continue  # done and before a compaction
                record = self._records.setdefault(offset, _Record())
                self._next_offset = max(self._next_offset, offset + 1)
                if record.is_done or record.lock is not None:
                    continue
                record.lock = lock
                record.deliveries += 1
                count += 1
                _extend(taken, offset, record.deliveries)
            if count >= most:
                break
        if taken:
            self._start(lock)
        return taken

    def acknowledge(self, member_id: str, batches: Sequence[Acknowledged]) -> ErrorCode:
        """Apply all acknowledgements of a member, or none and return the error."""
        types: dict[int, int] = {}
        for batch in batches:
            code = self._read(member_id, batch, types)
            if code is not ErrorCode.NONE:
                return code
        self._apply(member_id, types)
        return ErrorCode.NONE

    def release(self, member_id: str) -> None:
        """Make the records of a member available."""
        self._unlock(lambda lock: lock.member_id == member_id)

    def _read(self, member_id: str, batch: Acknowledged, types: dict[int, int]) -> ErrorCode:
        first, last, given = batch.first_offset, batch.last_offset, batch.acknowledge_types
        size = last - first + 1
        if size < 1 or len(given) not in (1, size) or any(one not in range(RENEW + 1) for one in given):
            return ErrorCode.INVALID_REQUEST
        if last >= self._next_offset:
            return ErrorCode.INVALID_RECORD_STATE
        for offset, record in self._records.items():
            if not first <= offset <= last:
                continue
            if record.lock is None or record.lock.member_id != member_id or offset in types:
                return ErrorCode.INVALID_RECORD_STATE
            types[offset] = given[0] if len(given) == 1 else given[offset - first]
        return ErrorCode.NONE

    def _apply(self, member_id: str, types: Mapping[int, int]) -> None:
        renewed = _Lock(member_id)
        for offset, kind in types.items():
            record = self._records[offset]
            if kind == RENEW:
                record.lock = renewed
                continue
            record.lock = None
            record.is_done = kind != RELEASE or record.deliveries >= MOST_DELIVERIES
        if RENEW in types.values():
            self._start(renewed)
        self._advance()
        if RELEASE in types.values():
            self._when_freed()

    def _start(self, lock: _Lock) -> None:
        lock.timer = self._call_later(lambda: self._unlock(lambda one: one is lock))

    def _unlock(self, is_meant: Callable[[_Lock], bool]) -> None:
        freed = [one for one in self._records.values() if one.lock is not None and is_meant(one.lock)]
        for record in freed:
            record.lock = None
            record.is_done = record.deliveries >= MOST_DELIVERIES
        self._advance()
        if freed:
            self._when_freed()

    def _advance(self) -> None:
        open_ = (offset for offset, one in self._records.items() if not one.is_done)
        self.start_offset = min(open_, default=self._next_offset)
        self._records = {offset: one for offset, one in self._records.items() if offset >= self.start_offset}


def _extend(taken: list[Acquired], offset: int, deliveries: int) -> None:
    last = taken[-1] if taken else None
    if last is not None and last.last_offset == offset - 1 and last.deliveries == deliveries:
        taken[-1] = last._replace(last_offset=offset)
    else:
        taken.append(Acquired(offset, offset, deliveries))
