"""SaslHandshake: the client chooses a mechanism. Source: KIP-43, KIP-152."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.sasl import SaslHandshakeRequest, SaslHandshakeResponse
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    identity = call.identity
    if not (identity.expects_handshake or identity.may_renew):
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    known = identity.begin(request.mechanism, has_bare_tokens=call.version == 0)
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return SaslHandshakeResponse(error_code=code, mechanisms=list(identity.mechanisms))


HANDLER = Handler(SaslHandshakeRequest, 0, 1, _answer)
