"""What an error code in an answer about transactions means: one table per API, as in the Java client 4.3.1.

Pure. Shown by tests/unit/producer/transactions/test_error_table.py, whose rows were read from the released jar.

Source: Java's TransactionManager handlers. Differs: where Java lets init_transactions() be followed by an abort of
nothing after a missing right, the call can simply be made again (REFUSED).
"""

from enum import Enum

from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import (
    BrokerError,
    CommitFailedError,
    KafkaError,
    LocalProtocolError,
    UnsupportedVersionError,
)


class Meaning(Enum):
    """What follows from an error."""

    RETRY = "the same request again, after a pause"
    ELSEWHERE = "the coordinator is another one: look for it, then again"
    ABORTABLE = "the transaction can only be aborted"
    FATAL = "the producer can only be closed"
    REFUSED = "the call fails; it can be made again"


_E = ErrorCode
_EVERYWHERE: dict[int, Meaning] = {
    _E.COORDINATOR_NOT_AVAILABLE: Meaning.ELSEWHERE,
    _E.NOT_COORDINATOR: Meaning.ELSEWHERE,
    _E.TRANSACTION_ABORTABLE: Meaning.ABORTABLE,
}
TABLE: dict[str, dict[int, Meaning]] = {
    "FindCoordinator": {
        _E.COORDINATOR_NOT_AVAILABLE: Meaning.RETRY,
        _E.NOT_COORDINATOR: Meaning.RETRY,
        _E.GROUP_AUTHORIZATION_FAILED: Meaning.ABORTABLE,
        _E.TRANSACTION_ABORTABLE: Meaning.ABORTABLE,
    },
    "InitProducerId": {
        **_EVERYWHERE,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Meaning.REFUSED,
        _E.CLUSTER_AUTHORIZATION_FAILED: Meaning.REFUSED,
        _E.TRANSACTION_ABORTABLE: Meaning.REFUSED,
    },
    "AddPartitionsToTxn": {
        **_EVERYWHERE,
        _E.INVALID_PRODUCER_EPOCH: Meaning.FATAL,
        _E.PRODUCER_FENCED: Meaning.FATAL,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Meaning.FATAL,
        _E.INVALID_TXN_STATE: Meaning.FATAL,
        _E.INVALID_PRODUCER_ID_MAPPING: Meaning.FATAL,
    },
    "AddOffsetsToTxn": {
        **_EVERYWHERE,
        _E.UNKNOWN_PRODUCER_ID: Meaning.ABORTABLE,
        _E.GROUP_AUTHORIZATION_FAILED: Meaning.ABORTABLE,
    },
    "TxnOffsetCommit": {
        **_EVERYWHERE,
        _E.REQUEST_TIMED_OUT: Meaning.ELSEWHERE,
        _E.GROUP_AUTHORIZATION_FAILED: Meaning.ABORTABLE,
        _E.FENCED_INSTANCE_ID: Meaning.ABORTABLE,
        _E.UNKNOWN_MEMBER_ID: Meaning.ABORTABLE,
        _E.ILLEGAL_GENERATION: Meaning.ABORTABLE,
        _E.STALE_MEMBER_EPOCH: Meaning.ABORTABLE,
        _E.FENCED_MEMBER_EPOCH: Meaning.ABORTABLE,
    },
    "EndTxn": {**_EVERYWHERE, _E.UNKNOWN_PRODUCER_ID: Meaning.ABORTABLE},
}
"""Codes that are neither here nor retriable are FATAL; for AddPartitionsToTxn, whose codes speak of partitions,
ABORTABLE."""

NO_LONGER_MEMBER = frozenset(
    {_E.UNKNOWN_MEMBER_ID, _E.ILLEGAL_GENERATION, _E.STALE_MEMBER_EPOCH, _E.FENCED_MEMBER_EPOCH}
)
"""The group has gone on without this member: its offsets must not be committed. Source: KIP-447."""

_FATAL_FOR_RECORDS = frozenset(
    {
        _E.CLUSTER_AUTHORIZATION_FAILED,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        _E.PRODUCER_FENCED,
        _E.INVALID_PRODUCER_ID_MAPPING,
    }
)


def meaning(api: str, error: KafkaError) -> Meaning:
    """Return what follows from the error that a request of `api` ended with; one without an answer is repeated."""
    if not isinstance(error, BrokerError):
        unsaid = isinstance(error, UnsupportedVersionError | LocalProtocolError)
        return Meaning.FATAL if unsaid else Meaning.RETRY
    known = TABLE[api].get(error.code)
    if known is not None:
        return known
    if error.retriable:
        return Meaning.RETRY
    return Meaning.ABORTABLE if api == "AddPartitionsToTxn" else Meaning.FATAL


def is_look_up_retried(error: KafkaError) -> bool:
    """Return whether the look-up of a coordinator is repeated after an error."""
    return meaning("FindCoordinator", error) is Meaning.RETRY


def is_fatal_for_records(error: KafkaError) -> bool:
    """Return whether a record that failed so ends the producer; any other failure ends its transaction."""
    if isinstance(error, BrokerError):
        return error.code in _FATAL_FOR_RECORDS
    return isinstance(error, UnsupportedVersionError)


def as_told(error: KafkaError) -> KafkaError:
    """Return the error in the words of the application: an older epoch means that a newer producer has taken over."""
    if isinstance(error, BrokerError):
        if error.code == _E.INVALID_PRODUCER_EPOCH:
            return error_class(_E.PRODUCER_FENCED)(f"a newer producer has taken over: {error}", text=error.text)
        if error.code in NO_LONGER_MEMBER:
            words = "the offsets are not part of the transaction: the group has given the partitions to others"
            return CommitFailedError(f"{words} ({error.name})", cause=error)
    return error
