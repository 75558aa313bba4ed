"""The retry table: every error code for every kind of request.

The rows of transactions are those of Java 4.3.1's handlers, read from the released jar.
"""

from random import Random

import pytest

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import (
    ConnectionLost,
    KafkaError,
    LocalProtocolError,
    RemoteProtocolError,
    UnsupportedVersionError,
)
from kctl.client.requests.retry import RETRIES, RULES, RetryPause, decisive_code

E = ErrorCode
RETRY, COORDINATOR, ABORT, FATAL, FAIL = "RETRY", "COORDINATOR", "ABORT", "FATAL", "FAIL"
APIS = (
    "FindCoordinator for a transaction",
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)

RETRIABLE = {
    E.CORRUPT_MESSAGE, E.UNKNOWN_TOPIC_OR_PARTITION, E.LEADER_NOT_AVAILABLE, E.NOT_LEADER_OR_FOLLOWER,
    E.REQUEST_TIMED_OUT, E.REPLICA_NOT_AVAILABLE, E.NETWORK_EXCEPTION, E.COORDINATOR_LOAD_IN_PROGRESS,
    E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_ENOUGH_REPLICAS, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    E.NOT_CONTROLLER, E.CONCURRENT_TRANSACTIONS, E.KAFKA_STORAGE_ERROR, E.FETCH_SESSION_ID_NOT_FOUND,
    E.INVALID_FETCH_SESSION_EPOCH, E.LISTENER_NOT_FOUND, E.FENCED_LEADER_EPOCH, E.UNKNOWN_LEADER_EPOCH,
    E.OFFSET_NOT_AVAILABLE, E.PREFERRED_LEADER_NOT_AVAILABLE, E.ELIGIBLE_LEADERS_NOT_AVAILABLE, E.ELECTION_NOT_NEEDED,
    E.UNSTABLE_OFFSET_COMMIT, E.THROTTLING_QUOTA_EXCEEDED, E.UNKNOWN_TOPIC_ID, E.INCONSISTENT_TOPIC_ID,
    E.FETCH_SESSION_TOPIC_ID_ERROR, E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH,
    E.SHARE_SESSION_LIMIT_REACHED,
}  # fmt: skip
"""What Kafka calls retriable."""
FAULT = {E.UNKNOWN_SERVER_ERROR}
RETRIED = {
    "Fetch": RETRIABLE | FAULT,
    "ListOffsets": RETRIABLE | FAULT,
    "Metadata": (RETRIABLE | FAULT) - {E.UNKNOWN_TOPIC_OR_PARTITION},
    "GetTelemetrySubscriptions": RETRIABLE | FAULT,
    "FindCoordinator": RETRIABLE | FAULT,
    "JoinGroup": RETRIABLE | FAULT,
    "OffsetFetch": RETRIABLE | FAULT,
    "OffsetCommit": RETRIABLE | FAULT | {E.REBALANCE_IN_PROGRESS},
    "other requests": RETRIABLE,
    "groups and their offsets": RETRIABLE,
    "offsets of partitions": RETRIABLE,
    "topics": {E.NOT_CONTROLLER, E.THROTTLING_QUOTA_EXCEEDED, E.LEADER_NOT_AVAILABLE},
    "Produce": RETRIABLE,
    "Metadata of the topics of a producer": RETRIABLE,
    "InitProducerId without transactions": RETRIABLE,
    **dict.fromkeys(APIS, RETRIABLE),
}
"""The codes after which a request is repeated."""
AT_THE_LEADER = {
    E.UNKNOWN_TOPIC_OR_PARTITION, E.LEADER_NOT_AVAILABLE, E.NOT_LEADER_OR_FOLLOWER, E.REPLICA_NOT_AVAILABLE,
    E.NETWORK_EXCEPTION, E.KAFKA_STORAGE_ERROR, E.LISTENER_NOT_FOUND, E.FENCED_LEADER_EPOCH,
    E.PREFERRED_LEADER_NOT_AVAILABLE, E.ELIGIBLE_LEADERS_NOT_AVAILABLE, E.ELECTION_NOT_NEEDED, E.UNKNOWN_TOPIC_ID,
    E.INCONSISTENT_TOPIC_ID,
}  # fmt: skip
WITH_A_COORDINATOR = {"JoinGroup", "OffsetFetch", "OffsetCommit", "groups and their offsets", *APIS[1:]}

# fmt: off
ROWS = {  #                              Find     Init       AddPart    AddOff     Offsets    End
    E.NOT_COORDINATOR:                  (RETRY,   COORDINATOR, COORDINATOR, COORDINATOR, COORDINATOR, COORDINATOR),
    E.COORDINATOR_NOT_AVAILABLE:        (RETRY,   COORDINATOR, COORDINATOR, COORDINATOR, COORDINATOR, COORDINATOR),
    E.COORDINATOR_LOAD_IN_PROGRESS:     (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.CONCURRENT_TRANSACTIONS:          (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.UNKNOWN_TOPIC_OR_PARTITION:       (RETRY,   RETRY,     RETRY,     RETRY,     RETRY,     RETRY),
    E.REQUEST_TIMED_OUT:                (RETRY,   RETRY,     RETRY,     RETRY,     COORDINATOR, RETRY),
    E.INVALID_PRODUCER_EPOCH:           (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.PRODUCER_FENCED:                  (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.INVALID_TXN_STATE:                (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.INVALID_PRODUCER_ID_MAPPING:      (FATAL,   FATAL,     FATAL,     FATAL,     FATAL,     FATAL),
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (FATAL, FAIL, FATAL,    FATAL,     FATAL,     FATAL),
    E.CLUSTER_AUTHORIZATION_FAILED:     (FATAL,   FAIL,   ABORT,     FATAL,     FATAL,     FATAL),
    E.TRANSACTION_ABORTABLE:            (ABORT,   FAIL,   ABORT,     ABORT,     ABORT,     ABORT),
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


def test_every_kind_of_request_has_expectations() -> None:
    assert set(RETRIED) == set(RULES)


@pytest.mark.parametrize("kind", list(RETRIED))
def test_every_code_is_retried_or_not_as_listed(kind: str) -> None:
    codes = [code for code in ErrorCode if code is not E.NONE]
    assert {code for code in codes if RULES[kind].is_retried(broker_error(code, kind))} == RETRIED[kind]


@pytest.mark.parametrize("kind", ["offsets of partitions", "Produce"])
def test_codes_of_stale_metadata_are_retried_at_the_leader(kind: str) -> None:
    codes = [code for code in ErrorCode if code is not E.NONE]
    assert {code for code in codes if RULES[kind].decide(broker_error(code, kind)).name == "LEADER"} == AT_THE_LEADER


@pytest.mark.parametrize("kind", list(RETRIED))
def test_codes_of_a_wrong_coordinator_are_retried_after_a_look_up(kind: str) -> None:
    codes = [code for code in ErrorCode if RULES[kind].decide(broker_error(code, kind)).name == COORDINATOR]
    timed_out = {E.REQUEST_TIMED_OUT} if kind == "TxnOffsetCommit" else set()
    expected = {E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE} | timed_out
    assert set(codes) == (expected if kind in WITH_A_COORDINATOR else set())


@pytest.mark.parametrize("code", list(ROWS), ids=[code.name for code in ROWS])
@pytest.mark.parametrize("column", range(len(APIS)), ids=APIS)
def test_code_in_a_transaction_leads_to_what_java_does(code: ErrorCode, column: int) -> None:
    decision = RULES[APIS[column]].decide(broker_error(code, APIS[column]))
    is_retry = decision in RETRIES and decision.name != COORDINATOR
    assert (RETRY if is_retry else decision.name) == ROWS[code][column]


@pytest.mark.parametrize("kind", list(RETRIED))
@pytest.mark.parametrize(
    ("error", "is_retriable", "is_retried_if_lost"),
    [
        (ConnectionLost("gone"), True, True),
        (RemoteProtocolError("odd"), False, True),
        (UnsupportedVersionError("no"), False, False),
        (LocalProtocolError("wrong"), False, False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_request_without_a_response_is_retried_where_it_may_be(
    kind: str, error: KafkaError, *, is_retriable: bool, is_retried_if_lost: bool
) -> None:
    is_of_transactions = kind in APIS or kind == "InitProducerId without transactions"
    expected = is_retried_if_lost if is_of_transactions else is_retriable and kind != "topics"
    assert RULES[kind].is_retried(error) is expected


@pytest.mark.parametrize("kind", ["OffsetCommit", "groups and their offsets", "offsets of partitions"])
@pytest.mark.parametrize("code", [E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_ID])
def test_unknown_topic_fails_after_three_tries(kind: str, code: ErrorCode) -> None:
    error = broker_error(code, kind)
    assert [RULES[kind].is_retried(error, tries) for tries in (1, 2, 3)] == [True, True, False]


def test_unknown_topic_is_retried_without_limit_elsewhere() -> None:
    assert RULES["ListOffsets"].is_retried(broker_error(E.UNKNOWN_TOPIC_OR_PARTITION, "t"), 99)


@pytest.mark.parametrize(
    ("codes", "decisive"),
    [
        ([], E.NONE),
        ([E.NOT_COORDINATOR, E.TOPIC_AUTHORIZATION_FAILED], E.TOPIC_AUTHORIZATION_FAILED),
        ([E.OPERATION_NOT_ATTEMPTED, E.NOT_COORDINATOR], E.NOT_COORDINATOR),
        ([E.OPERATION_NOT_ATTEMPTED], E.OPERATION_NOT_ATTEMPTED),
    ],
)
def test_final_code_of_several_decides(codes: list[ErrorCode], decisive: ErrorCode) -> None:
    assert decisive_code(codes) == decisive


def test_pause_grows_until_a_success_and_is_short_after_concurrent_transactions() -> None:
    pause = RetryPause(ExponentialBackoff(100, 400, Random(1), jitter=0))
    ends = []
    for _ in range(4):
        pause.failed(1000)
        ends.append(pause.until_ms - 1000)
    assert ends == [100, 200, 400, 400]
    pause.failed(1000, broker_error(E.CONCURRENT_TRANSACTIONS, "EndTxn"))
    assert pause.until_ms == 1020
    pause.succeeded()
    assert (pause.failures, pause.until_ms) == (0, 0)
