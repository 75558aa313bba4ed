"""UnregisterBroker: accepts any broker without effect. Other IDs get an error."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import UnregisterBrokerRequest, UnregisterBrokerResponse
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    if request.broker_id in call.cluster.nodes:
        return UnregisterBrokerResponse(error_message=None)
    text = f"Broker ID {request.broker_id} is not currently registered"
    return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=text)


HANDLER = Handler(UnregisterBrokerRequest, 0, 0, _answer)
