"""Connection: one TCP connection to one address, as bytes in and bytes out, without socket and clock.

Its state changes from TCP over TLS, ApiVersions, and SASL to ready. It matches responses to requests. Its owner passes
received bytes and the time, sends the bytes of `pop_outgoing`, and closes it at a deadline. An error that it raises
ends the connection.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import RemoteProtocolError, TransportError, UnsupportedVersionError
from kctl.client.events import EventSink, Phase, Ready, RequestSent, ResponseReceived, Target
from kctl.client.network import connect_errors
from kctl.client.network.handshake import Handshake
from kctl.client.network.in_flight import InFlight, InFlightRequests, OnDone, QueuedRequest
from kctl.client.network.progress import ConnectionProgress, ListenerNotes
from kctl.client.network.session import SaslSession
from kctl.client.network.states import ConnectionState
from kctl.client.network.transport import Transport
from kctl.client.protocol.framing import FrameReader
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions

if TYPE_CHECKING:
    from kctl.client.security.tls import TlsChannel

BEFORE_READY_MAX_BYTES = 524_288
"""Maximum size of a frame before the node is ready, as sasl.server.max.receive.size; the server may not be a broker."""

MAX_FETCH_BYTES = 2**31 - 1 - 8
"""Maximum size of a frame while a Fetch is in flight: the largest array of a JVM.

fetch.max.bytes does not limit the first batch (KIP-74).
"""


class Arrived(NamedTuple):
    request: InFlight
    response: Response


class Connection:
    def __init__(
        self,
        channel: int,
        target: Target,
        transport: Transport,
        handshake: Handshake,
        *,
        client_id: str,
        max_frame_bytes: int,
        request_timeout_ms: int,
        started_at_ms: int,
        events: EventSink,
        jitter: Callable[[], float],
        notes: ListenerNotes,
    ) -> None:
        """Args:
        request_timeout_ms: timeout of each request of the handshake, and of a SASL renewal after the requests in
            flight.
        jitter: returns a random number from 0 to 1.
        notes: facts that all connections to one listener share.
        """
        self.channel = channel
        self.target = target
        self.in_flight = InFlightRequests(client_id)
        self.progress = ConnectionProgress(
            target, self.in_flight, started_at_ms, events, notes, uses_sasl=handshake.uses_sasl
        )
        self.answered = 0
        """Number of responses to requests of callers; the handshake does not count."""
        self._transport = transport
        self._handshake = handshake
        self._max_frame_bytes = max_frame_bytes
        self._frames = FrameReader(min(BEFORE_READY_MAX_BYTES, max_frame_bytes))
        self._events = events
        self._outgoing: list[bytes] = []
        self._arrived: list[Arrived] = []
        self._request_timeout_ms = request_timeout_ms
        self._jitter = jitter
        self._notes = notes
        self._session = SaslSession()

    @property
    def is_closed_by_peer(self) -> bool:
        """Whether the broker has ended TLS. TCP may stay open, but no more bytes follow."""
        return self._transport.is_closed_by_peer

    @property
    def is_ready(self) -> bool:
        return self.progress.state is ConnectionState.READY

    def takes_requests(self, now_ms: int) -> bool:
        """Return whether a request would be sent immediately, which is not the case during a SASL renewal."""
        return self.is_ready and not self._session.holds(now_ms)

    @property
    def versions(self) -> NodeVersions | None:
        return self._handshake.versions

    @property
    def mechanisms_offered(self) -> tuple[str, ...]:
        """SASL mechanisms of the node, even if it has rejected the client's mechanism."""
        return self._handshake.mechanisms_offered

    @property
    def next_read_bytes(self) -> int:
        """Number of bytes to read next, so that a large response is read in one piece; 0 for any number, as in TLS."""
        return 0 if self._transport.channel is not None else self._frames.next_read_bytes

    def next_read_place(self) -> memoryview | None:
        return None if self._transport.channel is not None else self._frames.place()

    @property
    def is_inside_large_frame(self) -> bool:
        """Whether only the rest of a large response can arrive; never true in TLS."""
        return self._transport.channel is None and self._frames.is_inside_large

    def tls_channel(self) -> "TlsChannel | None":
        return self._transport.channel

    def pop_outgoing(self) -> list[bytes]:
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def pop_arrived(self) -> list[Arrived]:
        """Return the responses that `receive` completed before it raised an error."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def next_deadline_at_ms(self) -> int:
        session, nearest_ms = self._session, self.in_flight.next_deadline_at_ms()
        return session.renew_at_ms if session.renew_at_ms < nearest_ms and session.state is None else nearest_ms

    # --- I/O ----------------------------------------------------------------------------------------------------------

    def on_connected(self, local: str, now_ms: int) -> None:
        self._outgoing.append(self._transport.start())
        if self._transport.is_secured:
            self._enter_and_ask(ConnectionState.APIVERSIONS, now_ms, local)
        else:
            self.progress.enter(ConnectionState.TLS, now_ms, local)

    def receive(self, data: bytes | memoryview, now_ms: int) -> list[Arrived]:
        """Process received bytes and return the completed responses.

        Raises:
            KafkaError: TLS, authentication, or the protocol failed, and the connection has ended; see `pop_arrived`.
        """
        self.progress.has_heard = True
        try:
            plain, reply = self._transport.receive(data)
            if reply:
                self._outgoing.append(reply)
            if self.progress.state is ConnectionState.TLS and self._transport.is_secured:
                self._enter_and_ask(ConnectionState.APIVERSIONS, now_ms, self._transport.detail)
            if self.is_ready:
                self._frames.max_bytes = MAX_FETCH_BYTES if self.in_flight.has_fetch else self._max_frame_bytes
            else:
                self.progress.received(plain)
            for frame in self._frames.feed(plain) if plain else ():
                self._on_frame(frame, now_ms)
            self._transport.check()
        except TransportError as error:
            self._outgoing.append(self._transport.alert())
            connect_errors.located(self.target, Phase.SASL if self._session.is_renewing else self.progress.phase, error)
            raise
        except RemoteProtocolError as error:
            named = connect_errors.bad_bytes(self.target, self.progress.phase, error)
            if named is error:  # an error must not be its own cause
                raise
            raise named from error
        except UnsupportedVersionError as error:
            assert self.versions is not None
            connect_errors.not_spoken(self.target, error, self.versions)
            raise
        return self.pop_arrived()

    def closed(self) -> list[InFlight]:
        self.progress.close()
        return self.in_flight.clear()

    # --- requests -----------------------------------------------------------------------------------------------------

    def send(
        self,
        request: Request,
        version: int,
        *,
        now_ms: int,
        deadline_at_ms: int,
        on_done: OnDone | None,
        wanted_until_ms: int = FOREVER_MS,
    ) -> None:
        """Queue one request. If `on_done` is given, the request waits for the end of a running renewal."""
        correlation_id, frame = self.in_flight.frame(request, version)
        in_flight = InFlight(
            api=request.NAME,
            version=version,
            correlation_id=correlation_id,
            response_cls=request.RESPONSE,
            sent_at_ms=now_ms,
            deadline_at_ms=deadline_at_ms,
            on_done=on_done,
            wanted_until_ms=wanted_until_ms,
        )
        queued = QueuedRequest(request.NAME, version, correlation_id, frame, in_flight)
        if on_done is not None and self._session.holds(now_ms):
            self.in_flight.hold(queued)
        else:
            self._put(queued, now_ms)

    def send_unanswered(self, request: Request, version: int, now_ms: int) -> None:
        """Queue a request without a response (Produce with acks=0)."""
        queued = QueuedRequest(request.NAME, version, *self.in_flight.frame(request, version), None)
        if self._session.holds(now_ms):
            self.in_flight.hold(queued)
        else:
            self._put(queued, now_ms)

    def _put(self, queued: QueuedRequest, now_ms: int) -> None:
        api, version, correlation_id, frame, in_flight = queued
        if in_flight is not None:
            self.in_flight.sent(in_flight)
        expects_response = in_flight is not None
        size_bytes = sum(map(len, frame))
        self._events(RequestSent(now_ms, self.target, api, version, correlation_id, size_bytes, expects_response))
        self._outgoing += map(self._transport.wrap, frame)

    # --- the SASL session ---------------------------------------------------------------------------------------------

    @property
    def is_renewing(self) -> bool:
        return self._session.is_renewing

    def is_renewal_due(self, now_ms: int) -> bool:
        return self.is_ready and self._session.is_due(now_ms)

    def renew_session(self, now_ms: int) -> None:
        """Authenticate again, after the requests in flight; later requests wait.

        Raises: KafkaError: there are no credentials, and the connection has ended.
        """
        self._session.state = ConnectionState.SASL_HANDSHAKE
        try:
            self._ask(ConnectionState.SASL_HANDSHAKE, now_ms)
        except TransportError as error:
            connect_errors.located(self.target, Phase.SASL, error)
            raise

    # --- steps --------------------------------------------------------------------------------------------------------

    def _enter_and_ask(self, state: ConnectionState, now_ms: int, detail: str) -> None:
        self.progress.enter(state, now_ms, detail)
        self._ask(state, now_ms)

    def _ask(self, state: ConnectionState, now_ms: int) -> None:
        """Send the request for the next step of the handshake.

        Its timeout starts when it becomes the oldest request in flight, because a renewal follows requests of callers.
        """
        request, version = self._handshake.next_request(state)
        answered_by_ms = max(now_ms, self.in_flight.last_deadline_at_ms())
        deadline_at_ms = min(FOREVER_MS, answered_by_ms + self._request_timeout_ms)
        self.send(request, version, now_ms=now_ms, deadline_at_ms=deadline_at_ms, on_done=None)

    def _on_frame(self, frame: bytes, now_ms: int) -> None:
        request, response, surplus = self.in_flight.answered_by(frame)
        api, version, elapsed_ms = request.api, request.version, now_ms - request.sent_at_ms
        if surplus:
            self._notes.surplus(self.target, api, version, surplus)
        self.progress.answered()
        self._events(
            ResponseReceived(now_ms, self.target, api, version, request.correlation_id, len(frame) + 4, elapsed_ms)
        )
        if request.on_done is None:
            self._on_own_response(response, request.sent_at_ms, now_ms)
        else:
            self.answered += 1
            self._notes.has_answered = True
            self._handshake.mask(response)
            self._arrived.append(Arrived(request, response))

    def _on_own_response(self, response: Response, asked_at_ms: int, now_ms: int) -> None:
        renewed = self._session.state
        state = self._handshake.on_response(renewed or self.progress.state, response)
        if renewed is not None:
            self._session.state = state
        else:
            self.progress.enter(state, now_ms, self._handshake.detail(self.progress.phase))
        if state is not ConnectionState.READY:
            self._ask(state, now_ms)
            return
        self._session.began(self._handshake.session_lifetime_ms, asked_at_ms, self._jitter, now_ms)
        if renewed is None:
            self._frames.max_bytes = self._max_frame_bytes
            self._events(Ready(now_ms, self.target, now_ms - self.progress.started_at_ms))
        for queued in self.in_flight.pop_held():
            self._put(queued, now_ms)
