"""SaslAuthenticate: one exchange of a SASL mechanism. Source: KIP-152."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import AuthenticationError
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    if not call.identity.expects_token:
        text = "unexpected SaslAuthenticate request: send SaslHandshake first"
        return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=text)
    try:
        token = call.identity.step(request.auth_bytes)
    except AuthenticationError as error:
        return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(error))
    return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=call.identity.session_lifetime_ms)


HANDLER = Handler(SaslAuthenticateRequest, 0, 2, _answer)
