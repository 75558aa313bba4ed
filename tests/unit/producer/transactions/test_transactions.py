"""What is sent in which order, by both versions of the protocol; what timeouts, losses and errors lead to."""

from typing import cast

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import (
    AbortableTransactionError,
    BrokerError,
    CommitFailedError,
    ConnectionLost,
    DeliveryTimeout,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
    TransactionAbortedError,
)
from kctl.client.producer.future import Outcome
from kctl.client.producer.partition_queue import PartitionSequence
from kctl.client.producer.transactions.requests import END_V1_VERSION, OFFSETS_V1_VERSION, PRODUCE_V1_VERSION
from kctl.client.producer.transactions.states import State, Step
from kctl.client.protocol.api.end_txn import EndTxnRequest
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest
from kctl.client.protocol.api.txn_offset_commit import TxnOffsetCommitRequest
from tests.unit.fake_network import SentRequest
from tests.unit.producer.transactions.fakes import BACKOFF_MS, NAME, PARTITION, Setup

GONE = ConnectionLost("the connection is gone")
LOST = DeliveryTimeout("it waited", timeout_ms=1, elapsed_ms=1)


def _end(sent: SentRequest) -> bool:
    """Return whether the request commits; it must be an EndTxn."""
    assert isinstance(sent.request, EndTxnRequest)
    return sent.request.committed


def _epoch(sent: SentRequest) -> int:
    assert isinstance(sent.request, EndTxnRequest | InitProducerIdRequest | TxnOffsetCommitRequest)
    return sent.request.producer_epoch


def _cause(error: KafkaError | None) -> KafkaError:
    assert isinstance(error, AbortableTransactionError | FatalTransactionError)
    return error.cause


# --- the requests -----------------------------------------------------------------------------------------------------


def test_init_asks_for_the_producer_id_of_the_name() -> None:
    setup = Setup(transaction_timeout_ms=5000)
    call = setup.call(Step.INIT)
    sent = setup.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert (sent.request.transactional_id, sent.request.transaction_timeout_ms) == (NAME, 5000)
    assert (sent.request.producer_id, sent.request.producer_epoch) == (-1, -1)
    assert not call.is_done
    setup.answer(sent)
    assert call.is_done


def test_version_1_adds_a_partition_before_its_first_batch_and_ends_with_the_same_epoch() -> None:
    setup = Setup(1).begun()
    sequence = PartitionSequence()
    assert not setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    setup.answer(setup.sent())
    assert setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.producer_id, sequence.epoch) == (1000, 0)
    assert setup.transactions.identity.produce_max_version == PRODUCE_V1_VERSION
    sequence.take(5)
    call = setup.call(Step.COMMIT)
    sent = setup.sent()
    assert (_end(sent), _epoch(sent), sent.max_version) == (True, 0, END_V1_VERSION)
    setup.answer(sent)
    assert (call.is_done, call.error) == (True, None)
    setup.call(Step.BEGIN)
    assert not setup.transactions.identity.assign_producer_id(PARTITION, sequence)  # the next transaction adds it anew
    setup.answer(setup.sent())
    assert setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.epoch, sequence.next_sequence) == (0, 5)


def test_version_2_adds_nothing_and_each_end_brings_an_epoch() -> None:
    setup = Setup(2).begun()
    sequence = PartitionSequence()
    assert setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert setup.names() == []
    assert setup.transactions.identity.produce_max_version is None
    sequence.take(5)
    setup.call(Step.COMMIT)
    sent = setup.sent()
    assert (_end(sent), _epoch(sent), sent.max_version) == (True, 0, None)
    setup.answer(sent)
    setup.call(Step.BEGIN)
    assert setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.epoch, sequence.next_sequence) == (1, 0)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("step", [Step.COMMIT, Step.ABORT])
def test_an_empty_transaction_ends_without_a_request(version: int, step: Step) -> None:
    setup = Setup(version).begun()
    call = setup.call(step)
    assert (call.is_done, call.error, setup.names()) == (True, None, [])


def test_the_version_is_learnt_anew_when_a_transaction_begins() -> None:
    setup = Setup(1).initialized()
    setup.network.transaction_version = 2
    setup.call(Step.BEGIN)
    assert setup.transactions.identity.is_v2


@pytest.mark.parametrize("version", [1, 2])
def test_commit_waits_for_every_record(version: int) -> None:
    setup = Setup(version).with_partition()
    setup.records.waiting, setup.records.in_flight = 1, 1
    call = setup.call(Step.COMMIT)
    assert setup.transactions.is_linger_over
    assert setup.names() == []
    setup.records.waiting = 0
    assert setup.names() == []
    setup.records.in_flight = 0
    setup.answer(setup.sent())
    assert (call.is_done, call.error) == (True, None)


@pytest.mark.parametrize("version", [1, 2])
def test_abort_sends_nothing_that_waits(version: int) -> None:
    setup = Setup(version).with_partition()
    setup.records.waiting, setup.records.in_flight = 2, 1
    call = setup.call(Step.ABORT)
    assert isinstance(setup.records.failures[0][1], TransactionAbortedError)
    if version == 1:  # what is on its way could arrive behind the end, under the same epoch
        assert (setup.records.failures[0][0], setup.names()) == (2, [])
        setup.records.in_flight = 0
    else:
        assert setup.records.failures[0][0] == 3
    sent = setup.sent()
    assert not _end(sent)
    setup.answer(sent)
    assert (call.is_done, call.error) == (True, None)


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_version_1_adds_the_group_once_and_then_commits_its_offsets_in_the_name_of_the_member() -> None:
    setup = Setup(1).begun()
    first = setup.call(Step.OFFSETS)
    assert setup.names() == ["AddOffsetsToTxn"]
    setup.answer(setup.sent())
    sent = setup.sent()
    assert isinstance(sent.request, TxnOffsetCommitRequest)
    assert (sent.request.generation_id, sent.request.member_id, sent.max_version) == (3, "m", OFFSETS_V1_VERSION)
    setup.answer(sent)
    assert (first.is_done, first.error) == (True, None)
    second = setup.call(Step.OFFSETS)
    assert setup.names() == ["TxnOffsetCommit"]
    setup.answer(setup.sent())
    assert second.is_done
    setup.call(Step.COMMIT)
    assert _end(setup.sent())


def test_version_2_commits_the_offsets_without_more() -> None:
    setup = Setup(2).begun()
    call = setup.call(Step.OFFSETS)
    sent = setup.sent()
    assert (sent.request.NAME, sent.max_version) == ("TxnOffsetCommit", None)
    setup.answer(sent)
    assert call.is_done
    setup.call(Step.COMMIT)
    assert _end(setup.sent())


@pytest.mark.parametrize(
    "code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH]
)
def test_a_member_that_its_group_left_behind_can_only_abort(code: ErrorCode) -> None:
    setup = Setup(2).begun()
    call = setup.call(Step.OFFSETS)
    setup.answer(setup.sent(), code)
    assert isinstance(_cause(call.error), CommitFailedError)
    assert isinstance(setup.call(Step.COMMIT).error, AbortableTransactionError)
    abort = setup.call(Step.ABORT)
    setup.answer(setup.sent())
    assert (abort.is_done, abort.error) == (True, None)


def test_offsets_that_timed_out_are_given_up_by_an_abort_and_wait_for_nothing_else() -> None:
    setup = Setup(2).begun()
    call = setup.call(Step.OFFSETS, timeout_ms=50)
    sent = setup.sent()
    setup.advance(50)
    assert isinstance(call.error, MaxBlockTimeout)
    assert "the coordinator of group g" in str(call.error)
    assert isinstance(setup.call(Step.COMMIT).error, IllegalStateError)
    assert isinstance(setup.call(Step.ABORT).error, type(None))
    assert not _end(setup.sent())
    setup.answer(sent)  # too late: nobody waits for it
    assert setup.state is State.ABORTING


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_call_that_timed_out_goes_on_when_it_is_made_again_and_others_are_refused(version: int) -> None:
    setup = Setup(version).with_partition()
    setup.advance(2000)
    first = setup.call(Step.COMMIT, timeout_ms=50)
    sent = setup.sent()
    setup.advance(49)
    assert not first.is_done
    setup.advance(1)
    error = first.error
    assert isinstance(error, MaxBlockTimeout)
    assert (error.timeout_ms, error.elapsed_ms) == (50, 50)
    assert "EndTxn not answered; broker will abort in 58 s unless it is committed" in str(error)
    for step in (Step.ABORT, Step.BEGIN, Step.OFFSETS):
        assert isinstance(setup.call(step).error, IllegalStateError)
    again = setup.call(Step.COMMIT)
    assert not again.is_done
    setup.answer(sent)
    assert (again.is_done, again.error) == (True, None)


def test_end_after_the_timeout_is_the_result_of_the_repeated_call() -> None:
    setup = Setup(2).with_partition()
    setup.call(Step.COMMIT, timeout_ms=50)
    sent = setup.sent()
    setup.advance(50)
    setup.answer(sent)
    assert isinstance(setup.call(Step.BEGIN).error, IllegalStateError)
    again = setup.call(Step.COMMIT)
    assert (again.is_done, again.error) == (True, None)
    assert setup.call(Step.BEGIN).error is None


def test_a_failure_after_the_timeout_leaves_the_abort() -> None:
    setup = Setup(2).with_partition()
    setup.records.in_flight = 1
    setup.call(Step.COMMIT, timeout_ms=50)
    setup.advance(50)
    setup.records.in_flight = 0
    setup.transactions.record_failed(Outcome(LOST))
    assert setup.call(Step.ABORT).error is None


def test_an_abort_that_is_not_answered_says_when_the_broker_will() -> None:
    setup = Setup(2).with_partition()
    call = setup.call(Step.ABORT, timeout_ms=1000)
    setup.sent()
    setup.advance(1000)
    assert str(call.error).endswith("while EndTxn not answered; broker will abort in 59 s")


def test_a_commit_that_waits_for_records_says_so() -> None:
    setup = Setup(2).with_partition()
    setup.records.in_flight = 2
    call = setup.call(Step.COMMIT, timeout_ms=1000)
    setup.advance(1000)
    assert "2 records of the transaction waited for an acknowledgement; broker will abort in 59 s" in str(call.error)


def test_init_without_a_coordinator_says_what_it_looked_for() -> None:
    setup = Setup()
    call = setup.call(Step.INIT, timeout_ms=300)
    setup.network.take().fail(GONE)
    setup.advance(300)
    assert f"waiting for the coordinator of transactional.id {NAME}" in str(call.error)
    assert "the connection is gone" in str(call.error)
    assert setup.state is State.INITIALIZING


# --- repeats ----------------------------------------------------------------------------------------------------------


def test_a_coordinator_that_is_not_one_is_looked_for_anew_and_asked_again() -> None:
    setup = Setup(1).with_partition()
    setup.call(Step.COMMIT)
    setup.answer(setup.sent(), ErrorCode.NOT_COORDINATOR)
    assert setup.names() == []
    setup.advance(BACKOFF_MS + BACKOFF_MS // 2)
    assert setup.names() == ["FindCoordinator"]
    again = setup.sent()
    assert _end(again)
    setup.answer(again)
    assert setup.state is State.READY


def test_the_end_of_the_transaction_before_is_looked_for_soon() -> None:
    setup = Setup(1).begun()
    setup.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    setup.answer(setup.sent(), ErrorCode.CONCURRENT_TRANSACTIONS)
    setup.advance(19)
    assert setup.names() == []
    setup.advance(1)
    assert setup.names() == ["AddPartitionsToTxn"]


def test_version_1_takes_a_new_epoch_after_an_end_that_was_not_answered() -> None:
    """A late EndTxn could end the next transaction: its epoch must be over by then."""
    setup = Setup(1).with_partition()
    call = setup.call(Step.COMMIT)
    setup.lose(setup.sent(), GONE)
    setup.advance(2 * BACKOFF_MS)
    setup.answer(setup.sent())
    assert (call.is_done, call.error) == (True, None)
    assert setup.call(Step.BEGIN).error is None
    sequence = PartitionSequence()
    assert not setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    sent = setup.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert (sent.request.producer_id, sent.request.producer_epoch) == (1000, 0)
    assert not setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    setup.answer(sent)
    setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    setup.answer(setup.sent())
    assert setup.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert sequence.epoch == 1


def test_version_2_needs_no_other_epoch_than_that_of_the_end() -> None:
    setup = Setup(2).with_partition()
    setup.call(Step.COMMIT)
    setup.lose(setup.sent(), GONE)
    setup.advance(2 * BACKOFF_MS)
    setup.answer(setup.sent())
    setup.call(Step.BEGIN)
    assert setup.names() == []


def test_version_1_takes_a_new_epoch_after_a_lost_record() -> None:
    setup = Setup(1).with_partition()
    setup.transactions.record_failed(Outcome(LOST, is_unknown=True))
    setup.call(Step.ABORT)
    setup.answer(setup.sent())
    sent = setup.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert _epoch(sent) == 0


def test_an_addition_without_an_answer_is_settled_before_the_abort() -> None:
    setup = Setup(1).begun()
    setup.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    setup.lose(setup.sent(), GONE)
    setup.call(Step.ABORT)
    setup.advance(2 * BACKOFF_MS)
    again = setup.sent()
    assert again.request.NAME == "AddPartitionsToTxn"
    setup.answer(again)
    assert not _end(setup.sent())


def test_an_addition_that_was_refused_leaves_nothing_to_end() -> None:
    setup = Setup(1).begun()
    setup.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    setup.records.waiting = 1
    setup.answer(setup.sent(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert setup.state is State.ABORTABLE_ERROR
    assert [count for count, _ in setup.records.failures] == [1]
    call = setup.call(Step.ABORT)
    assert (call.is_done, call.error) == (True, None)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_lost_record_ends_the_commit_that_waits_for_it(version: int) -> None:
    setup = Setup(version).with_partition()
    setup.records.in_flight = 1
    call = setup.call(Step.COMMIT)
    setup.records.in_flight = 0
    setup.transactions.record_failed(Outcome(LOST))
    assert _cause(call.error) is LOST
    assert setup.names() == []


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_fenced_producer_fails_everything_and_can_only_be_closed(code: ErrorCode) -> None:
    setup = Setup(2).with_partition()
    call = setup.call(Step.COMMIT)
    setup.records.in_flight = 1
    setup.answer(setup.sent(), code)
    fenced = _cause(call.error)
    assert isinstance(fenced, BrokerError)
    assert fenced.name == "PRODUCER_FENCED"
    assert isinstance(setup.records.failures[-1][1], FatalTransactionError)
    assert isinstance(setup.call(Step.ABORT).error, FatalTransactionError)


def test_an_abort_that_the_coordinator_wants_aborted_ends_the_producer() -> None:
    setup = Setup(2).with_partition()
    setup.call(Step.ABORT)
    setup.answer(setup.sent(), ErrorCode.TRANSACTION_ABORTABLE)
    assert setup.state is State.FATAL_ERROR


def test_a_missing_right_at_init_can_be_granted_and_the_call_made_again() -> None:
    setup = Setup()
    call = setup.call(Step.INIT)
    setup.answer(setup.sent(), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert isinstance(call.error, BrokerError)
    setup.clock.advance(2 * BACKOFF_MS)
    again = setup.call(Step.INIT)
    setup.answer(setup.sent())
    assert (again.is_done, again.error) == (True, None)


def test_a_record_that_was_never_part_of_it_harms_nothing() -> None:
    setup = Setup(2).with_partition()
    setup.transactions.record_failed(Outcome(IllegalStateError("outside")))
    assert setup.state is State.IN_TRANSACTION


# --- close ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_close_aborts_what_is_open(version: int) -> None:
    setup = Setup(version).with_partition()
    setup.transactions.begin_close()
    sent = setup.sent()
    assert not _end(sent)
    assert (setup.transactions.is_ending, setup.transactions.close_outcome()) == (True, "open")
    setup.answer(sent)
    assert (setup.transactions.is_ending, setup.transactions.close_outcome()) == (False, "aborted")


def test_close_finishes_a_commit() -> None:
    setup = Setup(2).with_partition()
    setup.call(Step.COMMIT, timeout_ms=10)
    sent = setup.sent()
    setup.advance(10)
    setup.transactions.begin_close()
    assert setup.transactions.close_outcome() == "unknown"
    setup.answer(sent)
    assert (setup.transactions.is_ending, setup.transactions.close_outcome()) == (False, "committed")


def test_close_aborts_a_commit_that_failed() -> None:
    setup = Setup(2).with_partition()
    setup.records.in_flight = 1
    call = setup.call(Step.COMMIT)
    setup.transactions.begin_close()
    setup.records.in_flight = 0
    setup.transactions.record_failed(Outcome(LOST))
    assert _cause(call.error) is LOST
    assert not _end(setup.sent())


@pytest.mark.parametrize(
    ("step", "outcome"), [(None, None), (Step.BEGIN, "aborted")], ids=["no transaction", "an empty one"]
)
def test_close_without_anything_at_the_brokers(step: Step | None, outcome: str | None) -> None:
    setup = Setup(2).initialized()
    if step is not None:
        setup.call(step)
    setup.transactions.begin_close()
    setup.run()
    assert (setup.names(), setup.transactions.close_outcome()) == ([], outcome)


def test_a_fenced_producer_has_nothing_to_abort() -> None:
    setup = Setup(2).with_partition()
    setup.transactions.record_lost(cast(KafkaError, broker_error(ErrorCode.PRODUCER_FENCED, "Produce")))
    setup.transactions.begin_close()
    assert (setup.names(), setup.transactions.is_ending, setup.transactions.close_outcome()) == ([], False, "open")


@pytest.mark.parametrize(("is_lost", "outcome"), [(True, "unknown"), (False, "open")])
def test_a_commit_without_an_answer_stays_unknown_when_its_repeat_is_fenced(is_lost: bool, outcome: str) -> None:
    setup = Setup(2).with_partition()
    call = setup.call(Step.COMMIT)
    if is_lost:
        setup.lose(setup.sent(), GONE)
        setup.advance(BACKOFF_MS)
    setup.answer(setup.sent(), ErrorCode.PRODUCER_FENCED)
    assert isinstance(call.error, FatalTransactionError)
    setup.transactions.begin_close()
    assert setup.transactions.close_outcome() == outcome
