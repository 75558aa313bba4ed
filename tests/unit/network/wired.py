"""A connection wired to a broker's side made of frames, without a socket or a clock."""

from collections.abc import Callable
from copy import copy

from kctl.client.events import Event, Target
from kctl.client.network.connection import Connection
from kctl.client.network.handshake import Handshake
from kctl.client.network.progress import ListenerNotes
from kctl.client.network.transport import PlainTransport, Transport
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kctl.client.protocol.framing import FrameReader, RequestFrame, decode_request, encode_response
from kctl.client.protocol.schema import Request, Response
from kctl.client.security.sasl import SaslMechanism

TARGET = Target(1, -1, "broker.example", 9092, "10.0.0.7:9092")
SPOKEN: tuple[type[Request], ...] = (
    ApiVersionsRequest,
    MetadataRequest,
    SaslHandshakeRequest,
    SaslAuthenticateRequest,
)


def api_versions(error_code: int = 0) -> ApiVersionsResponse:
    keys = [
        ApiVersion(api_key=cls.API_KEY, min_version=cls.VALID_VERSIONS[0], max_version=cls.VALID_VERSIONS[1])
        for cls in SPOKEN
    ]
    return ApiVersionsResponse(api_keys=keys, error_code=error_code)


def answer_well(request: RequestFrame) -> Response:
    return api_versions() if request.api_key == ApiVersionsRequest.API_KEY else MetadataResponse(cluster_id="c")


class Wired:
    """The connection under test, and the requests that it sent."""

    def __init__(self, transport: Transport | None = None, sasl: SaslMechanism | None = None) -> None:
        self.events: list[Event] = []
        self.notes = ListenerNotes()
        self.connection = Connection(
            7,
            TARGET,
            transport or PlainTransport(),
            Handshake(None if sasl is None else lambda: copy(sasl)),
            client_id="test",
            max_frame_bytes=1 << 20,
            request_timeout_ms=30_000,
            started_at_ms=0,
            events=self.events.append,
            jitter=lambda: 0.5,
            notes=self.notes,
        )
        self._frames = FrameReader(1 << 20)

    def sent(self) -> list[RequestFrame]:
        """Return the requests sent since the last call."""
        return [decode_request(f) for data in self.connection.pop_outgoing() if data for f in self._frames.feed(data)]

    def reply(self, request: RequestFrame, response: Response) -> bytes:
        """Return the frame of an answer; one with error 35 is of version 0, as brokers send it."""
        is_unknown_version = isinstance(response, ApiVersionsResponse) and response.error_code != 0
        return encode_response(response, 0 if is_unknown_version else request.version, request.correlation_id)

    def serve(self, answer: Callable[[RequestFrame], Response] = answer_well, *, now_ms: int = 0) -> None:
        """Answer whatever is asked until nothing more is."""
        requests = self.sent()
        while requests:
            for request in requests:
                self.connection.receive(self.reply(request, answer(request)), now_ms)
            requests = self.sent()

    def make_ready(self) -> None:
        self.connection.on_connected("10.0.0.1:1", 0)
        self.serve()
        assert self.connection.is_ready
