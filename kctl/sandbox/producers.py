"""Producer state of a partition: the last five batches and the open transaction of each producer.

A client may have five requests in flight. Source: KIP-98, KIP-360, KIP-890.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import BatchHeader, BatchRefused

_REMEMBERED = 5
_SEQUENCES = 2**31
"""Number of sequences. They wrap around to 0 after 2**31 - 1."""
_NO_SEQUENCE = -1


class _Batch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp_ms: int


class Appended(NamedTuple):
    base_offset: int
    append_time_ms: int


class Producer:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_offset", "last_timestamp_ms", "open_from")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[_Batch] = deque(maxlen=_REMEMBERED)
        self.last_offset = -1
        """Offset of its latest batch or marker."""
        self.last_timestamp_ms = -1
        self.coordinator_epoch = -1
        """Coordinator epoch of its latest marker."""
        self.open_from: int | None = None
        """Start of its open transaction, or None."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else _NO_SEQUENCE

    @property
    def last_data_offset(self) -> int | None:
        if not self.batches:
            return None
        last = self.batches[-1]
        return last.base_offset + (last.last_sequence - last.base_sequence) % _SEQUENCES

    def enter(self, epoch: int) -> None:
        """Set the epoch. A new epoch restarts the sequences."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class _AskedFor(NamedTuple):
    """Batches of a producer that arrived before its transaction was known to be open."""

    epoch: int
    lowest_sequence: int
    adds_itself: bool

    def highest_start(self, *, is_known: bool) -> int:
        return 0 if self.adds_itself and not is_known else self.lowest_sequence


class ProducerStates:
    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}
        """Start of the open transaction by producer ID."""
        self._asked_for: dict[int, _AskedFor] = {}

    # --- checks -------------------------------------------------------------------------------------------------------

    def check(self, header: BatchHeader) -> Appended | None:
        """Return the position of a duplicate batch, or None for a new batch. Raise BatchRefused if the batch is
        invalid.
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
        # unknown producers may start at any sequence (KIP-360)
        return None

    def _check_start(self, header: BatchHeader, *, is_known: bool) -> None:
        asked_for = self._asked_for.get(header.producer_id)
        if asked_for is not None and header.base_sequence > asked_for.highest_start(is_known=is_known):
            raise _out_of_order(header, asked_for.highest_start(is_known=is_known))

    def asked_for(self, header: BatchHeader, *, adds_itself: bool) -> None:
        """Store a batch whose transaction is not known to be open, so that no later batch is appended before it.

        Args:
            adds_itself: whether the leader adds the partition. An unknown producer must then start at 0.
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
                # Kafka also returns the batch's timestamp for duplicates, even if it is not an append time
                return Appended(batch.base_offset, batch.max_timestamp_ms)
        return None

    def _check_next(self, header: BatchHeader, producer: Producer) -> None:
        check_epoch(header.producer_epoch, producer.epoch)
        is_same = header.producer_epoch == producer.epoch
        expected = _plus(producer.last_sequence, 1) if is_same else 0
        if header.base_sequence != expected:
            raise _out_of_order(header, expected)
        if producer.open_from is not None and not header.is_transactional:
            text = f"producer {header.producer_id} has an open transaction, but the batch is not part of it"
            raise BatchRefused(ErrorCode.INVALID_TXN_STATE, text)

    # --- updates ------------------------------------------------------------------------------------------------------

    def remember(self, header: BatchHeader) -> int | None:
        """Apply a stored batch. If it is a marker, return the start of the transaction that it ends, otherwise None."""
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
        """Raise BatchRefused if the producer or the coordinator has written with a newer epoch."""
        producer = self._producers.get(producer_id)
        if producer is None:
            return
        check_epoch(epoch, producer.epoch)
        if coordinator_epoch < producer.coordinator_epoch:
            text = f"coordinator epoch {coordinator_epoch} is older than {producer.coordinator_epoch}"
            raise BatchRefused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, text)

    def ended_by(self, producer_id: int, coordinator_epoch: int) -> None:
        self._producers[producer_id].coordinator_epoch = coordinator_epoch

    def cut(self, end_offset: int, left: list[BatchHeader]) -> None:
        """Remove state at and after `end_offset`.

        Producers without removed batches are unchanged, even if retention deleted their batches.

        Args:
            left: all remaining batches.
        """
        kept = {one: known for one, known in self._producers.items() if known.last_offset < end_offset}
        self._producers, self._open = {}, {}
        for header in left:
            self.remember(header)
        self._producers |= kept
        self._open = {one: at.open_from for one, at in self._producers.items() if at.open_from is not None}

    def last_of(self) -> dict[int, tuple[int | None, int]]:
        """Return offset and epoch of the last data batch of each producer, by ID. The offset is None after a marker."""
        return {one: (known.last_data_offset, known.epoch) for one, known in self._producers.items()}

    def expire(self) -> None:
        """Remove producers without an open transaction, as producer.id.expiration.ms does."""
        self._producers = {one: known for one, known in self._producers.items() if one in self._open}
        self._asked_for.clear()

    # --- queries ------------------------------------------------------------------------------------------------------

    def has_open(self, producer_id: int, epoch: int) -> bool:
        return producer_id in self._open and self._producers[producer_id].epoch == epoch

    def has_any_open(self, producer_id: int) -> bool:
        return producer_id in self._open

    @property
    def first_open_offset(self) -> int | None:
        return min(self._open.values(), default=None)

    def __iter__(self) -> Iterator[tuple[int, Producer]]:
        return iter(self._producers.items())


def check_epoch(epoch: int, latest: int) -> None:
    if epoch < latest:
        raise BatchRefused(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {epoch} is older than {latest}")


def _out_of_order(header: BatchHeader, expected: int) -> BatchRefused:
    text = f"producer {header.producer_id} sent sequence number {header.base_sequence} instead of {expected}"
    return BatchRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)


def _plus(sequence: int, count: int) -> int:
    return (sequence + count) % _SEQUENCES
