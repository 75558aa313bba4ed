"""EndTxn: commits or aborts a transaction. From version 5, returns the next epoch (KIP-890)."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transactions import EndTxnRequest, EndTxnResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity

_FENCED_BY_NAME_FROM = 2
_OWN_EPOCHS_FROM = 5


def _answer(call: Call, request: EndTxnRequest) -> EndTxnResponse:
    transactions = call.cluster.transactions
    claimed = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        if request.transactional_id:
            transactions.check(request.transactional_id, call.node)
        holder = transactions.end(
            request.transactional_id,
            claimed,
            commit=request.committed,
            has_own_epoch=call.version >= _OWN_EPOCHS_FROM,
        )
    except Refused as refusal:
        is_hidden = refusal.code is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_BY_NAME_FROM
        return EndTxnResponse(error_code=ErrorCode.INVALID_PRODUCER_EPOCH if is_hidden else refusal.code)
    return EndTxnResponse(producer_id=holder.producer_id, producer_epoch=holder.epoch)


HANDLER = Handler(EndTxnRequest, 0, 5, _answer)
