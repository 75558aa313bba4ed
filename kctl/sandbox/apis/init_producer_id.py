"""InitProducerId: an identity for an idempotent producer; transactions are not served yet."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
    # One that has an id already gets another: only transactional producers keep theirs (KIP-360).
    return InitProducerIdResponse(producer_id=call.cluster.new_producer_id(), producer_epoch=0)


HANDLER = Handler(InitProducerIdRequest, 0, 5, _answer)
