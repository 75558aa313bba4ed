"""One transactional ID: producers that may continue, fencing, and repeated ends."""

from itertools import count

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity, State, TopicPartition, Transaction
from tests.support.bounds import bound

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PATIENCE_MS = bound(60_000)


class _Side:
    """A producer and its transaction."""

    def __init__(self) -> None:
        self._ids = count(100)
        self.transaction = Transaction("tx", 7)
        self.held = self.init()

    def init(self, expected: ProducerIdentity | None = None) -> ProducerIdentity:
        return self.transaction.initialise(expected, PATIENCE_MS, lambda: next(self._ids))

    def end(self, who: ProducerIdentity, *, commit: bool = True, own: bool = True) -> ProducerIdentity:
        return self.transaction.end(
            who, commit=commit, has_own_epoch=own, wall_ms=5, new_producer_id=lambda: next(self._ids)
        )

    def code_of(self, who: ProducerIdentity, *, commit: bool = True, own: bool = True) -> ErrorCode:
        with pytest.raises(Refused) as refusal:
            self.end(who, commit=commit, own=own)
        return refusal.value.code


def refused_init(side: _Side, expected: ProducerIdentity | None) -> ErrorCode:
    with pytest.raises(Refused) as refusal:
        side.init(expected)
    return refusal.value.code


def test_a_producer_goes_on_once_and_an_older_one_is_fenced() -> None:
    side = _Side()
    first = side.held
    second = side.init(first)
    assert second == (7, 1)
    assert side.init(first) == second, "it missed the answer"
    third = side.init()
    assert third == (7, 2)
    assert refused_init(side, first) is ErrorCode.PRODUCER_FENCED
    assert refused_init(side, second) is ErrorCode.PRODUCER_FENCED
    assert refused_init(side, ProducerIdentity(8, 2)) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("own", [True, False])
def test_open_or_decided_transaction_keeps_another_producer_waiting(own: bool) -> None:
    side = _Side()
    side.transaction.add(side.held, [T0], 1)
    assert refused_init(side, None) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert side.transaction.state is State.ONGOING
    side.end(side.held, own=own)
    assert refused_init(side, None) is ErrorCode.CONCURRENT_TRANSACTIONS
    side.transaction.complete()
    assert side.init().epoch == (2 if own else 1)


def test_by_version_1_the_end_can_be_repeated_and_not_changed() -> None:
    side = _Side()
    assert side.code_of(side.held, own=False) is ErrorCode.INVALID_TXN_STATE
    side.transaction.add(side.held, [T0], 1)
    assert side.end(side.held, own=False) == side.held
    assert side.code_of(side.held, own=False) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert side.code_of(side.held, commit=False, own=False) is ErrorCode.INVALID_TXN_STATE
    side.transaction.complete()
    assert side.end(side.held, own=False) == side.held
    assert side.transaction.state is State.COMPLETE_COMMIT
    assert side.code_of(side.held, commit=False, own=False) is ErrorCode.INVALID_TXN_STATE


def test_by_version_2_a_repetition_is_told_from_the_next_end() -> None:
    side = _Side()
    side.transaction.add(side.held, [T0], 1)
    after = side.end(side.held, commit=False)
    assert after == (7, 1)
    assert side.code_of(side.held, commit=False) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert side.code_of(after, commit=False) is ErrorCode.PRODUCER_FENCED
    side.transaction.complete()
    assert side.end(side.held, commit=False) == after, "repeated"
    assert side.transaction.state is State.COMPLETE_ABORT
    assert side.code_of(side.held) is ErrorCode.INVALID_TXN_STATE
    assert side.code_of(after) is ErrorCode.INVALID_TXN_STATE
    # Without anything written, the next transaction is aborted all the same, and has the next epoch behind it.
    assert side.end(after, commit=False) == (7, 2)
    assert side.transaction.state.value == "PrepareAbort"


@pytest.mark.parametrize("own", [True, False])
def test_strangers_and_zombies_end_nothing(own: bool) -> None:
    side = _Side()
    side.held = side.init()
    side.transaction.add(side.held, [T0], 1)
    assert side.code_of(ProducerIdentity(8, 1), own=own) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert side.code_of(ProducerIdentity(7, 0), own=own) is ErrorCode.PRODUCER_FENCED
    assert side.code_of(ProducerIdentity(7, 2), own=own) is ErrorCode.PRODUCER_FENCED


def test_partitions_are_of_one_transaction() -> None:
    side = _Side()
    assert side.transaction.add(side.held, [T0], 1)
    assert not side.transaction.add(side.held, [T1], 2)
    assert (side.transaction.started_at_ms, list(side.transaction.partitions)) == (1, [T0, T1])
    held = side.end(side.held)
    side.transaction.complete()
    assert side.transaction.add(held, [T1], 9)
    assert (side.transaction.started_at_ms, list(side.transaction.partitions)) == (9, [T1])
    with pytest.raises(Refused) as refusal:
        side.transaction.verify(held, T0)
    assert refusal.value.code is ErrorCode.TRANSACTION_ABORTABLE


@pytest.mark.parametrize(("own", "last_epoch"), [(True, 0), (False, -1)])
def test_fencing_takes_one_epoch(own: bool, last_epoch: int) -> None:
    side = _Side()
    side.transaction.add(side.held, [T0], 1)
    side.transaction.fence(has_own_epoch=own)
    assert side.transaction.state is State.PREPARE_ABORT
    assert (side.transaction.epoch, side.transaction.last_epoch) == (1, last_epoch)
