"""What a leader asks a transaction's coordinator before it appends, and how it tells producers of each age.

A producer of version 1 has added its partitions before; one of version 2 has them added with its first batch. Source:
KIP-890.
"""

from enum import Enum
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster

_UNREACHABLE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)


class Speaks(Enum):
    """What the version of a request says about its producer."""

    OLD_ERRORS = 0
    """It does not know TRANSACTION_ABORTABLE."""
    ABORTABLE_ERRORS = 1
    ADDING = 2
    """It leaves it to the leader to add partitions."""


def add_or_verify(
    cluster: "Cluster", transactional_id: str, producer: ProducerIdentity, partition: TopicPartition, speaks: Speaks
) -> None:
    """Return when a partition takes part in a producer's transaction; for `Speaks.ADDING` it does from now on.

    Raises:
        Refused: it does not, with the code that a coordinator's answer has when a leader reads it.
    """
    transactions = cluster.transactions
    try:
        if cluster.transactions.node_of(transactional_id).faults.is_frozen:
            raise Refused(ErrorCode.NETWORK_EXCEPTION)
        transactions.check(transactional_id, transactions.node_of(transactional_id))
        if speaks is Speaks.ADDING:
            transactions.add(transactional_id, producer, [partition])
        else:
            transactions.verify(transactional_id, producer, partition)
    except Refused as refusal:
        raise Refused(_as_read_by_a_leader(refusal.code, speaks)) from None


def _as_read_by_a_leader(code: ErrorCode, speaks: Speaks) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and speaks is Speaks.OLD_ERRORS:
        return ErrorCode.INVALID_TXN_STATE
    return code


def for_a_producer(code: ErrorCode, speaks: Speaks) -> ErrorCode:
    """Return the code that Produce is answered with: what older producers do not try again is hidden from them."""
    is_hidden = code in _UNREACHABLE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and speaks is not Speaks.ADDING)
    return ErrorCode.NOT_ENOUGH_REPLICAS if is_hidden else code
