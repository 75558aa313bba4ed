"""InitProducerId: an identity for an idempotent producer, or the next epoch of a transactional producer."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID, ProducerIdentity

_FENCED_BY_NAME_FROM = 4


def _answer(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    try:
        given = _give(call, request)
    except Refused as refusal:
        code = refusal.code
        if code is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_BY_NAME_FROM:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
    return InitProducerIdResponse(producer_id=given.producer_id, producer_epoch=given.epoch)


def _give(call: Call, request: InitProducerIdRequest) -> ProducerIdentity:
    expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    if (expected.producer_id == NO_PRODUCER_ID) != (expected.epoch == NO_EPOCH):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        # idempotent producers get a new ID each time: only transactional producers keep theirs (KIP-360)
        return ProducerIdentity(call.cluster.new_producer_id(), 0)
    transactions = call.cluster.transactions
    if request.transactional_id:
        transactions.check(request.transactional_id, call.node)
    return transactions.initialise(
        request.transactional_id,
        None if expected.producer_id == NO_PRODUCER_ID else expected,
        request.transaction_timeout_ms,
    )


HANDLER = Handler(InitProducerIdRequest, 0, 5, _answer)
