"""Check with the transaction coordinator before an append, and errors for each version of producers. Source: KIP-890.

Producers of transaction version 1 add partitions before they write. With version 2, the first batch adds them.
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
    """Transaction protocol of a producer, from the version of its request."""

    OLD_ERRORS = 0
    """The producer does not know TRANSACTION_ABORTABLE."""
    ABORTABLE_ERRORS = 1
    ADDING = 2
    """The leader adds the partition."""


def add_or_verify(
    cluster: "Cluster", transactional_id: str, producer: ProducerIdentity, partition: TopicPartition, speaks: Speaks
) -> None:
    """Check that a partition is part of a producer's transaction. For `Speaks.ADDING`, add it."""
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
    """Return the error code for Produce. Errors that older producers do not retry become NOT_ENOUGH_REPLICAS."""
    is_hidden = code in _UNREACHABLE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and speaks is not Speaks.ADDING)
    return ErrorCode.NOT_ENOUGH_REPLICAS if is_hidden else code
