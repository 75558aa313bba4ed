"""Broker side of a connection: handles one request at a time, in order. Does no I/O.

Invalid bytes close the connection and never stop the node.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.api import api_name
from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.headers import RequestHeader
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest
from kctl.client.protocol.forwarding import FORWARDED
from kctl.client.protocol.framing import (
    FrameReader,
    RequestPrefix,
    encode_response,
    peek_request,
    request_header_version,
)
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.access.enforcement import admit
from kctl.sandbox.apis import FAIL_THEMSELVES, HANDLERS, api_versions, sasl_authenticate
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.error_answers import error_answer
from kctl.sandbox.identity import Identity

if TYPE_CHECKING:
    from kctl.sandbox.node import NodeListener
    from kctl.sandbox.runtime import Wire

_BEFORE_AUTHENTICATION_MAX_BYTES = 524_288
"""sasl.server.max.receive.size, which limits the buffers of unauthenticated clients."""
MOST_UNFINISHED_BYTES = 256 * 1024 * 1024
"""Maximum size of the incomplete frames of all connections. The connection that exceeds it is closed."""
MOST_REQUESTS_OF_STRANGERS = 20
"""Maximum number of requests of a connection before authentication."""
_BACKLOG = 64
"""Maximum number of requests read ahead. Further requests stay in the socket."""
_OPEN_TO_STRANGERS = (ApiVersionsRequest.API_KEY, SaslHandshakeRequest.API_KEY)
_OPEN_WHEN_EXPIRED = (SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY)


class BrokerConnection:
    def __init__(self, listener: "NodeListener", wire: "Wire", identity: Identity) -> None:
        self._listener = listener
        self._wire = wire
        self._identity = identity
        self._faults = listener.node.faults
        self._max_bytes = listener.cluster.settings.socket_request_max_bytes
        is_open = identity.is_authenticated
        self._reader = FrameReader(self._max_bytes if is_open else _BEFORE_AUTHENTICATION_MAX_BYTES)
        self._unfinished_bytes = 0
        self._requests_before_login = 0
        self._frames: deque[bytes] = deque()
        self._call: Call | None = None
        self._is_closed = False
        self._is_serving = False
        self._is_paused = False
        self._is_throttled = False
        self._is_mute = False
        """True after a lost response: responses are ordered, so no later one may be sent."""

    # --- input --------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        if self._is_closed:
            return
        try:
            self._frames.extend(self._reader.feed(data))
        except RemoteProtocolError as error:
            self._refuse(f"{error}, begins with {error.first_bytes[:16]!r}")
            return
        self._count_unfinished(self._reader.pending_bytes)
        if self._listener.cluster.unfinished_bytes > MOST_UNFINISHED_BYTES:
            self._refuse(f"{MOST_UNFINISHED_BYTES} bytes of unfinished frames exceed the limit")
            return
        self._serve()

    def _count_unfinished(self, size_bytes: int) -> None:
        self._listener.cluster.unfinished_bytes += size_bytes - self._unfinished_bytes
        self._unfinished_bytes = size_bytes

    def writable(self) -> None:
        self._serve()

    def disconnected(self) -> None:
        self._end("")

    # --- requests -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Handle queued requests until one has to wait. Nested calls return immediately."""
        if self._is_serving:
            return
        self._is_serving = True
        try:
            while self._frames and self._is_free:
                self._serve_one(self._frames.popleft())
        finally:
            self._is_serving = False
        self._pace()

    @property
    def _is_free(self) -> bool:
        is_held = self._is_closed or self._is_throttled or self._faults.is_frozen or self._identity.is_refused
        return self._call is None and not is_held and not self._wire.is_full

    def _pace(self) -> None:
        is_full = len(self._frames) > _BACKLOG or self._wire.is_full
        if is_full != self._is_paused and not self._is_closed:
            self._is_paused = is_full
            self._wire.pause_reading(is_full)

    def _serve_one(self, frame: bytes) -> None:
        if self._identity.expects_bare_token:
            self._begin(sasl_authenticate.HANDLER, 0, None, SaslAuthenticateRequest(auth_bytes=frame), _bare_token)
            return
        try:
            prefix = peek_request(frame)
            handler = HANDLERS.get(prefix.api_key)
            if handler is None or not handler.first <= prefix.version <= handler.last:
                self._unsupported(prefix)
                return
            if self._identity.expects_handshake and not self._is_open_to_strangers(prefix):
                return
            if self._identity.has_expired and prefix.api_key not in _OPEN_WHEN_EXPIRED:
                self._refuse(f"{api_name(prefix.api_key)} after the end of the SASL session")
                return
            client_id, request = _read_request(handler, frame, prefix)
        except ProtocolError as error:
            self._refuse(str(error))
            return
        if isinstance(request, MetadataRequest) and request.topics is None and self._wire.is_gone:
            return  # on a large cluster, the responses to clients that timed out would delay all other clients
        encode = partial(encode_response, version=prefix.version, correlation_id=prefix.correlation_id)
        if self._identity.expects_token and prefix.api_key != SaslAuthenticateRequest.API_KEY:
            self._identity.is_refused = True
            self._answered(encode(error_answer(request, prefix.version, ErrorCode.ILLEGAL_SASL_STATE)))
            return
        self._begin(handler, prefix.version, client_id, request, encode)

    def _is_open_to_strangers(self, prefix: RequestPrefix) -> bool:
        """Return whether a request is allowed before authentication. Close the connection if it is not."""
        self._requests_before_login += 1
        if prefix.api_key not in _OPEN_TO_STRANGERS:
            self._refuse(f"{api_name(prefix.api_key)} before authentication")
            return False
        if self._requests_before_login > MOST_REQUESTS_OF_STRANGERS:
            self._refuse(f"more than {MOST_REQUESTS_OF_STRANGERS} requests before authentication")
            return False
        return True

    def _begin(
        self, handler: Handler[Any], version: int, client_id: str | None, request: Request, encode: "_Encode"
    ) -> None:
        listener = self._listener

        def answer(response: Response | None) -> None:
            if response is None:
                self._answered(None)
                return
            try:
                data = encode(admission.finish(response))
            except LocalProtocolError:
                # Long names in error texts can exceed the limit of a string. Kafka sends the same error.
                data = encode(error_answer(request, version, ErrorCode.UNKNOWN_SERVER_ERROR))
            self._answered(data)

        call = Call(listener.node, listener.cluster, self._identity, version, client_id, answer)
        self._call = call
        admission = admit(call, request)
        call.fails_with = self._faults.pop_error(request.API_KEY)
        if call.fails_with is not None and request.API_KEY not in FAIL_THEMSELVES:
            call.answer(error_answer(request, version, call.fails_with))
            return
        if admission.request is None:
            call.answer(None if getattr(request, "acks", None) == 0 else admission.refusal)
            return
        if request.NAME in FORWARDED:
            listener.cluster.quorum.forward(
                partial(_carry_out, handler, call, admission.request),
                lambda: call.answer(error_answer(request, version, ErrorCode.REQUEST_TIMED_OUT)),
            )
            return
        _carry_out(handler, call, admission.request)

    def _unsupported(self, prefix: RequestPrefix) -> None:
        if prefix.api_key != ApiVersionsRequest.API_KEY:
            self._refuse(f"{api_name(prefix.api_key)} version {prefix.version} is not supported")
            return
        response = api_versions.response(ErrorCode.UNSUPPORTED_VERSION)
        self._wire.write(encode_response(response, 0, prefix.correlation_id))

    # --- output -------------------------------------------------------------------------------------------------------

    def _answered(self, data: bytes | None) -> None:
        if data is None:
            self._done()
            return
        delay_ms = self._faults.delay_ms
        if delay_ms:
            self._listener.cluster.scheduler.call_later(delay_ms, lambda: self._leave(data))
        else:
            self._leave(data)

    def _leave(self, data: bytes) -> None:
        if self._is_closed:
            return
        self._is_mute = self._is_mute or self._faults.loses_answers
        if not self._is_mute:
            self._wire.write(data)
        if self._identity.is_refused:
            self._refuse("authentication failed")
            return
        if self._identity.is_authenticated:
            self._reader.max_bytes = self._max_bytes
        self._done()

    def _done(self) -> None:
        call, self._call = self._call, None
        if call is not None and call.muted_ms:
            self._is_throttled = True
            self._listener.cluster.scheduler.call_later(call.muted_ms, self._unmute)
        self._serve()

    def _unmute(self) -> None:
        self._is_throttled = False
        self._serve()

    def thaw(self) -> None:
        self._serve()

    # --- end ----------------------------------------------------------------------------------------------------------

    def _refuse(self, why: str) -> None:
        self._end(why)
        self._wire.close()

    def _end(self, why: str) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._frames.clear()
        self._reader = FrameReader(0)  # drops the buffered part of a frame
        self._count_unfinished(0)
        call, self._call = self._call, None
        if call is not None:
            call.abandon()
        self._listener.forget(self, why)


_Encode = Callable[[Response], bytes]


def _carry_out(handler: Handler[Any], call: Call, request: Request) -> None:
    response = handler.handle(call, request)
    if response is not None:
        call.answer(response)


def _bare_token(response: Response) -> bytes:
    """Return the bytes of a response after SaslHandshake version 0 (KIP-43), or no bytes if the login failed."""
    assert isinstance(response, SaslAuthenticateResponse)
    if response.error_code != ErrorCode.NONE:
        return b""
    return len(response.auth_bytes).to_bytes(4, "big") + response.auth_bytes


def _read_request(handler: Handler[Any], frame: bytes, prefix: RequestPrefix) -> tuple[str | None, Request]:
    """Return the client ID and the request of a frame.

    Ignores bytes after the last field, as in Kafka: librdkafka sends three in Metadata version 13.
    """
    header, end = codec.decode_header(RequestHeader, frame, request_header_version(handler.request, prefix.version))
    request, _ = codec.decode_header(handler.request, memoryview(frame)[end:], prefix.version)
    return header.client_id, request
