"""Connection attempts and requests as spans of time, computed from events."""

from enum import Enum

from kctl.client.events import (
    Closed,
    Event,
    Expired,
    Failed,
    Lost,
    Phase,
    Ready,
    RequestAbandoned,
    RequestExpired,
    RequestSent,
    ResponseReceived,
    Started,
    Target,
)


class End(Enum):
    """Result of a span. The value is the mark at the end of its bar."""

    RUNNING = ">"
    DONE = "|"
    FAILED = "x"
    EXPIRED = "T"
    DROPPED = "-"
    """Abandoned by the client: lost a race, or was closed."""


class Span:
    """Duration of a connection attempt or request."""

    __slots__ = ("end", "ended_at_ms", "label", "limit_ms", "started_at_ms")

    def __init__(self, label: str, started_at_ms: int, limit_ms: int | None) -> None:
        self.label = label
        self.started_at_ms = started_at_ms
        self.limit_ms = limit_ms
        self.ended_at_ms: int | None = None
        self.end = End.RUNNING

    def finish(self, at_ms: int, end: End) -> None:
        """Set the end. If it is set already, do nothing."""
        if self.ended_at_ms is None:
            self.ended_at_ms = at_ms
            self.end = end


class Spans:
    """Spans in the order of their start. Of more than `most` spans, the rest is only counted."""

    def __init__(self, most: int = 1000) -> None:
        self.shown: list[Span] = []
        self.not_shown = 0
        self._most = most
        self._connecting: dict[Target, Span] = {}
        self._requests: dict[tuple[Target, int], Span] = {}

    def on_event(self, event: Event) -> None:
        if isinstance(event, Started):
            self._on_started(event)
        elif isinstance(event, Ready):
            self._end_connecting(event.target, event.at_ms, End.DONE)
        elif isinstance(event, Failed | Lost):
            self._end_connecting(event.target, event.at_ms, End.FAILED)
            self._end_requests(event.target, event.at_ms, End.FAILED)
        elif isinstance(event, Expired):
            self._end_connecting(event.target, event.at_ms, End.EXPIRED)
        elif isinstance(event, Closed):
            self._end_connecting(event.target, event.at_ms, End.DROPPED)
            self._end_requests(event.target, event.at_ms, End.DROPPED)
        elif isinstance(event, RequestSent):
            span = self._start(f"{event.api} {event.target}", event.at_ms, None)
            if event.expects_response:
                self._requests[event.target, event.correlation_id] = span
            else:
                span.finish(event.at_ms, End.DONE)
        elif isinstance(event, ResponseReceived):
            self._end_request(event.target, event.correlation_id, event.at_ms, End.DONE)
        elif isinstance(event, RequestExpired | RequestAbandoned):
            self._end_request(event.target, event.correlation_id, event.at_ms, End.EXPIRED)

    def _on_started(self, event: Started) -> None:
        if event.phase is Phase.DNS:
            self._connecting[event.target] = self._start(f"connect {event.target}", event.at_ms, event.limit_ms)
            return
        # The first address continues the span of the DNS query; further addresses get new spans.
        look_up = self._connecting.pop(event.target._replace(address=""), None)
        self._connecting[event.target] = look_up or self._start(f"connect {event.target}", event.at_ms, event.limit_ms)

    def _start(self, label: str, at_ms: int, limit_ms: int | None) -> Span:
        span = Span(label, at_ms, limit_ms)
        if len(self.shown) < self._most:
            self.shown.append(span)
        else:
            self.not_shown += 1
        return span

    def _end_connecting(self, target: Target, at_ms: int, end: End) -> None:
        span = self._connecting.pop(target, None)
        if span is not None:
            span.finish(at_ms, end)

    def _end_request(self, target: Target, correlation_id: int, at_ms: int, end: End) -> None:
        span = self._requests.pop((target, correlation_id), None)
        if span is not None:
            span.finish(at_ms, end)

    def _end_requests(self, target: Target, at_ms: int, end: End) -> None:
        for key in [key for key in self._requests if key[0] == target]:
            self._requests.pop(key).finish(at_ms, end)
