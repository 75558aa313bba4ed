"""Connection: one TCP connection to one address, as bytes in and bytes out.

Owns the way from the first SYN to a ready connection (TLS, ApiVersions, SASL: `handshake.py`), the framing and the
requests in flight. It knows no socket and no time: its owner passes what arrived and the present, sends what
`pop_outgoing` returns, and closes it when a deadline passes. An error that it raises is the end of the connection.
Shown by tests/unit/network/test_connection.py and tests/fuzz/network.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError, RemoteProtocolError, TransportError, UnsupportedVersionError
from kctl.client.events import EventSink, Phase, PhaseDone, Ready, RequestSent, ResponseReceived, Target
from kctl.client.network import connect_errors
from kctl.client.network.connect_errors import may_be_answer
from kctl.client.network.handshake import Handshake
from kctl.client.network.in_flight import InFlight, OnDone
from kctl.client.network.session import HeldRequest, SaslSession
from kctl.client.network.states import CONNECTION_TRANSITIONS, ConnectionState, moved
from kctl.client.network.transport import Transport
from kctl.client.protocol.checks import check_response
from kctl.client.protocol.framing import FrameReader, decode_response_prefix, encode_request
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions

if TYPE_CHECKING:
    from kctl.client.security.tls import TlsChannel

logger = logging.getLogger("kctl.client.network")

_FIRST_BYTES = 64
BEFORE_READY_MAX_BYTES = 524_288
"""Largest frame of a node that is not ready yet, as sasl.server.max.receive.size: it may be anything."""
_PATIENT_API = "Produce"
"""Its requests may take longer than they were given, when the broker asks for that."""
_PHASES = {
    ConnectionState.TCP: Phase.TCP,
    ConnectionState.TLS: Phase.TLS,
    ConnectionState.APIVERSIONS: Phase.APIVERSIONS,
    ConnectionState.SASL_HANDSHAKE: Phase.SASL,
    ConnectionState.SASL_AUTHENTICATE: Phase.SASL,
    ConnectionState.READY: Phase.READY,
    ConnectionState.CLOSED: Phase.READY,
}


class Arrived(NamedTuple):
    """An answer that arrived, with its request."""

    request: InFlight
    response: Response


class ListenerNotes:
    """Attributes: has_answered: whether any request of a caller was ever answered, so that it needs no other login."""

    def __init__(self) -> None:
        self.has_answered = False
        self._surplus: set[tuple[str, int]] = set()

    def surplus(self, target: Target, api: str, version: int, count: int) -> None:
        """Log once for each node that an answer had more bytes than its version has, which Java overlooks too."""
        where = target.host, target.port
        if where not in self._surplus:
            self._surplus.add(where)
            what = f"the {api} v{version} response has {count} bytes after its end"
            logger.info("%s: %s; such bytes are ignored from now on", target, what)


class Connection:
    """One attempt at an address, and what becomes of it."""

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
        """
        Args:
            request_timeout_ms: for each request of the handshake, and for the renewal of a SASL session, behind what is
                in flight.
            jitter: a random number from 0 to 1.
            notes: what other connections to the same listener have learnt.
        """
        self.channel = channel
        self.target = target
        self.state = ConnectionState.TCP
        self.in_flight: deque[InFlight] = deque()
        self.started_at_ms = started_at_ms
        self.answered = 0
        """Answers to requests of our callers, the handshake's own not counted."""
        self._transport = transport
        self._handshake = handshake
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._frames = FrameReader(min(BEFORE_READY_MAX_BYTES, max_frame_bytes))
        self._has_heard = False
        """Whether the peer has said anything at all."""
        self._first_bytes = b""
        """What the peer said first, until it has proved to be a broker."""
        self._events = events
        self.phases_ms: dict[Phase, int] = {}
        """The phases that were passed, with their milliseconds."""
        self._phase_started_at_ms = started_at_ms
        self._next_correlation_id = 0
        self._outgoing: list[bytes] = []
        self._arrived: list[Arrived] = []
        self._request_timeout_ms = request_timeout_ms
        self._jitter = jitter
        self._notes = notes
        self._session = SaslSession()

    @property
    def phase(self) -> Phase:
        return _PHASES[self.state]

    @property
    def is_closed_by_peer(self) -> bool:
        """Whether the broker ended TLS; its TCP connection may stay open, but no more bytes follow."""
        return self._transport.is_closed_by_peer

    @property
    def is_ready(self) -> bool:
        return self.state is ConnectionState.READY

    def takes_requests(self, now_ms: int) -> bool:
        """Return whether a request of a caller would be sent at once: not while a SASL session is renewed."""
        return self.is_ready and not self._session.is_renewing and not self._session.is_due(now_ms)

    @property
    def held_bytes(self) -> int:
        """Bytes of requests that wait for the renewal of the session."""
        return sum(len(request.frame) for request in self._session.held)

    @property
    def versions(self) -> NodeVersions | None:
        """What the node speaks, once it said so."""
        return self._handshake.versions

    @property
    def mechanisms_offered(self) -> tuple[str, ...]:
        """The SASL mechanisms that the node takes, once it was asked; also where it refused ours."""
        return self._handshake.mechanisms_offered

    @property
    def next_read_bytes(self) -> int:
        """How many of the next bytes to read at most, so that large responses come whole; 0: any number, as in TLS."""
        return 0 if self._transport.channel is not None else self._frames.next_read_bytes

    def tls_channel(self) -> "TlsChannel | None":
        """Return the TLS channel, to look at what was presented and agreed; None without TLS."""
        return self._transport.channel

    def pop_outgoing(self) -> list[bytes]:
        """Return and forget the bytes to send, in order."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def pop_arrived(self) -> list[Arrived]:
        """Return and forget the answers that came before the bytes that `receive` raised an error about."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def next_deadline_ms(self) -> int:
        """Return the instant at which the first request expires or is abandoned, or the session has to be renewed."""
        renew_at_ms = FOREVER_MS if self._session.is_renewing else self._session.renew_at_ms
        return min([renew_at_ms, *(min(each.deadline_at_ms, each.wanted_until_ms) for each in self._pending())])

    def expired_request(self, now_ms: int) -> InFlight | None:
        """Return a request whose time is up, if there is one."""
        return next((request for request in self._pending() if now_ms >= request.deadline_at_ms), None)

    def pop_abandoned(self, now_ms: int) -> list[InFlight]:
        """Return the requests whose calls have ended since the last look; they stay in flight until they expire."""
        abandoned = [request for request in self._pending() if now_ms >= request.wanted_until_ms]
        for request in abandoned:
            request.wanted_until_ms = FOREVER_MS
        return abandoned

    def _pending(self) -> Sequence[InFlight]:
        if not self._session.held:
            return self.in_flight
        held = [request.in_flight for request in self._session.held if request.in_flight is not None]
        return [*self.in_flight, *held]

    def throttled(self, ms: int) -> None:
        """Extend the timeout of produce requests in flight by the throttle time: the broker handles none meanwhile.

        Source: KIP-219; Java's `incrementThrottleTime`. Differs: other requests keep their limit, because it may be
        what is left of their caller's; a record's own is delivery.timeout.ms, whatever becomes of its requests.
        """
        for request in self.in_flight:
            if request.api == _PATIENT_API:
                request.deadline_at_ms += ms

    # --- what happens to it -------------------------------------------------------------------------------------------

    def on_connected(self, local: str, now_ms: int) -> None:
        """Continue after TCP: to TLS, or at once to the first request."""
        self._phase_done(now_ms, local)
        self._outgoing.append(self._transport.start())
        if self._transport.is_secured:
            self._ask_versions(now_ms)
        else:
            self._enter(ConnectionState.TLS)

    def receive(self, data: bytes | memoryview, now_ms: int) -> list[Arrived]:
        """Take bytes from the peer and return the answers that they completed.

        Raises:
            KafkaError: TLS, authentication or protocol failure; the connection is over. Answers that came before are
                left to `pop_arrived`.
        """
        self._has_heard = True
        try:
            plain, reply = self._transport.receive(data)
            if reply:
                self._outgoing.append(reply)
            if self.state is ConnectionState.TLS and self._transport.is_secured:
                self._phase_done(now_ms, self._transport.detail)
                self._ask_versions(now_ms)
            if not self.is_ready:
                self._first_bytes += bytes(plain[: _FIRST_BYTES - len(self._first_bytes)])
            for frame in self._frames.feed(plain) if plain else ():
                self._on_frame(frame, now_ms)
        except TransportError as error:
            self._outgoing.append(self._transport.alert())
            connect_errors.located(self.target, Phase.SASL if self._session.is_renewing else self.phase, error)
            raise
        except RemoteProtocolError as error:
            named = connect_errors.bad_bytes(self.target, self.phase, error)
            if named is error:  # an error is never its own cause: following the causes would not end
                raise
            raise named from error
        except UnsupportedVersionError as error:
            assert self.versions is not None
            connect_errors.not_spoken(self.target, error, self.versions)
            raise
        return self.pop_arrived()

    def lost(self, error: OSError | None, now_ms: int) -> KafkaError:
        """Return why the connection ended, when the peer or the system ended it."""
        elapsed_ms = now_ms - self._phase_started_at_ms
        unframed = self._foreign_bytes()
        is_stranger = not (self._notes.has_answered or self._handshake.uses_sasl)
        if self.is_ready and is_stranger and self.in_flight and error is None:
            return connect_errors.closed_on_first_request(self.target, self.in_flight[0].api)
        if self.phase is Phase.TLS and not self._has_heard:
            return connect_errors.no_word_in_tls(self.target, elapsed_ms, error)
        return connect_errors.lost(self.target, self.phase, elapsed_ms, error, unframed)

    def expired(self, limit_ms: int, now_ms: int, overdue: InFlight | None = None) -> KafkaError:
        """Return the error of a connection that was not ready by its deadline.

        Args: overdue: the request of the handshake that expired first, if one did.
        """
        unframed = self._foreign_bytes()
        if unframed:
            return connect_errors.wrong_peer(self.target, self.phase, unframed)
        if overdue is not None:
            elapsed_ms = now_ms - overdue.sent_at_ms
            return connect_errors.expired(self.target, self.phase, limit_ms, elapsed_ms, "--request-timeout")
        return connect_errors.expired(self.target, self.phase, limit_ms, now_ms - self.started_at_ms)

    def _foreign_bytes(self) -> bytes:
        """Return the bytes of a server that are neither a whole frame nor the beginning of its first response."""
        unframed = self._first_bytes if self.versions is None and self._frames.pending_bytes else b""
        if unframed and self.in_flight and may_be_answer(unframed, self.in_flight[0].correlation_id):
            return b""
        return unframed

    def closed(self) -> list[InFlight]:
        """End the connection; return the requests that will not be answered."""
        self.state = moved(CONNECTION_TRANSITIONS, self.state, ConnectionState.CLOSED)
        orphans = [request for request in self._pending() if request.on_done is not None]
        self.in_flight.clear()
        self._session.held.clear()
        return orphans

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
        """Queue one request; its answer comes out of `receive`. One with `on_done` waits for a renewal under way."""
        correlation_id, frame = self._frame(request, version)
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
        queued = HeldRequest(request.NAME, version, correlation_id, frame, in_flight)
        if self._session.is_renewing and on_done is not None:
            self._session.held.append(queued)
        else:
            self._put(queued, now_ms)

    def send_unanswered(self, request: Request, version: int, now_ms: int) -> None:
        """Queue a request to which brokers send no answer: Produce with acks=0."""
        queued = HeldRequest(request.NAME, version, *self._frame(request, version), None)
        if self._session.is_renewing:
            self._session.held.append(queued)
        else:
            self._put(queued, now_ms)

    def _frame(self, request: Request, version: int) -> tuple[int, bytes]:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        return correlation_id, encode_request(request, version, correlation_id, self._client_id)

    def _put(self, queued: HeldRequest, now_ms: int) -> None:
        api, version, correlation_id, frame, in_flight = queued
        if in_flight is not None:
            self.in_flight.append(in_flight)
        expects_response = in_flight is not None
        self._events(RequestSent(now_ms, self.target, api, version, correlation_id, len(frame), expects_response))
        self._outgoing.append(self._transport.wrap(frame))

    # --- the SASL session ---------------------------------------------------------------------------------------------

    @property
    def is_renewing(self) -> bool:
        """Whether the SASL session is being renewed."""
        return self._session.is_renewing

    def is_renewal_due(self, now_ms: int) -> bool:
        """Return whether the session is near its end, and not being renewed yet."""
        return self.is_ready and self._session.is_due(now_ms)

    def renew_session(self, now_ms: int) -> None:
        """Authenticate again, behind the requests in flight; those of callers wait from now on.

        Raises: KafkaError: there are no credentials for it; the connection is over.
        """
        self._session.state = ConnectionState.SASL_HANDSHAKE
        try:
            self._ask_renewal(now_ms)
        except TransportError as error:
            connect_errors.located(self.target, Phase.SASL, error)
            raise

    def _ask_renewal(self, now_ms: int) -> None:
        assert self._session.state is not None
        request, version = self._handshake.next_request(self._session.state)
        answered_by_ms = max([now_ms, *(each.deadline_at_ms for each in self.in_flight)])
        deadline_at_ms = min(FOREVER_MS, answered_by_ms + self._request_timeout_ms)
        self.send(request, version, now_ms=now_ms, deadline_at_ms=deadline_at_ms, on_done=None)

    def _on_renewal(self, response: Response, asked_at_ms: int, now_ms: int) -> None:
        assert self._session.state is not None
        self._session.state = self._handshake.on_response(self._session.state, response)
        if self._session.state is not ConnectionState.READY:
            self._ask_renewal(now_ms)
            return
        self._session.began(self._handshake.session_lifetime_ms, asked_at_ms, self._jitter)
        while self._session.held:
            self._put(self._session.held.popleft(), now_ms)

    # --- steps --------------------------------------------------------------------------------------------------------

    def _ask_versions(self, now_ms: int) -> None:
        self._enter(ConnectionState.APIVERSIONS)
        self._ask(now_ms)

    def _ask(self, now_ms: int) -> None:
        """Send the next request of the handshake, under request.timeout.ms and the connect timeout."""
        request, version = self._handshake.next_request(self.state)
        deadline_at_ms = min(FOREVER_MS, now_ms + self._request_timeout_ms)
        self.send(request, version, now_ms=now_ms, deadline_at_ms=deadline_at_ms, on_done=None)

    def _on_frame(self, frame: bytes, now_ms: int) -> None:
        if not self.in_flight:
            raise RemoteProtocolError("an answer to a request that was never sent", first_bytes=frame[:64])
        request = self.in_flight[0]
        correlation_id, response, surplus = decode_response_prefix(
            request.response_cls, frame, request.version, in_place=True
        )
        if correlation_id != request.correlation_id:
            text = f"the answer has correlation id {correlation_id}, but {request.correlation_id} was next"
            raise RemoteProtocolError(text, api=request.api, version=request.version)
        check_response(response)
        if surplus:
            self._notes.surplus(self.target, request.api, request.version, surplus)
        self.in_flight.popleft()
        self._first_bytes = b""  # it is a broker; what comes next may be the beginning of its next answer
        self._events(
            ResponseReceived(
                now_ms,
                self.target,
                request.api,
                request.version,
                correlation_id,
                len(frame) + 4,
                now_ms - request.sent_at_ms,
            )
        )
        if request.on_done is None:
            if self._session.is_renewing:
                self._on_renewal(response, request.sent_at_ms, now_ms)
            else:
                self._shake_hands(response, request.sent_at_ms, now_ms)
        else:
            self.answered += 1
            self._notes.has_answered = True
            self._arrived.append(Arrived(request, response))

    def _shake_hands(self, response: Response, asked_at_ms: int, now_ms: int) -> None:
        old_phase = self.phase
        new_state = self._handshake.on_response(self.state, response)
        if _PHASES[new_state] is not old_phase:
            self._phase_done(now_ms, self._handshake.detail(old_phase))
        self._enter(new_state)
        if new_state is ConnectionState.READY:
            self._frames.max_bytes = self._max_frame_bytes
            self._session.began(self._handshake.session_lifetime_ms, asked_at_ms, self._jitter)
            self._events(Ready(now_ms, self.target, now_ms - self.started_at_ms))
        else:
            self._ask(now_ms)

    def _enter(self, state: ConnectionState) -> None:
        self.state = moved(CONNECTION_TRANSITIONS, self.state, state)

    def _phase_done(self, now_ms: int, detail: str) -> None:
        elapsed_ms = now_ms - self._phase_started_at_ms
        self.phases_ms[self.phase] = elapsed_ms
        self._events(PhaseDone(now_ms, self.target, self.phase, elapsed_ms, detail))
        self._phase_started_at_ms = now_ms
