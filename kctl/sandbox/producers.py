"""What a partition remembers of its producers: the last five batches of each, and the transaction that is open.

 Source:
KIP-98, KIP-360, KIP-890; Kafka keeps five batches because a client may have five requests in flight.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import BatchHeader, BatchRefused

_REMEMBERED = 5
_SEQUENCES = 2**31
"""Sequences wrap around to 0 behind 2**31 - 1."""
_NO_SEQUENCE = -1


class _Batch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp_ms: int


class Appended(NamedTuple):
    """Where a batch is: the answer to its producer."""

    base_offset: int
    append_time_ms: int


class Producer:
    """One producer id, as one partition knows it."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_offset", "last_timestamp_ms", "open_from")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[_Batch] = deque(maxlen=_REMEMBERED)
        self.last_offset = -1
        """Of its latest batch or marker."""
        self.last_timestamp_ms = -1
        self.coordinator_epoch = -1
        """Of the latest marker."""
        self.open_from: int | None = None
        """Where the transaction begins that is open."""

    @property
    def last_sequence(self) -> int:
        """The sequence of its latest record in this epoch; -1 when there is none."""
        return self.batches[-1].last_sequence if self.batches else _NO_SEQUENCE

    @property
    def last_data_offset(self) -> int | None:
        """The offset of its latest record in this epoch; None when there is none."""
        if not self.batches:
            return None
        last = self.batches[-1]
        return last.base_offset + (last.last_sequence - last.base_sequence) % _SEQUENCES

    def enter(self, epoch: int) -> None:
        """Continue in `epoch`; sequences start over in a new one."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class _AskedFor(NamedTuple):
    """Batches of one producer that came before its transaction was known to be open."""

    epoch: int
    lowest_sequence: int
    adds_itself: bool

    def highest_start(self, *, is_known: bool) -> int:
        """Return the highest sequence that may be the first."""
        return 0 if self.adds_itself and not is_known else self.lowest_sequence


class ProducerStates:
    """The producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}
        """By producer id: where its open transaction begins."""
        self._asked_for: dict[int, _AskedFor] = {}

    # --- before a batch is stored -----------------------------------------------------------------------------------

    def check(self, header: BatchHeader) -> Appended | None:
        """Return where the batch already is when it is a repetition, None when it is the next one.

        Raises:
            BatchRefused: its epoch is fenced, batches before it are missing, it is older than those remembered, or it
                belongs to no transaction while one of the same producer is open.
        """
        if header.producer_id < 0:
            return None
        producer = self._producers.get(header.producer_id)
        known = None if producer is None else self._repetition(header, producer)
        if known is not None:
            return known
        self._check_start(header, is_known=producer is not None)
        if producer is not None:
            self._check_next(header, producer)
        # Else a partition that forgot a producer, or never knew it, starts where the producer is (KIP-360).
        return None

    def _check_start(self, header: BatchHeader, *, is_known: bool) -> None:
        asked_for = self._asked_for.get(header.producer_id)
        if asked_for is not None and header.base_sequence > asked_for.highest_start(is_known=is_known):
            raise _out_of_order(header, asked_for.highest_start(is_known=is_known))

    def asked_for(self, header: BatchHeader, *, adds_itself: bool) -> None:
        """Take note of a batch whose transaction is not known to be open: none behind it comes in before it.

        Args:
            header: of the batch as it came.
            adds_itself: its producer has the leader add the partition, and has to start at 0 where it is not known.
        """
        before = self._asked_for.get(header.producer_id)
        now = _AskedFor(header.producer_epoch, header.base_sequence, adds_itself)
        if before is None or before.epoch < now.epoch:
            self._asked_for[header.producer_id] = (
                now if before is None else now._replace(adds_itself=before.adds_itself)
            )
        elif before.epoch == now.epoch and now.lowest_sequence < before.lowest_sequence:
            self._asked_for[header.producer_id] = before._replace(lowest_sequence=now.lowest_sequence)

    def _repetition(self, header: BatchHeader, producer: Producer) -> Appended | None:
        if header.producer_epoch != producer.epoch:
            return None
        sequences = header.base_sequence, _plus(header.base_sequence, header.last_offset_delta)
        for batch in producer.batches:
            if (batch.base_sequence, batch.last_sequence) == sequences:
                # Kafka, too, answers a repetition with the batch's timestamp even where that is no append time.
                return Appended(batch.base_offset, batch.max_timestamp_ms)
        return None

    def _check_next(self, header: BatchHeader, producer: Producer) -> None:
        check_epoch(header.producer_epoch, producer.epoch)
        is_same = header.producer_epoch == producer.epoch
        expected = _plus(producer.last_sequence, 1) if is_same else 0
        if header.base_sequence != expected:
            raise _out_of_order(header, expected)
        if producer.open_from is not None and not header.is_transactional:
            text = f"producer {header.producer_id} has a transaction open, and this batch is outside of it"
            raise BatchRefused(ErrorCode.INVALID_TXN_STATE, text)

    # --- what was stored --------------------------------------------------------------------------------------------

    def remember(self, header: BatchHeader) -> int | None:
        """Take note of a batch as it was stored; for a marker, return where the transaction began that it ends."""
        if header.producer_id < 0:
            return None
        producer = self._producers.setdefault(header.producer_id, Producer(header.producer_epoch))
        producer.enter(header.producer_epoch)
        if header.is_transactional:
            self._asked_for.pop(header.producer_id, None)
        producer.last_offset = header.last_offset
        producer.last_timestamp_ms = header.max_timestamp_ms
        if header.is_control:
            producer.open_from = None
            return self._open.pop(header.producer_id, None)
        self._remember_records(header, producer)
        return None

    def _remember_records(self, header: BatchHeader, producer: Producer) -> None:
        last_sequence = _plus(header.base_sequence, header.last_offset_delta)
        producer.batches.append(
            _Batch(header.base_sequence, last_sequence, header.base_offset, header.max_timestamp_ms)
        )
        if header.is_transactional and producer.open_from is None:
            producer.open_from = self._open[header.producer_id] = header.base_offset

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> None:
        """Return when a coordinator may end a transaction of the producer.

        Raises:
            BatchRefused: a newer epoch has written since, or a newer coordinator.
        """
        producer = self._producers.get(producer_id)
        if producer is None:
            return
        check_epoch(epoch, producer.epoch)
        if coordinator_epoch < producer.coordinator_epoch:
            text = f"coordinator epoch {coordinator_epoch} is older than {producer.coordinator_epoch}"
            raise BatchRefused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, text)

    def ended_by(self, producer_id: int, coordinator_epoch: int) -> None:
        """Take note of the coordinator's epoch in the marker that was stored last."""
        self._producers[producer_id].coordinator_epoch = coordinator_epoch

    def cut(self, end_offset: int, left: list[BatchHeader]) -> None:
        """Forget what was at `end_offset` or behind; `left` are all batches before it.

        Producers that had nothing there are kept as they are, even when retention took their batches.
        """
        kept = {one: known for one, known in self._producers.items() if known.last_offset < end_offset}
        self._producers, self._open = {}, {}
        for header in left:
            self.remember(header)
        self._producers |= kept
        self._open = {one: at.open_from for one, at in self._producers.items() if at.open_from is not None}

    def last_of(self) -> dict[int, tuple[int | None, int]]:
        """Return offset and epoch of the last batch of records of each producer; None: a marker was its last."""
        return {one: (known.last_data_offset, known.epoch) for one, known in self._producers.items()}

    def expire(self) -> None:
        """Forget the producers without an open transaction, as producer.id.expiration.ms does."""
        self._producers = {one: known for one, known in self._producers.items() if one in self._open}
        self._asked_for.clear()

    # --- who is there -----------------------------------------------------------------------------------------------

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Return whether a transaction of this producer in this epoch is open."""
        return producer_id in self._open and self._producers[producer_id].epoch == epoch

    def has_any_open(self, producer_id: int) -> bool:
        """Return whether a transaction of this producer is open, whatever its epoch."""
        return producer_id in self._open

    @property
    def first_open_offset(self) -> int | None:
        """Where the earliest open transaction begins."""
        return min(self._open.values(), default=None)

    def __iter__(self) -> Iterator[tuple[int, Producer]]:
        return iter(self._producers.items())


def check_epoch(epoch: int, latest: int) -> None:
    """Return when a producer in `epoch` may still write.

    Raises:
        BatchRefused: the latest epoch is newer.
    """
    if epoch < latest:
        raise BatchRefused(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {epoch} is older than {latest}")


def _out_of_order(header: BatchHeader, expected: int) -> BatchRefused:
    text = f"producer {header.producer_id}: sequence {header.base_sequence}, {expected} is expected"
    return BatchRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)


def _plus(sequence: int, count: int) -> int:
    return (sequence + count) % _SEQUENCES
