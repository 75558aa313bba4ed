"""Heartbeat, Session, Liveness: when a heartbeat is due, how long a member is kept, how long polls may pause.

Three clocks of one member, no requests: `Heartbeat` and `Session` run on the network thread, whatever the application
does; `Liveness` runs while the application is outside of poll. Shown by tests/unit/consumer/test_heartbeat.py.
"""

from collections.abc import Callable

from kctl.client.clock import FOREVER_MS
from kctl.client.consumer.group_events import SessionConfirmed


class Heartbeat:
    """When the next heartbeat is due: an interval after the last one was sent, sooner after one that failed."""

    def __init__(self, interval_ms: int, retry_ms: int) -> None:
        self._interval_ms = interval_ms
        self._retry_ms = retry_ms
        self._is_in_flight = False
        self._due_at_ms = 0

    def restart(self, now_ms: int) -> None:
        """Another answer has just shown the coordinator that we live."""
        self._due_at_ms = now_ms + self._interval_ms

    def due_at_ms(self) -> int:
        """Return when to send; a past instant means now, FOREVER_MS while one is in flight."""
        return FOREVER_MS if self._is_in_flight else self._due_at_ms

    def sent(self, now_ms: int) -> None:
        self._is_in_flight = True
        self._due_at_ms = now_ms + self._interval_ms

    def ended(self, now_ms: int, *, is_ok: bool) -> None:
        """Note the answer, or that there was none."""
        self._is_in_flight = False
        if not is_ok:
            self._due_at_ms = min(self._due_at_ms, now_ms + self._retry_ms)


class Session:
    """Until when the group surely counts on this member: each confirmed sign of life extends it.

    After that instant the group may have given the partitions away, so the application gets no record of them before
    the coordinator has confirmed the membership again. Counted from when the confirmed request was sent.
    """

    def __init__(self, report: Callable[[SessionConfirmed], None]) -> None:
        self.is_over = False
        self._report = report
        self._until_ms = 0

    def confirmed(self, until_ms: int) -> None:
        """Extend the session; an answer that was overtaken by a later one shortens nothing."""
        if until_ms > self._until_ms:
            self._until_ms = until_ms
            self._report(SessionConfirmed(until_ms))

    def look(self, now_ms: int) -> int:
        """Notice that it is over; return when to look again, FOREVER_MS while it is over."""
        self.is_over = now_ms >= self._until_ms
        return FOREVER_MS if self.is_over else self._until_ms


class Liveness:
    """Whether the application still polls: it has max.poll.interval.ms from the end of one poll to the next.

    Differs: Java's interval runs from the start of a poll; here no time inside of poll counts.
    """

    def __init__(self, max_poll_interval_ms: int) -> None:
        self._max_poll_interval_ms = max_poll_interval_ms
        self._expires_at_ms = FOREVER_MS

    def poll_began(self) -> None:
        self._expires_at_ms = FOREVER_MS

    def poll_ended(self, at_ms: int) -> None:
        self._expires_at_ms = at_ms + self._max_poll_interval_ms

    @property
    def expires_at_ms(self) -> int:
        """The instant at which the application counts as stuck; FOREVER_MS while it polls."""
        return self._expires_at_ms
