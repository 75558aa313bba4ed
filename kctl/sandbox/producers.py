"""What a partition remembers of its idempotent producers: the last five batches of each.

Shown by tests/unit/sandbox/test_producers.py. Source: KIP-98; Kafka keeps five batches because a client may have five
requests in flight.
"""

from collections import deque
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import BatchHeader, BatchRefused

_REMEMBERED = 5
_SEQUENCES = 2**31
"""Sequences wrap around to 0 behind 2**31 - 1."""


class _Batch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp_ms: int


class Appended(NamedTuple):
    """Where a batch is: the answer to its producer."""

    base_offset: int
    append_time_ms: int


class _Producer:
    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[_Batch] = deque(maxlen=_REMEMBERED)


class ProducerStates:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def check(self, header: BatchHeader) -> Appended | None:
        """Return where the batch already is when it is a repetition, None when it is the next one.

        Raises:
            BatchRefused: its epoch is fenced, batches before it are missing, or it is older than those remembered.
        """
        if header.producer_id < 0:
            return None
        producer = self._producers.get(header.producer_id)
        if producer is None:
            # A partition that forgot a producer, or never knew it, starts where the producer is.
            return None
        if header.producer_epoch < producer.epoch:
            raise BatchRefused(
                ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {header.producer_epoch} is older than {producer.epoch}"
            )
        if header.producer_epoch > producer.epoch:
            if header.base_sequence != 0:
                text = f"sequence {header.base_sequence} opens epoch {header.producer_epoch}, 0 is expected"
                raise BatchRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)
            return None
        return self._check_sequence(header, producer)

    def _check_sequence(self, header: BatchHeader, producer: _Producer) -> Appended | None:
        last_sequence = _plus(header.base_sequence, header.last_offset_delta)
        for batch in producer.batches:
            if (batch.base_sequence, batch.last_sequence) == (header.base_sequence, last_sequence):
                # Kafka, too, answers a repetition with the batch's timestamp even where that is no append time.
                return Appended(batch.base_offset, batch.max_timestamp_ms)
        if not producer.batches:
            return None
        expected = _plus(producer.batches[-1].last_sequence, 1)
        if header.base_sequence == expected:
            return None
        text = f"producer {header.producer_id}: sequence {header.base_sequence}, {expected} is expected"
        raise BatchRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)

    def remember(self, header: BatchHeader) -> None:
        """Take note of a batch as it was stored."""
        if header.producer_id < 0:
            return
        producer = self._producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
        last_sequence = _plus(header.base_sequence, header.last_offset_delta)
        batch = _Batch(header.base_sequence, last_sequence, header.base_offset, header.max_timestamp_ms)
        producer.batches.append(batch)


def _plus(sequence: int, count: int) -> int:
    return (sequence + count) % _SEQUENCES
