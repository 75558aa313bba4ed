"""AddOffsetsToTxn: adds the offsets of a group to a transaction."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transactions import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity

_FENCED_BY_NAME_FROM = 2


def _answer(call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    transactions = call.cluster.transactions
    claimed = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        if request.transactional_id:
            transactions.check(request.transactional_id, call.node)
        transactions.add(request.transactional_id, claimed, [transactions.offsets.home_of(request.group_id)])
    except Refused as refusal:
        is_hidden = refusal.code is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_BY_NAME_FROM
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_PRODUCER_EPOCH if is_hidden else refusal.code)
    return AddOffsetsToTxnResponse()


HANDLER = Handler(AddOffsetsToTxnRequest, 0, 4, _answer)
