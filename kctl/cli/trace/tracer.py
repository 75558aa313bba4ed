"""Tracer that prints client events to stderr."""

import shutil
from collections.abc import Callable
from typing import Protocol

from kctl.cli.trace.spans import Spans
from kctl.cli.trace.waterfall import waterfall
from kctl.client.clock import Clock
from kctl.client.events import (
    AutoCommitFailed,
    Closed,
    CoordinatorFound,
    CoordinatorLost,
    Event,
    Expired,
    Failed,
    GroupChanged,
    Lost,
    MembershipLost,
    PhaseDone,
    PositionReset,
    Ready,
    RequestAbandoned,
    RequestExpired,
    RequestSent,
    ResponseReceived,
    Started,
    Throttled,
)


class Say(Protocol):
    """Function that prints a line. `painted`: end of the line, which may have colors."""

    def __call__(self, line: str, *, painted: str = "") -> None: ...


CONSUMER_EVENTS = (PositionReset, AutoCommitFailed, MembershipLost, GroupChanged, CoordinatorFound, CoordinatorLost)
"""Events without a connection."""


class Tracer:
    """Trace of one command. Pass `on_event`, which is thread-safe, to the client, and call `finish` once.

    Args: styled: return a text in a terminal style.
    """

    def __init__(self, say: "Say", clock: Clock, styled: Callable[[str, str], str], *, limit_ms: int) -> None:
        self._say = say
        self._styled = styled
        self._clock = clock
        self._limit_ms = limit_ms
        self._started_at_ms = clock.now_ms()
        self._spans = Spans()

    def on_event(self, event: Event) -> None:
        self._spans.on_event(event)
        self._say(trace_line(event, self._started_at_ms))

    def finish(self) -> None:
        lines = waterfall(
            self._spans.shown,
            started_at_ms=self._started_at_ms,
            ended_at_ms=self._clock.now_ms(),
            limit_ms=self._limit_ms,
            width=shutil.get_terminal_size().columns,
            more=self._spans.not_shown,
        )
        for start, bar, style in lines:
            self._say(start, painted=self._styled(bar, style))


def trace_line(event: Event, started_at_ms: int) -> str:
    """Return the line of an event: time, direction, broker and details."""
    if isinstance(event, CONSUMER_EVENTS):
        return f"{event.at_ms - started_at_ms:>7} ms * {event}"
    if isinstance(event, RequestSent):
        mark, words = ">", f"{_frame(event)}, {event.size_bytes} bytes"
    elif isinstance(event, ResponseReceived):
        mark, words = "<", f"{_frame(event)}, {event.size_bytes} bytes after {event.elapsed_ms} ms"
    else:
        mark, words = "*", _words(event)
    return f"{event.at_ms - started_at_ms:>7} ms {mark} {event.target}  {words}"


def _frame(event: RequestSent | ResponseReceived) -> str:
    return f"{event.api} v{event.version} #{event.correlation_id}"


def _words(event: Event) -> str:
    match event:
        case Started():
            return f"{event.phase.value}, limit {event.limit_ms} ms"
        case PhaseDone():
            return f"{event.phase.value} done after {event.elapsed_ms} ms" + (
                f": {event.detail}" if event.detail else ""
            )
        case Ready():
            return f"ready after {event.elapsed_ms} ms"
        case Failed() | Lost():
            return str(event.error).removeprefix(f"{event.target}: ")
        case Expired():
            return f"expired in {event.phase.value} after {event.elapsed_ms} ms (limit {event.limit_ms} ms)"
        case Closed():
            return f"closed: {event.reason}"
        case RequestExpired():
            return f"no response to {event.api} #{event.correlation_id} in {event.limit_ms} ms"
        case RequestAbandoned():
            return f"no response to {event.api} #{event.correlation_id} in {event.limit_ms} ms when the call ended"
        case Throttled():
            return f"{event.api} throttled for {event.throttle_ms} ms"
        case RequestSent() | ResponseReceived():
            return _frame(event)
        case _:
            return str(event)
