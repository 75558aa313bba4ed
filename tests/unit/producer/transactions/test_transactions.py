"""What is sent in which order, by both versions of the protocol; what timeouts, losses and errors lead to."""

from typing import cast

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
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
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.transactions import EndTxnRequest, EndTxnResponse, TxnOffsetCommitRequest
from tests.unit.fake_network import SentRequest
from tests.unit.producer.transactions.fakes import BACKOFF_MS, NAME, PARTITION, Scenario

GONE = ConnectionLost("the connection is gone")
OTHER = TopicPartition("t", 1)
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
    scenario = Scenario(transaction_timeout_ms=5000)
    call = scenario.call(Step.INIT)
    sent = scenario.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert (sent.request.transactional_id, sent.request.transaction_timeout_ms) == (NAME, 5000)
    assert (sent.request.producer_id, sent.request.producer_epoch) == (-1, -1)
    assert not call.is_done
    scenario.answer(sent)
    assert call.is_done


def test_version_1_adds_a_partition_before_its_first_batch_and_ends_with_the_same_epoch() -> None:
    scenario = Scenario(1).begun()
    sequence = PartitionSequence()
    assert not scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    scenario.answer(scenario.sent())
    assert scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.producer_id, sequence.epoch) == (1000, 0)
    assert scenario.transactions.identity.produce_max_version == PRODUCE_V1_VERSION
    sequence.reserve(5)
    call = scenario.call(Step.COMMIT)
    sent = scenario.sent()
    assert (_end(sent), _epoch(sent), sent.max_version) == (True, 0, END_V1_VERSION)
    scenario.answer(sent)
    assert (call.is_done, call.error) == (True, None)
    scenario.call(Step.BEGIN)
    assert not scenario.transactions.identity.assign_producer_id(PARTITION, sequence)  # added again
    scenario.answer(scenario.sent())
    assert scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.epoch, sequence.next_sequence) == (0, 5)


def test_version_2_adds_nothing_and_each_end_brings_an_epoch() -> None:
    scenario = Scenario(2).begun()
    sequence = PartitionSequence()
    assert scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert scenario.names() == []
    assert scenario.transactions.identity.produce_max_version is None
    sequence.reserve(5)
    scenario.call(Step.COMMIT)
    sent = scenario.sent()
    assert (_end(sent), _epoch(sent), sent.max_version) == (True, 0, None)
    scenario.answer(sent)
    scenario.call(Step.BEGIN)
    assert scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert (sequence.epoch, sequence.next_sequence) == (1, 0)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("step", [Step.COMMIT, Step.ABORT])
def test_an_empty_transaction_ends_without_a_request(version: int, step: Step) -> None:
    scenario = Scenario(version).begun()
    call = scenario.call(step)
    assert (call.is_done, call.error, scenario.names()) == (True, None, [])


def test_the_version_is_learnt_anew_when_a_transaction_begins() -> None:
    scenario = Scenario(1).initialized()
    scenario.network.transaction_version = 2
    scenario.call(Step.BEGIN)
    assert scenario.transactions.identity.is_v2


@pytest.mark.parametrize("version", [1, 2])
def test_commit_waits_for_every_record(version: int) -> None:
    scenario = Scenario(version).with_partition()
    scenario.records.waiting, scenario.records.in_flight = 1, 1
    call = scenario.call(Step.COMMIT)
    assert scenario.transactions.status.is_ending
    assert scenario.names() == []
    scenario.records.waiting = 0
    assert scenario.names() == []
    scenario.records.in_flight = 0
    scenario.answer(scenario.sent())
    assert (call.is_done, call.error) == (True, None)


@pytest.mark.parametrize("version", [1, 2])
def test_abort_sends_nothing_that_waits(version: int) -> None:
    scenario = Scenario(version).with_partition()
    scenario.records.waiting, scenario.records.in_flight = 2, 1
    call = scenario.call(Step.ABORT)
    assert isinstance(scenario.records.failures[0][1], TransactionAbortedError)
    if version == 1:  # what is on its way could arrive behind the end, under the same epoch
        assert (scenario.records.failures[0][0], scenario.names()) == (2, [])
        scenario.records.in_flight = 0
    else:
        assert scenario.records.failures[0][0] == 3
    sent = scenario.sent()
    assert not _end(sent)
    scenario.answer(sent)
    assert (call.is_done, call.error) == (True, None)


def test_abort_of_version_1_waits_for_expired_records_in_flight() -> None:
    scenario = Scenario(1).with_partition()
    scenario.records.expired_in_flight = 1
    call = scenario.call(Step.ABORT, timeout_ms=1000)
    assert scenario.names() == []
    scenario.advance(1000)
    assert str(call.error).endswith("while no response to Produce (the broker aborts the transaction in 59 s)")
    scenario.records.expired_in_flight = 0
    assert not _end(scenario.sent())


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_version_1_adds_the_group_once_and_then_commits_its_offsets_in_the_name_of_the_member() -> None:
    scenario = Scenario(1).begun()
    first = scenario.call(Step.OFFSETS)
    assert scenario.names() == ["AddOffsetsToTxn"]
    scenario.answer(scenario.sent())
    sent = scenario.sent()
    assert isinstance(sent.request, TxnOffsetCommitRequest)
    assert (sent.request.generation_id, sent.request.member_id, sent.max_version) == (3, "m", OFFSETS_V1_VERSION)
    scenario.answer(sent)
    assert (first.is_done, first.error) == (True, None)
    second = scenario.call(Step.OFFSETS)
    assert scenario.names() == ["TxnOffsetCommit"]
    scenario.answer(scenario.sent())
    assert second.is_done
    scenario.call(Step.COMMIT)
    assert _end(scenario.sent())


def test_version_2_commits_the_offsets_without_more() -> None:
    scenario = Scenario(2).begun()
    call = scenario.call(Step.OFFSETS)
    sent = scenario.sent()
    assert (sent.request.NAME, sent.max_version) == ("TxnOffsetCommit", None)
    scenario.answer(sent)
    assert call.is_done
    scenario.call(Step.COMMIT)
    assert _end(scenario.sent())


@pytest.mark.parametrize(
    "code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH]
)
def test_a_member_that_its_group_left_behind_can_only_abort(code: ErrorCode) -> None:
    scenario = Scenario(2).begun()
    call = scenario.call(Step.OFFSETS)
    scenario.answer(scenario.sent(), code)
    assert isinstance(_cause(call.error), CommitFailedError)
    assert isinstance(scenario.call(Step.COMMIT).error, AbortableTransactionError)
    abort = scenario.call(Step.ABORT)
    scenario.answer(scenario.sent())
    assert (abort.is_done, abort.error) == (True, None)


def test_offsets_that_timed_out_are_given_up_by_an_abort_and_wait_for_nothing_else() -> None:
    scenario = Scenario(2).begun()
    call = scenario.call(Step.OFFSETS, timeout_ms=50)
    sent = scenario.sent()
    scenario.advance(50)
    assert isinstance(call.error, MaxBlockTimeout)
    assert "the coordinator of group g" in str(call.error)
    assert isinstance(scenario.call(Step.COMMIT).error, IllegalStateError)
    assert isinstance(scenario.call(Step.ABORT).error, type(None))
    assert not _end(scenario.sent())
    scenario.answer(sent)  # too late: nobody waits for it
    assert scenario.state is State.ABORTING


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_call_that_timed_out_goes_on_when_it_is_made_again_and_others_are_refused(version: int) -> None:
    scenario = Scenario(version).with_partition()
    scenario.advance(2000)
    first = scenario.call(Step.COMMIT, timeout_ms=50)
    sent = scenario.sent()
    scenario.advance(49)
    assert not first.is_done
    scenario.advance(1)
    error = first.error
    assert isinstance(error, MaxBlockTimeout)
    assert (error.timeout_ms, error.elapsed_ms) == (50, 50)
    assert "no response to EndTxn (the broker aborts the transaction in 58 s unless it is committed" in str(error)
    for step in (Step.ABORT, Step.BEGIN, Step.OFFSETS):
        assert isinstance(scenario.call(step).error, IllegalStateError)
    again = scenario.call(Step.COMMIT)
    assert not again.is_done
    scenario.answer(sent)
    assert (again.is_done, again.error) == (True, None)


def test_end_after_the_timeout_is_the_result_of_the_repeated_call() -> None:
    scenario = Scenario(2).with_partition()
    scenario.call(Step.COMMIT, timeout_ms=50)
    sent = scenario.sent()
    scenario.advance(50)
    scenario.answer(sent)
    assert isinstance(scenario.call(Step.BEGIN).error, IllegalStateError)
    again = scenario.call(Step.COMMIT)
    assert (again.is_done, again.error) == (True, None)
    assert scenario.call(Step.BEGIN).error is None


def test_a_failure_after_the_timeout_leaves_the_abort() -> None:
    scenario = Scenario(2).with_partition()
    scenario.records.in_flight = 1
    scenario.call(Step.COMMIT, timeout_ms=50)
    scenario.advance(50)
    scenario.records.in_flight = 0
    scenario.transactions.record_failed(Outcome(LOST))
    assert scenario.call(Step.ABORT).error is None


def test_an_abort_that_is_not_answered_says_when_the_broker_will() -> None:
    scenario = Scenario(2).with_partition()
    call = scenario.call(Step.ABORT, timeout_ms=1000)
    scenario.sent()
    scenario.advance(1000)
    assert str(call.error).endswith("while no response to EndTxn (the broker aborts the transaction in 59 s)")


def test_a_commit_that_waits_for_records_says_so() -> None:
    scenario = Scenario(2).with_partition()
    scenario.records.in_flight = 2
    call = scenario.call(Step.COMMIT, timeout_ms=1000)
    scenario.advance(1000)
    assert (
        "waiting for the acknowledgement of 2 records of the transaction (the broker aborts the transaction in 59 s"
        in str(call.error)
    )


def test_init_without_a_coordinator_says_what_it_looked_for() -> None:
    scenario = Scenario()
    call = scenario.call(Step.INIT, timeout_ms=300)
    scenario.network.take().fail(GONE)
    scenario.advance(300)
    assert f"waiting for the coordinator of transactional.id {NAME}" in str(call.error)
    assert "the connection is gone" in str(call.error)
    assert scenario.state is State.INITIALIZING


# --- repeats ----------------------------------------------------------------------------------------------------------


def test_a_coordinator_that_is_not_one_is_looked_for_anew_and_asked_again() -> None:
    scenario = Scenario(1).with_partition()
    scenario.call(Step.COMMIT)
    scenario.answer(scenario.sent(), ErrorCode.NOT_COORDINATOR)
    assert scenario.names() == []
    scenario.advance(BACKOFF_MS + BACKOFF_MS // 2)
    assert scenario.names() == ["FindCoordinator"]
    again = scenario.sent()
    assert _end(again)
    scenario.answer(again)
    assert scenario.state is State.READY


def test_the_end_of_the_transaction_before_is_looked_for_soon() -> None:
    scenario = Scenario(1).begun()
    scenario.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    scenario.answer(scenario.sent(), ErrorCode.CONCURRENT_TRANSACTIONS)
    scenario.advance(19)
    assert scenario.names() == []
    scenario.advance(1)
    assert scenario.names() == ["AddPartitionsToTxn"]


def test_version_1_takes_a_new_epoch_after_an_end_that_was_not_answered() -> None:
    """A late EndTxn could end the next transaction: its epoch must be over by then."""
    scenario = Scenario(1).with_partition()
    call = scenario.call(Step.COMMIT)
    scenario.lose(scenario.sent(), GONE)
    scenario.advance(2 * BACKOFF_MS)
    scenario.answer(scenario.sent())
    assert (call.is_done, call.error) == (True, None)
    assert scenario.call(Step.BEGIN).error is None
    sequence = PartitionSequence()
    assert not scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    sent = scenario.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert (sent.request.producer_id, sent.request.producer_epoch) == (1000, 0)
    assert not scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    scenario.answer(sent)
    scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    scenario.answer(scenario.sent())
    assert scenario.transactions.identity.assign_producer_id(PARTITION, sequence)
    assert sequence.epoch == 1


def test_version_2_needs_no_other_epoch_than_that_of_the_end() -> None:
    scenario = Scenario(2).with_partition()
    scenario.call(Step.COMMIT)
    scenario.lose(scenario.sent(), GONE)
    scenario.advance(2 * BACKOFF_MS)
    scenario.answer(scenario.sent())
    scenario.call(Step.BEGIN)
    assert scenario.names() == []


def test_version_1_takes_a_new_epoch_after_a_lost_record() -> None:
    scenario = Scenario(1).with_partition()
    scenario.transactions.record_failed(Outcome(LOST, is_unknown=True))
    scenario.call(Step.ABORT)
    scenario.answer(scenario.sent())
    sent = scenario.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert _epoch(sent) == 0


@pytest.mark.parametrize("is_begun", [False, True])
def test_partition_ahead_of_the_epoch_waits_for_a_new_one(is_begun: bool) -> None:
    """InitProducerId would abort a transaction that has begun."""
    scenario = (Scenario(1).with_partition if is_begun else Scenario(1).begun)()
    identity = scenario.transactions.identity
    ahead = PartitionSequence()
    ahead.adopt(*identity.current)
    ahead.begin_epoch()
    assert not identity.assign_producer_id(PARTITION, ahead)
    assert scenario.names() == ([] if is_begun else ["InitProducerId"])
    if is_begun:
        scenario.transactions.record_failed(Outcome(LOST))
        scenario.call(Step.ABORT)
        scenario.answer(scenario.sent())
        scenario.call(Step.BEGIN)
    scenario.answer(scenario.sent())
    assert not identity.assign_producer_id(PARTITION, ahead)
    scenario.answer(scenario.sent())
    assert identity.assign_producer_id(PARTITION, ahead)
    assert ahead.epoch == identity.current.epoch == 1


def test_invalid_producer_id_is_requested_again_after_a_backoff() -> None:
    scenario = Scenario()
    call = scenario.call(Step.INIT)
    scenario.sent().answer(InitProducerIdResponse(producer_id=-1, producer_epoch=0))
    scenario.run()
    assert (call.is_done, scenario.names()) == (False, [])
    scenario.advance(2 * BACKOFF_MS)
    scenario.answer(scenario.sent())
    assert (call.is_done, call.error) == (True, None)
    assert scenario.transactions.identity.current == (1000, 0)


@pytest.mark.parametrize("step", [Step.COMMIT, Step.ABORT])
@pytest.mark.parametrize("end", [EndTxnResponse(), EndTxnResponse(producer_id=-5, producer_epoch=0)])
def test_version_2_requests_an_epoch_that_the_end_did_not_bring(step: Step, end: EndTxnResponse) -> None:
    """Otherwise a partition ahead of the epoch waits until the end of a transaction that another partition began."""
    scenario = Scenario(2).with_partition()
    identity = scenario.transactions.identity
    ahead = PartitionSequence()
    ahead.adopt(*identity.current)
    ahead.begin_epoch()
    scenario.call(step)
    scenario.sent().answer(end)
    scenario.call(Step.BEGIN)
    other = PartitionSequence()
    assert not identity.assign_producer_id(OTHER, other)
    sent = scenario.sent()
    assert isinstance(sent.request, InitProducerIdRequest)
    assert (sent.request.producer_id, sent.request.producer_epoch) == (1000, 0)
    scenario.answer(sent)
    assert identity.assign_producer_id(OTHER, other)
    assert identity.assign_producer_id(PARTITION, ahead)
    assert other.epoch == ahead.epoch == identity.current.epoch == 1


def test_an_addition_without_an_answer_is_settled_before_the_abort() -> None:
    scenario = Scenario(1).begun()
    scenario.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    scenario.lose(scenario.sent(), GONE)
    scenario.call(Step.ABORT)
    scenario.advance(2 * BACKOFF_MS)
    again = scenario.sent()
    assert again.request.NAME == "AddPartitionsToTxn"
    scenario.answer(again)
    assert not _end(scenario.sent())


def test_an_addition_that_was_refused_leaves_nothing_to_end() -> None:
    scenario = Scenario(1).begun()
    scenario.transactions.identity.assign_producer_id(PARTITION, PartitionSequence())
    scenario.records.waiting = 1
    scenario.answer(scenario.sent(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert scenario.state is State.ABORTABLE_ERROR
    assert [count for count, _ in scenario.records.failures] == [1]
    call = scenario.call(Step.ABORT)
    assert (call.is_done, call.error) == (True, None)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_lost_record_ends_the_commit_that_waits_for_it(version: int) -> None:
    scenario = Scenario(version).with_partition()
    scenario.records.in_flight = 1
    call = scenario.call(Step.COMMIT)
    scenario.records.in_flight = 0
    scenario.transactions.record_failed(Outcome(LOST))
    assert _cause(call.error) is LOST
    assert scenario.names() == []


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_fenced_producer_fails_everything_and_can_only_be_closed(code: ErrorCode) -> None:
    scenario = Scenario(2).with_partition()
    call = scenario.call(Step.COMMIT)
    scenario.records.in_flight = 1
    scenario.answer(scenario.sent(), code)
    fenced = _cause(call.error)
    assert isinstance(fenced, BrokerError)
    assert fenced.name == "PRODUCER_FENCED"
    assert isinstance(scenario.records.failures[-1][1], FatalTransactionError)
    assert isinstance(scenario.call(Step.ABORT).error, FatalTransactionError)


def test_an_abort_that_the_coordinator_wants_aborted_ends_the_producer() -> None:
    scenario = Scenario(2).with_partition()
    scenario.call(Step.ABORT)
    scenario.answer(scenario.sent(), ErrorCode.TRANSACTION_ABORTABLE)
    assert scenario.state is State.FATAL_ERROR


def test_a_missing_right_at_init_can_be_granted_and_the_call_made_again() -> None:
    scenario = Scenario()
    call = scenario.call(Step.INIT)
    scenario.answer(scenario.sent(), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert isinstance(call.error, BrokerError)
    scenario.clock.advance(2 * BACKOFF_MS)
    again = scenario.call(Step.INIT)
    scenario.answer(scenario.sent())
    assert (again.is_done, again.error) == (True, None)


def test_a_record_that_was_never_part_of_it_harms_nothing() -> None:
    scenario = Scenario(2).with_partition()
    scenario.transactions.record_failed(Outcome(IllegalStateError("outside")))
    assert scenario.state is State.IN_TRANSACTION


# --- close ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_close_aborts_what_is_open(version: int) -> None:
    scenario = Scenario(version).with_partition()
    scenario.transactions.begin_close()
    sent = scenario.sent()
    assert not _end(sent)
    assert (scenario.transactions.status.is_ending, scenario.transactions.close_outcome()) == (True, "open")
    scenario.answer(sent)
    assert (scenario.transactions.status.is_ending, scenario.transactions.close_outcome()) == (False, "aborted")


def test_close_finishes_a_commit() -> None:
    scenario = Scenario(2).with_partition()
    scenario.call(Step.COMMIT, timeout_ms=10)
    sent = scenario.sent()
    scenario.advance(10)
    scenario.transactions.begin_close()
    assert scenario.transactions.close_outcome() == "unknown"
    scenario.answer(sent)
    assert (scenario.transactions.status.is_ending, scenario.transactions.close_outcome()) == (False, "committed")


def test_close_aborts_a_commit_that_failed() -> None:
    scenario = Scenario(2).with_partition()
    scenario.records.in_flight = 1
    call = scenario.call(Step.COMMIT)
    scenario.transactions.begin_close()
    scenario.records.in_flight = 0
    scenario.transactions.record_failed(Outcome(LOST))
    assert _cause(call.error) is LOST
    assert not _end(scenario.sent())


@pytest.mark.parametrize(
    ("step", "outcome"), [(None, None), (Step.BEGIN, "aborted")], ids=["no transaction", "an empty one"]
)
def test_close_without_anything_at_the_brokers(step: Step | None, outcome: str | None) -> None:
    scenario = Scenario(2).initialized()
    if step is not None:
        scenario.call(step)
    scenario.transactions.begin_close()
    scenario.run()
    assert (scenario.names(), scenario.transactions.close_outcome()) == ([], outcome)


def test_a_fenced_producer_has_nothing_to_abort() -> None:
    scenario = Scenario(2).with_partition()
    scenario.transactions.record_lost(cast(KafkaError, broker_error(ErrorCode.PRODUCER_FENCED, "Produce")))
    scenario.transactions.begin_close()
    assert (scenario.names(), scenario.transactions.status.is_ending, scenario.transactions.close_outcome()) == (
        [],
        False,
        "aborted",
    )


@pytest.mark.parametrize(("is_lost", "outcome"), [(True, "unknown"), (False, "aborted")])
def test_a_commit_without_an_answer_stays_unknown_when_its_repeat_is_fenced(is_lost: bool, outcome: str) -> None:
    scenario = Scenario(2).with_partition()
    call = scenario.call(Step.COMMIT)
    if is_lost:
        scenario.lose(scenario.sent(), GONE)
        scenario.advance(BACKOFF_MS)
    scenario.answer(scenario.sent(), ErrorCode.PRODUCER_FENCED)
    assert isinstance(call.error, FatalTransactionError)
    scenario.transactions.begin_close()
    assert scenario.transactions.close_outcome() == outcome
