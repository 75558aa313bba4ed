"""ListTransactions: transactional IDs that this node coordinates, with optional filters."""

from collections.abc import Callable

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transaction_states import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    ListTransactionsResponseTransactionState,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.regular_expressions import RegexRefused, full_matcher
from kctl.sandbox.transactions.transaction import State, Transaction

_WORDS = (*(one.value for one in State), "Dead", "PrepareEpochFence")


def _answer(call: Call, request: ListTransactionsRequest) -> ListTransactionsResponse:
    try:
        matches = full_matcher(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except RegexRefused:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    wall_ms = call.cluster.scheduler.wall_ms()
    found = [one for one in call.cluster.transactions.on(call.node) if _is_asked_for(request, one, matches, wall_ms)]
    return ListTransactionsResponse(
        unknown_state_filters=[word for word in request.state_filters if word not in _WORDS],
        transaction_states=[
            ListTransactionsResponseTransactionState(
                transactional_id=one.transactional_id, producer_id=one.producer_id, transaction_state=one.state.value
            )
            for one in found
        ],
    )


def _is_asked_for(
    request: ListTransactionsRequest, one: Transaction, matches: Callable[[str], bool] | None, wall_ms: int
) -> bool:
    is_old = request.duration_filter < 0 or (
        one.state is State.ONGOING and wall_ms - one.started_at_ms > request.duration_filter
    )
    return (
        is_old
        and (not request.state_filters or one.state.value in request.state_filters)
        and (not request.producer_id_filters or one.producer_id in request.producer_id_filters)
        and (matches is None or matches(one.transactional_id))
    )


HANDLER = Handler(ListTransactionsRequest, 0, 2, _answer)
