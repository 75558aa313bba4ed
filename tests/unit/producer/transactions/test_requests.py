"""Errors of transactions: what a lost record means, and how errors are reported to the application."""

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import CommitFailedError
from kctl.client.producer.transactions.requests import as_reported, is_fatal_for_records

E = ErrorCode


@pytest.mark.parametrize(
    ("code", "is_fatal"),
    [
        (E.PRODUCER_FENCED, True),
        (E.CLUSTER_AUTHORIZATION_FAILED, True),
        (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, True),
        (E.INVALID_PRODUCER_ID_MAPPING, True),
        (E.INVALID_PRODUCER_EPOCH, False),
        (E.INVALID_TXN_STATE, False),
        (E.OUT_OF_ORDER_SEQUENCE_NUMBER, False),
        (E.TRANSACTION_ABORTABLE, False),
        (E.TOPIC_AUTHORIZATION_FAILED, False),
        (E.MESSAGE_TOO_LARGE, False),
    ],
)
def test_lost_record_is_fatal_for_fenced_and_unauthorized_producers(code: ErrorCode, *, is_fatal: bool) -> None:
    assert is_fatal_for_records(broker_error(code, "Produce")) is is_fatal


def test_an_older_epoch_is_reported_as_a_newer_producer() -> None:
    assert getattr(as_reported(broker_error(E.INVALID_PRODUCER_EPOCH, "EndTxn")), "name", "") == "PRODUCER_FENCED"


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.STALE_MEMBER_EPOCH])
def test_a_member_left_behind_is_reported_as_a_failed_commit(code: ErrorCode) -> None:
    reported = as_reported(broker_error(code, "TxnOffsetCommit"))
    assert isinstance(reported, CommitFailedError)
    assert code.name in str(reported)
