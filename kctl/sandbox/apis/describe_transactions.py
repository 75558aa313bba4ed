"""DescribeTransactions: transaction state of transactional IDs."""

from itertools import groupby

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transaction_states import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import Transaction


def _answer(call: Call, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(transaction_states=[_state(call, one) for one in request.transactional_ids])


def _find(call: Call, transactional_id: str) -> Transaction:
    if not transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST)
    call.cluster.transactions.check(transactional_id, call.node)
    found = call.cluster.transactions.get(transactional_id)
    if found is None:
        raise Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return found


def _state(call: Call, transactional_id: str) -> TransactionState:
    try:
        found = _find(call, transactional_id)
    except Refused as refusal:
        return TransactionState(transactional_id=transactional_id, error_code=refusal.code)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=found.state.value,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_at_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[
            TopicData(topic=topic, partitions=[one.partition for one in partitions])
            for topic, partitions in groupby(sorted(found.partitions), key=lambda one: one.topic)
        ],
    )


HANDLER = Handler(DescribeTransactionsRequest, 0, 0, _answer)
