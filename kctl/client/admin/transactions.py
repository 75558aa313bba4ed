"""Transactions, listed by all brokers and described by coordinators.

Source: KIP-664, KIP-994 (duration), KIP-1152 (pattern).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.admin.every_broker import ask_every_broker
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import KafkaError, UnsupportedVersionError
from kctl.client.protocol.api.transaction_states import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.find_coordinator import KeyType

FIRST_VERSION_WITH_DURATION = 1
FIRST_VERSION_WITH_PATTERN = 2


class TransactionFilter(NamedTuple):
    """Filter of transactions, as in `Admin.list_transactions`; an empty field or None matches all."""

    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    longer_than_ms: int | None = None
    pattern: str | None = None


class TransactionListing(NamedTuple):
    """A transactional.id in a list. Attributes: coordinator: broker that reported it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: Node


class TransactionList(NamedTuple):
    """Transactions by transactional.id, sorted, and the errors of brokers that did not respond.

    If `failed` is not empty, the list is incomplete. Brokers leave out ids that the principal may not describe.
    """

    transactions: Mapping[str, TransactionListing]
    failed: Mapping[Node, KafkaError]


class TransactionDescription(NamedTuple):
    """A transactional.id and its latest transaction.

    Attributes:
        state: `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit`, `CompleteAbort`, ...
        timeout_ms: transaction.timeout.ms of the producer.
        started_at_ms: start of the transaction; None before the first one.
        partitions: partitions that do not have a marker of the transaction yet.
    """

    transactional_id: str
    state: str
    timeout_ms: int
    started_at_ms: int | None
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    coordinator: Node | None


def list_transactions(
    call: Call, wanted: TransactionFilter, broker_ids: Sequence[int] | None = None
) -> TransactionList:
    return TransactionList(
        *ask_every_broker(call, lambda node_id: _list_request(call, node_id, wanted), _listed, broker_ids)
    )


def _list_request(call: Call, node_id: int, wanted: TransactionFilter) -> ListTransactionsRequest:
    speaks = call.client.network.supports
    if not speaks(node_id, ListTransactionsRequest):
        raise _too_old(call, node_id, "list transactions", 0, "3.0")
    request = ListTransactionsRequest(state_filters=list(wanted.states), producer_id_filters=list(wanted.producer_ids))
    if wanted.longer_than_ms is not None:
        if not speaks(node_id, ListTransactionsRequest, FIRST_VERSION_WITH_DURATION):
            raise _too_old(call, node_id, "filter transactions by duration", FIRST_VERSION_WITH_DURATION, "3.8")
        request.duration_filter = wanted.longer_than_ms
    if wanted.pattern is not None:
        if not speaks(node_id, ListTransactionsRequest, FIRST_VERSION_WITH_PATTERN):
            raise _too_old(call, node_id, "filter transactions by pattern", FIRST_VERSION_WITH_PATTERN, "4.1")
        request.transactional_id_pattern = wanted.pattern
    return request


def _too_old(call: Call, node_id: int, what: str, version: int, release: str) -> UnsupportedVersionError:
    needed = f"ListTransactions version {version} (Kafka {release})"
    return UnsupportedVersionError(
        f"cannot {what}: broker {call.name_of(node_id)} does not support {needed}", api="ListTransactions"
    )


def _listed(node: Node, response: ListTransactionsResponse) -> Items[str, TransactionListing]:
    if response.error_code:
        return broker_error(response.error_code, f"list transactions on {node}")
    return [
        (name := each.transactional_id, TransactionListing(name, each.producer_id, each.transaction_state, node))
        for each in response.transaction_states
    ]


def describe_transactions(call: Call, transactional_ids: Sequence[str]) -> Results[str, TransactionDescription]:
    coordinators = Coordinators(call, KeyType.TRANSACTION)

    def build(_node_id: int, names: list[str]) -> Request:
        return DescribeTransactionsRequest(transactional_ids=names)

    def read(response: DescribeTransactionsResponse) -> Iterator[tuple[str, TransactionDescription | KafkaError]]:
        for each in response.transaction_states:
            yield each.transactional_id, _described(each, coordinators.node(each.transactional_id))

    return coordinators.each_group(transactional_ids, build, read)


def _described(found: TransactionState, coordinator: Node | None) -> TransactionDescription | KafkaError:
    name = found.transactional_id
    if found.error_code:
        return broker_error(found.error_code, f"describe transactional.id {name}")
    started_at_ms = found.transaction_start_time_ms
    return TransactionDescription(
        name,
        found.transaction_state,
        found.transaction_timeout_ms,
        started_at_ms if started_at_ms >= 0 else None,
        found.producer_id,
        found.producer_epoch,
        tuple(sorted(TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions)),
        coordinator,
    )
