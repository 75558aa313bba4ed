"""Requests to send, requests in flight, and their results."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.network.connect_errors import may_be_answer
from kctl.client.protocol.checks import check_response
from kctl.client.protocol.framing import decode_response_prefix, encode_request_pieces
from kctl.client.protocol.schema import Request, Response

_FETCH = "Fetch"
_PATIENT_API = "Produce"
"""API whose requests may take longer than their timeout if the broker throttles the client."""


class Answer(NamedTuple):
    """Result of a request: a response or an error; neither for a request without a response.

    Attributes: was_sent: False only if certainly no byte of the request was passed to a connection.
    """

    node_id: int
    response: Response | None
    error: KafkaError | None
    version: int
    received_at_ms: int
    was_sent: bool = True


OnDone = Callable[[Answer], None]


class Outgoing(NamedTuple):
    """A request for a ready node.

    Attributes:
        timeout_ms: maximum time in flight: request.timeout.ms, even if the call that needs it ends earlier. Its expiry
            closes the connection (docs/decisions/0008).
        on_done: function that gets the result exactly once.
        max_version: newest version that the caller can use; None for the newest declared.
        is_for_any: whether another broker is tried if this one does not respond.
        wanted_until_ms: end of a call whose connection must stay open. The request is then reported as abandoned, and
            stays in flight until `timeout_ms`.
        expect_response: False for Produce with acks=0, which ends when the system has accepted the bytes.
    """

    node_id: int
    request: Request
    timeout_ms: int
    on_done: OnDone
    max_version: int | None = None
    is_for_any: bool = False
    wanted_until_ms: int = FOREVER_MS
    expect_response: bool = True


class InFlight:
    """One request in flight.

    Attributes:
        deadline_at_ms: time at which the request expires and the connection is closed.
        wanted_until_ms: end of the call, if the connection must stay open after it (docs/decisions/0008).
    """

    __slots__ = (
        "api",
        "correlation_id",
        "deadline_at_ms",
        "on_done",
        "response_cls",
        "sent_at_ms",
        "version",
        "wanted_until_ms",
    )

    def __init__(
        self,
        *,
        api: str,
        version: int,
        correlation_id: int,
        response_cls: type[Response],
        sent_at_ms: int,
        deadline_at_ms: int,
        on_done: OnDone | None,
        wanted_until_ms: int = FOREVER_MS,
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.response_cls = response_cls
        self.sent_at_ms = sent_at_ms
        self.deadline_at_ms = deadline_at_ms
        self.wanted_until_ms = wanted_until_ms
        self.on_done = on_done
        """None for requests of the handshake, whose responses the connection handles."""


class QueuedRequest(NamedTuple):
    """A request as a frame, to send or to hold. Attributes: in_flight: None if the request has no response."""

    api: str
    version: int
    correlation_id: int
    frame: list[bytes]
    in_flight: InFlight | None


class InFlightRequests:
    """Requests of one connection without a response, in the order of the responses.

    Its length excludes requests that are held during a renewal of the SASL session.
    """

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._next_correlation_id = 0
        self._sent: deque[InFlight] = deque()
        self._held: deque[QueuedRequest] = deque()

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def oldest(self) -> InFlight:
        return self._sent[0]

    @property
    def has_fetch(self) -> bool:
        """Whether a response with records is pending."""
        return any(request.api == _FETCH for request in self._sent)

    @property
    def held_bytes(self) -> int:
        return sum(len(piece) for request in self._held for piece in request.frame)

    def frame(self, request: Request, version: int) -> tuple[int, list[bytes]]:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        return correlation_id, encode_request_pieces(request, version, correlation_id, self._client_id)

    def sent(self, request: InFlight) -> None:
        self._sent.append(request)

    def hold(self, queued: QueuedRequest) -> None:
        self._held.append(queued)

    def pop_held(self) -> Iterator[QueuedRequest]:
        """Yield and remove the held requests in order; the rest stay held if sending fails."""
        while self._held:
            yield self._held.popleft()

    def answered_by(self, frame: bytes) -> tuple[InFlight, Response, int]:
        """Match a response frame to the oldest request, and remove the request.

        Returns: the request, the response, and the number of surplus bytes.
        Raises: RemoteProtocolError: the frame is not a response to the oldest request, which stays in flight.
        """
        if not self._sent:
            raise RemoteProtocolError("the server sent a response without a request", first_bytes=frame[:64])
        request = self._sent[0]
        correlation_id, response, surplus = decode_response_prefix(
            request.response_cls, frame, request.version, in_place=True
        )
        if correlation_id != request.correlation_id:
            text = f"the response has correlation id {correlation_id}, expected {request.correlation_id}"
            raise RemoteProtocolError(text, api=request.api, version=request.version)
        check_response(response)
        self._sent.popleft()
        return request, response, surplus

    def may_be_answer(self, first_bytes: bytes) -> bool:
        return bool(self._sent) and may_be_answer(first_bytes, self._sent[0].correlation_id)

    def next_deadline_at_ms(self) -> int:
        nearest_ms = FOREVER_MS
        for each in self._all() if self._held else self._sent:  # comparisons cost less than calls
            if each.deadline_at_ms < nearest_ms:
                nearest_ms = each.deadline_at_ms
            if each.wanted_until_ms < nearest_ms:
                nearest_ms = each.wanted_until_ms
        return nearest_ms

    def last_deadline_at_ms(self) -> int:
        return max((each.deadline_at_ms for each in self._sent), default=0)

    def expired(self, now_ms: int) -> InFlight | None:
        for request in self._all():
            if now_ms >= request.deadline_at_ms:
                return request
        return None

    def pop_abandoned(self, now_ms: int) -> list[InFlight]:
        """Return requests whose calls have ended since the last `pop_abandoned`; the requests stay in flight."""
        abandoned = [request for request in self._all() if now_ms >= request.wanted_until_ms]
        for request in abandoned:
            request.wanted_until_ms = FOREVER_MS
        return abandoned

    def throttled(self, ms: int) -> None:
        """Extend the timeout of produce requests in flight by the throttle time.

        Source: KIP-219; Java's `incrementThrottleTime`. Differs: the timeout of other requests is not extended.
        """
        for request in self._sent:
            if request.api == _PATIENT_API:
                request.deadline_at_ms += ms

    def clear(self) -> list[InFlight]:
        """Remove all requests; return the requests of callers (not of the handshake), which get no response."""
        orphans = [request for request in self._all() if request.on_done is not None]
        self._sent.clear()
        self._held.clear()
        return orphans

    def _all(self) -> Iterable[InFlight]:
        if not self._held:
            return self._sent
        return [*self._sent, *(each.in_flight for each in self._held if each.in_flight is not None)]
