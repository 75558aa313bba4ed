"""What each error code means to each request: the rows of Java 4.3.1's handlers, read from the released jar."""

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import CommitFailedError, ConnectionLost, UnsupportedVersionError
from kctl.client.producer.transactions.error_table import as_told, is_fatal_for_records, meaning

E = ErrorCode
RETRY, ELSEWHERE, ABORT, FATAL, REFUSED = "RETRY", "ELSEWHERE", "ABORTABLE", "FATAL", "REFUSED"
APIS = ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")

# fmt: off
ROWS = {  #                              Find     Init       AddPart    AddOff     Offsets    End
    E.NOT_COORDINATOR:                  (RETRY,   ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE),
    E.COORDINATOR_NOT_AVAILABLE:        (RETRY,   ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE),
    E.COORDINATOR_LOAD_IN_PROGRESS:     (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.CONCURRENT_TRANSACTIONS:          (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.UNKNOWN_TOPIC_OR_PARTITION:       (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.REQUEST_TIMED_OUT:                (RETRY,   RETRY,     RETRY,     RETRY,     ELSEWHERE, RETRY),
    E.INVALID_PRODUCER_EPOCH:           (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.PRODUCER_FENCED:                  (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.INVALID_TXN_STATE:                (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.INVALID_PRODUCER_ID_MAPPING:      (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (FATAL, REFUSED, FATAL,    FATAL,     FATAL,     FATAL),
    E.CLUSTER_AUTHORIZATION_FAILED:     (FATAL,   REFUSED,   ABORT,     FATAL,     FATAL,     FATAL),
    E.TRANSACTION_ABORTABLE:            (ABORT,   REFUSED,   ABORT,     ABORT,     ABORT,     ABORT),
    E.GROUP_AUTHORIZATION_FAILED:       (ABORT,   FATAL,     ABORT,     ABORT,     ABORT,     FATAL),
    E.TOPIC_AUTHORIZATION_FAILED:       (FATAL,   FATAL,     ABORT,     FATAL,     FATAL,     FATAL),
    E.UNKNOWN_PRODUCER_ID:              (FATAL,   FATAL,     ABORT,     ABORT,     FATAL,     ABORT),
    E.OPERATION_NOT_ATTEMPTED:          (FATAL,   FATAL,     ABORT,     FATAL,     FATAL,     FATAL),
    E.UNKNOWN_MEMBER_ID:                (FATAL,   FATAL,     ABORT,     FATAL,     ABORT,     FATAL),
    E.ILLEGAL_GENERATION:               (FATAL,   FATAL,     ABORT,     FATAL,     ABORT,     FATAL),
    E.FENCED_INSTANCE_ID:               (FATAL,   FATAL,     ABORT,     FATAL,     ABORT,     FATAL),
    E.INVALID_TRANSACTION_TIMEOUT:      (FATAL,   FATAL,     ABORT,     FATAL,     FATAL,     FATAL),
    E.UNSUPPORTED_FOR_MESSAGE_FORMAT:   (FATAL,   FATAL,     ABORT,     FATAL,     FATAL,     FATAL),
    E.UNKNOWN_SERVER_ERROR:             (FATAL,   FATAL,     ABORT,     FATAL,     FATAL,     FATAL),
}
# fmt: on


@pytest.mark.parametrize("code", list(ROWS), ids=[code.name for code in ROWS])
@pytest.mark.parametrize("column", range(len(APIS)), ids=APIS)
def test_what_a_code_means(code: ErrorCode, column: int) -> None:
    api = APIS[column]
    assert meaning(api, broker_error(code, api)).name == ROWS[code][column]


@pytest.mark.parametrize("api", APIS)
def test_no_answer_is_repeated_and_what_cannot_be_said_is_not(api: str) -> None:
    assert meaning(api, ConnectionLost("gone")).name == RETRY
    assert meaning(api, UnsupportedVersionError("no")).name == FATAL


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
def test_what_a_lost_record_means(code: ErrorCode, *, is_fatal: bool) -> None:
    assert is_fatal_for_records(broker_error(code, "Produce")) is is_fatal


def test_an_older_epoch_is_told_as_a_newer_producer() -> None:
    assert getattr(as_told(broker_error(E.INVALID_PRODUCER_EPOCH, "EndTxn")), "name", "") == "PRODUCER_FENCED"


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.STALE_MEMBER_EPOCH])
def test_a_member_left_behind_is_told_as_a_failed_commit(code: ErrorCode) -> None:
    told = as_told(broker_error(code, "TxnOffsetCommit"))
    assert isinstance(told, CommitFailedError)
    assert code.name in str(told)
