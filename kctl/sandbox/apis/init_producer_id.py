"""InitProducerId: an identity for an idempotent producer; transactions are not served yet."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.sandbox.call import Call, Handler

_MAX_EPOCH = 2**15 - 1


def _answer(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
    if request.producer_id >= 0 and 0 <= request.producer_epoch < _MAX_EPOCH - 1:
        # KIP-360: a producer that lost track keeps its id and goes on with the next epoch.
        return InitProducerIdResponse(producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1)
    return InitProducerIdResponse(producer_id=call.cluster.new_producer_id(), producer_epoch=0)


HANDLER = Handler(InitProducerIdRequest, 0, 5, _answer)
