"""ConnectionProgress: the state of a connection until it is ready, and the error if it ends.

The first received bytes identify a server that is not a broker.
"""

import logging

from kctl.client.errors import KafkaError
from kctl.client.events import EventSink, Phase, PhaseDone, Target
from kctl.client.network import connect_errors
from kctl.client.network.in_flight import InFlight, InFlightRequests
from kctl.client.network.states import CONNECTION_TRANSITIONS, ConnectionState, moved

logger = logging.getLogger("kctl.client.network")

_FIRST_BYTES = 64
_PHASES = {
    ConnectionState.TCP: Phase.TCP,
    ConnectionState.TLS: Phase.TLS,
    ConnectionState.APIVERSIONS: Phase.APIVERSIONS,
    ConnectionState.SASL_HANDSHAKE: Phase.SASL,
    ConnectionState.SASL_AUTHENTICATE: Phase.SASL,
    ConnectionState.READY: Phase.READY,
    ConnectionState.CLOSED: Phase.READY,
}


class ListenerNotes:
    """Facts about a listener that its connections share.

    Attributes: has_answered: whether a request of a caller got a response, so no other authentication is needed.
    """

    def __init__(self) -> None:
        self.has_answered = False
        self._surplus: set[tuple[str, int]] = set()

    def surplus(self, target: Target, api: str, version: int, count: int) -> None:
        """Log, once per node and API, that a response has bytes after its end; Java ignores them as well."""
        where = target.host, target.port
        if where not in self._surplus:
            self._surplus.add(where)
            what = f"the {api} v{version} response has {count} bytes after its end"
            logger.info("%s: %s (the client ignores such bytes)", target, what)


class ConnectionProgress:
    def __init__(
        self,
        target: Target,
        in_flight: InFlightRequests,
        started_at_ms: int,
        events: EventSink,
        notes: ListenerNotes,
        *,
        uses_sasl: bool,
    ) -> None:
        self.state = ConnectionState.TCP
        self.started_at_ms = started_at_ms
        self.phases_ms: dict[Phase, int] = {}
        self._target = target
        self._in_flight = in_flight
        self._events = events
        self._notes = notes
        self._uses_sasl = uses_sasl
        self.phase_started_at_ms = started_at_ms
        self.has_heard = False
        """Whether a byte from the server has arrived."""
        self._first_bytes = b""
        """First received bytes; empty after the server has proved to be a broker."""

    @property
    def phase(self) -> Phase:
        return _PHASES[self.state]

    def enter(self, state: ConnectionState, now_ms: int, detail: str) -> None:
        following = moved(CONNECTION_TRANSITIONS, self.state, state)
        if _PHASES[following] is not self.phase:
            elapsed_ms = now_ms - self.phase_started_at_ms
            self.phases_ms[self.phase] = elapsed_ms
            self._events(PhaseDone(now_ms, self._target, self.phase, elapsed_ms, detail))
            self.phase_started_at_ms = now_ms
        self.state = following

    def close(self) -> None:
        self.state = moved(CONNECTION_TRANSITIONS, self.state, ConnectionState.CLOSED)

    def received(self, plain: bytes | memoryview) -> None:
        self._first_bytes += bytes(plain[: _FIRST_BYTES - len(self._first_bytes)])

    def answered(self) -> None:
        """Record a response, which proves that the server is a broker."""
        self._first_bytes = b""

    def lost(self, error: OSError | None, now_ms: int) -> KafkaError:
        elapsed_ms = now_ms - self.phase_started_at_ms
        is_stranger = not (self._notes.has_answered or self._uses_sasl)
        if self.state is ConnectionState.READY and is_stranger and self._in_flight and error is None:
            return connect_errors.closed_on_first_request(self._target, self._in_flight.oldest.api)
        if self.phase is Phase.TLS and not self.has_heard:
            return connect_errors.no_word_in_tls(self._target, elapsed_ms, error)
        is_waited_for = self.state is ConnectionState.READY and self._in_flight
        waiting = self._in_flight.oldest.api if is_waited_for else ""
        return connect_errors.lost(self._target, self.phase, elapsed_ms, error, self._foreign_bytes(), waiting)

    def expired(self, limit_ms: int, now_ms: int, overdue: InFlight | None = None) -> KafkaError:
        """Return the error of a connection that was not ready by its deadline.

        Args: overdue: expired request of the handshake, if any.
        """
        unframed = self._foreign_bytes()
        if unframed:
            return connect_errors.wrong_peer(self._target, self.phase, unframed)
        if overdue is not None:
            elapsed_ms = now_ms - overdue.sent_at_ms
            return connect_errors.expired(self._target, self.phase, limit_ms, elapsed_ms, "request.timeout.ms")
        return connect_errors.expired(self._target, self.phase, limit_ms, now_ms - self.started_at_ms)

    def _foreign_bytes(self) -> bytes:
        unframed = self._first_bytes if self.phase is Phase.APIVERSIONS else b""
        if unframed and self._in_flight and self._in_flight.may_be_answer(unframed):
            return b""
        return unframed
