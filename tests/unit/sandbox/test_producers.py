"""Sequences of idempotent producers: repeated batches, gaps, epochs, the wrap around."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import BatchHeader, BatchRefused, header_of
from kctl.sandbox.producers import Appended, ProducerStates
from tests.unit.sandbox.scenario import batch


class _Partition:
    def __init__(self) -> None:
        self.states = ProducerStates()
        self.next_offset = 0

    def send(self, sequence: int, count: int = 1, epoch: int = 0, producer_id: int = 7) -> Appended:
        header = header_of(batch(*[b"v"] * count, producer=(producer_id, epoch, sequence)))
        known = self.states.check(header)
        if known is not None:
            return known
        stored = header._replace(base_offset=self.next_offset)
        self.states.remember(stored)
        self.next_offset += count
        return Appended(stored.base_offset, -1)


def test_a_repeated_batch_is_answered_with_its_first_offset() -> None:
    partition = _Partition()
    assert [partition.send(0, 3).base_offset, partition.send(3, 2).base_offset] == [0, 3]
    assert partition.send(0, 3).base_offset == 0
    assert partition.send(3, 2).base_offset == 3
    assert partition.next_offset == 5


def test_five_batches_are_remembered_and_older_ones_refused() -> None:
    partition = _Partition()
    for sequence in range(6):
        partition.send(sequence)
    assert partition.send(1).base_offset == 1
    with pytest.raises(BatchRefused) as refused:
        partition.send(0)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_out_of_order() -> None:
    partition = _Partition()
    partition.send(0)
    with pytest.raises(BatchRefused) as refused:
        partition.send(2)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_same_first_sequence_with_another_size_is_no_repetition() -> None:
    partition = _Partition()
    partition.send(0, 3)
    with pytest.raises(BatchRefused):
        partition.send(0, 2)


def test_a_producer_nobody_knows_starts_anywhere() -> None:
    partition = _Partition()
    assert partition.send(500).base_offset == 0
    assert partition.send(501).base_offset == 1


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    partition = _Partition()
    partition.send(0)
    with pytest.raises(BatchRefused) as refused:
        partition.send(1, epoch=1)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.send(0, epoch=1)
    with pytest.raises(BatchRefused) as refused:
        partition.send(1, epoch=0)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wrap_around() -> None:
    partition = _Partition()
    partition.send(2**31 - 2, 3)
    assert partition.send(1, 1).base_offset == 3
    assert partition.send(2**31 - 2, 3).base_offset == 0


def test_producers_and_plain_batches_do_not_mix() -> None:
    partition = _Partition()
    partition.send(0, producer_id=1)
    partition.send(0, producer_id=2)
    partition.send(-1, producer_id=-1)
    partition.send(-1, producer_id=-1)
    assert partition.next_offset == 4


def _header(sequence: int, epoch: int = 0) -> BatchHeader:
    return header_of(batch(b"v", producer=(7, epoch, sequence), attributes=0x10))


def test_nothing_behind_a_batch_that_was_asked_for_comes_in_before_it() -> None:
    states = ProducerStates()
    for sequence in (4, 2, 3):
        states.asked_for(_header(sequence), adds_itself=False)
    with pytest.raises(BatchRefused) as refused:
        states.check(_header(3))
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(_header(2)) is None
    states.remember(_header(2))
    assert states.check(_header(3)) is None, "nothing is asked for any more"


def test_sequence_requested_in_an_older_epoch_does_not_count() -> None:
    states = ProducerStates()
    states.asked_for(_header(0), adds_itself=False)
    states.asked_for(_header(5, epoch=1), adds_itself=False)
    states.asked_for(_header(0), adds_itself=False)
    assert states.check(_header(5, epoch=1)) is None


def test_a_producer_that_adds_partitions_itself_starts_at_0() -> None:
    states = ProducerStates()
    states.asked_for(_header(1), adds_itself=True)
    with pytest.raises(BatchRefused):
        states.check(_header(1))
    states.asked_for(_header(0), adds_itself=True)
    assert states.check(_header(0)) is None
