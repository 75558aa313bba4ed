"""PartitionQueue: unfinished records of one partition: frozen batches, oldest first, then waiting runs.

A batch is frozen when its records are encoded. Each partition has its own epoch and sequence numbers, so a gap (a batch
failed without a response) starts a new epoch for that partition only. The network loop owns the queues; only
accumulator.py changes them.

Source: KIP-98, KIP-360; Java's TransactionManager. Differs: after a failed attempt, only one batch is in flight until
its result is known. A broker that may not know the producer gets one batch alone, because it would accept any first
sequence number.
"""

from collections import deque
from collections.abc import Iterable

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.producer.batch import NO_SEQUENCE, Batch
from kctl.client.producer.batch_limit import BatchLimit
from kctl.client.producer.future import FlushGroup, SendFuture
from kctl.client.producer.metrics import TopicCounters
from kctl.client.producer.record import UNENCODED_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import BATCH_OVERHEAD_BYTES
from kctl.client.requests.producer_id import NO_PRODUCER_ID

MAX_EPOCH = 2**15 - 1
SEQUENCES = 2**31
"""Sequence numbers range from 0 to 2**31 - 1 and then start again."""


class PartitionSequence:
    """Epoch and next sequence number of one partition.

    Attributes: is_proven: whether a batch of this epoch was acknowledged. Until then, only one batch is in flight.
    """

    __slots__ = ("epoch", "is_proven", "next_sequence", "producer_id")

    def __init__(self) -> None:
        self.producer_id, self.epoch = NO_PRODUCER_ID
        self.next_sequence = 0
        self.is_proven = False

    def adopt(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.next_sequence = 0
        self.is_proven = False

    def reserve(self, record_count: int) -> int:
        first = self.next_sequence
        self.next_sequence = plus(first, record_count)
        return first

    def give_back(self, base_sequence: int) -> None:
        """Undo `reserve` for the last batches, which were not written."""
        self.next_sequence = base_sequence

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.next_sequence = 0
        self.is_proven = False

    @property
    def is_used_up(self) -> bool:
        return self.epoch > MAX_EPOCH


def plus(sequence: int, count: int) -> int:
    return (sequence + count) % SEQUENCES


class PartitionQueue:
    __slots__ = (
        "_window",
        "batches",
        "counters",
        "has_gap",
        "is_idempotent",
        "limit",
        "needs_numbers",
        "needs_restart",
        "queued_bytes",
        "queued_count",
        "ratio",
        "runs",
        "sequence",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        batch_size_bytes: int,
        *,
        window: int,
        is_idempotent: bool,
        counters: TopicCounters,
    ) -> None:
        self.topic_partition = topic_partition
        self.limit = BatchLimit(batch_size_bytes)
        self.ratio = 1.0
        """Expected ratio of compressed to plain size in the next batch."""
        self.counters = counters
        self.is_idempotent = is_idempotent
        self.runs: deque[RecordRun] = deque()
        self.queued_bytes = 0
        """Part of buffer.memory that the waiting records use."""
        self.queued_count = 0
        """Number of waiting records."""
        self.batches: deque[Batch] = deque()
        self.sequence = PartitionSequence()
        self.has_gap = False
        """Whether a batch failed before those in flight, so their sequence numbers may not follow the log."""
        self.needs_restart = False
        """Whether sequence numbers have a gap, so a new epoch starts when nothing is in flight."""
        self.needs_numbers = False
        """Whether frozen batches still have the numbers of an earlier epoch or producer id."""
        self._window = window

    # --- waiting records ----------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return not self.runs and not self.batches

    @property
    def waiting_bytes(self) -> int:
        return self.queued_bytes - UNENCODED_BYTES * self.queued_count

    @property
    def batch_size_bytes(self) -> int:
        return self.limit.bytes

    @property
    def plain_batch_bytes(self) -> int:
        """Estimated plain bytes of a full batch."""
        return int(self.limit.bytes / self.ratio)

    def room_bytes(self) -> int:
        """Return the estimated free plain bytes of the batch that is being filled.

        The code of two properties is repeated, because each turn calls this method for each active queue.
        """
        waiting_bytes = self.queued_bytes - UNENCODED_BYTES * self.queued_count
        return int(self.limit.bytes / self.ratio) - BATCH_OVERHEAD_BYTES - waiting_bytes

    @property
    def waiting_batches(self) -> int:
        """Number of batches not in flight, including the one that is being filled."""
        frozen = sum(not batch.is_in_flight for batch in self.batches)
        return frozen + -(-self.waiting_bytes // max(self.plain_batch_bytes, 1)) if self.runs else frozen

    def put(self, run: RecordRun) -> None:
        records = run.records
        if records is not None and self.extend(records, run.group):
            return
        self.runs.append(run)
        self.queued_bytes += run.size_bytes
        self.queued_count += run.count

    def extend(self, records: list[SendFuture], group: FlushGroup | None) -> bool:
        """Append `send` records to the last waiting run; return whether this was possible."""
        size_bytes = self.runs[-1].extend(records, group) if self.runs else 0
        if not size_bytes:
            return False
        self.queued_bytes += size_bytes
        self.queued_count += len(records)
        return True

    def pop_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[RecordRun]:
        expired: list[RecordRun] = []
        while self.runs and (count := self.runs[0].expired_count(now_ms, delivery_timeout_ms)):
            run = self.runs.popleft() if count == self.runs[0].count else self.runs[0].cut_off(count)
            self.queued_bytes -= run.size_bytes
            self.queued_count -= run.count
            expired.append(run)
        return expired

    def pop_all(self) -> list[RecordRun]:
        taken = list(self.runs)
        self.runs.clear()
        self.queued_bytes = self.queued_count = 0
        return taken

    # --- batches to send ----------------------------------------------------------------------------------------------

    @property
    def has_in_flight(self) -> bool:
        return any(batch.is_in_flight for batch in self.batches)

    def next_frozen(self) -> Batch | None:
        for batch in self.batches:
            if not batch.is_in_flight:
                return batch
        return None

    def due_at_ms(self, linger_ms: int, *, is_linger_over: bool) -> int:
        """Return the time at which the next batch may be sent.

        Return FOREVER_MS if there is nothing to send, or if the queue waits for a response or for compression.
        """
        if self.batches:
            if self.needs_restart and self.has_in_flight:
                return FOREVER_MS
            ahead, frozen = 0, None
            for batch in self.batches:
                if not batch.is_in_flight:
                    frozen = batch
                    break
                ahead += 1
            if ahead and ahead >= self._present_window():
                return FOREVER_MS
            if frozen is not None:
                return FOREVER_MS if ahead and frozen.attempts and self.is_idempotent else frozen.retry_at_ms
        if not self.runs:
            return FOREVER_MS
        first = self.runs[0]
        if first.is_compressing:
            return FOREVER_MS
        if is_linger_over or first.encoded is not None or self.room_bytes() <= 0:
            return 0
        due_at_ms = first.created_at_ms + linger_ms
        return due_at_ms if due_at_ms < FOREVER_MS else FOREVER_MS

    def _present_window(self) -> int:
        if not self.limit.is_proven:
            return 1
        if self.is_idempotent and (not self.sequence.is_proven or self.batches[0].attempts > 1):
            return 1
        return self._window

    @property
    def awaits_response(self) -> bool:
        return bool(self.batches) and len(self.batches) >= self._present_window() and self.next_frozen() is None

    def may_go_to(self, node_id: int) -> bool:
        """Return whether a batch for this broker cannot overtake a batch in flight to another broker."""
        if not self.is_idempotent and self._window > 1:
            return True
        return all(batch.node_id == node_id for batch in self.batches if batch.is_in_flight)

    def expires_at_ms(self, delivery_timeout_ms: int) -> int:
        nearest_ms = self.runs[0].created_at_ms + delivery_timeout_ms if self.runs else FOREVER_MS
        for batch in self.batches:
            expires_at_ms = batch.expires_at_ms(delivery_timeout_ms)
            nearest_ms = expires_at_ms if expires_at_ms < nearest_ms else nearest_ms
        return nearest_ms

    # --- batches that leave -------------------------------------------------------------------------------------------

    def acknowledged(self, batch: Batch) -> None:
        batch.is_in_flight = False
        self.batches.remove(batch)
        self.sequence.is_proven = True
        self.has_gap = False

    def drop(self, batch: Batch) -> None:
        """Remove a failed batch. If no log contains it, close the gap in sequence numbers.

        If it may be written, later batches keep their numbers. If it was not written, the broker rejects the next batch
        as out of order.
        """
        batch.is_in_flight = False
        at = self.batches.index(batch)
        del self.batches[at]
        if batch.base_sequence == NO_SEQUENCE:
            return
        if batch.may_be_written:
            self.has_gap = True
            if not self.batches:
                self.needs_restart = True
        else:
            self.has_gap = self.has_gap or any(later.is_unknown for later in list(self.batches)[at:])
            self.close_gap(at, batch.base_sequence)

    def drop_everything(self) -> None:
        if not self.batches:
            return
        first = self.batches[0].base_sequence
        is_unknown = any(batch.is_unknown for batch in self.batches)
        for batch in self.batches:
            batch.is_in_flight = False
        self.batches.clear()
        if first == NO_SEQUENCE:
            return
        if is_unknown:
            self.needs_restart = True
        elif not self.needs_numbers:
            self.sequence.give_back(first)

    def replace(self, batch: Batch, pieces: Iterable[Batch]) -> None:
        """Replace a batch that no log contains by smaller ones."""
        at = self.batches.index(batch)
        del self.batches[at]
        for piece in reversed(list(pieces)):
            self.batches.insert(at, piece)
        if batch.base_sequence != NO_SEQUENCE:
            self.close_gap(at, batch.base_sequence)

    def is_open_behind(self, batch: Batch) -> bool:
        """Return whether the sequence numbers of later batches can still change."""
        at = self.batches.index(batch)
        return not self.is_idempotent or not any(later.is_unknown for later in list(self.batches)[at + 1 :])

    def close_gap(self, at: int, base_sequence: int, *, is_new_epoch: bool = False) -> None:
        """Renumber the batches from index `at`, unless a log may contain one of them.

        Args: is_new_epoch: whether to give all batches the current producer id and epoch, even if their sequence stays.
        """
        behind = list(self.batches)[at:]
        if self.needs_numbers or any(batch.is_unknown for batch in behind):
            return
        sequence = self.sequence
        sequence.give_back(base_sequence)
        for batch in behind:
            first = sequence.reserve(batch.record_count)
            if batch.base_sequence != first or is_new_epoch:
                batch.renumber(sequence.producer_id, sequence.epoch, first)

    # --- sequences ----------------------------------------------------------------------------------------------------

    def lost_sequence(self) -> None:
        for batch in self.batches:
            batch.may_be_written = False

    def begin_epoch(self) -> None:
        """If `needs_restart` is set and nothing is in flight, start an epoch; `number_frozen` must follow."""
        if self.needs_restart and not self.has_in_flight:
            self.needs_restart = self.has_gap = False
            self.needs_numbers = True
            if self.sequence.epoch >= 0:
                self.sequence.begin_epoch()

    def number_frozen(self) -> None:
        """Number the frozen batches from 0 with the current epoch and producer id."""
        self.needs_numbers = False
        self.close_gap(0, 0, is_new_epoch=True)
