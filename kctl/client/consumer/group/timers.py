"""Timers of a group member: heartbeats, session, the pause between polls, and the back-off between joins.

They send nothing. `Heartbeat`, `Session` and `JoinBackoff` run on the network thread, independent of the application;
`Liveness` runs while the application is outside of poll.
"""

from collections.abc import Callable
from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.events import SessionConfirmed
from kctl.client.errors import KafkaError
from kctl.client.requests.retry import retry_backoff

AT_ONCE = 2
"""How often a member that is asked to join again does so at once: with its new member id, and for one more member."""


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


class JoinBackoff:
    """The back-off between the joins of one member, and between the raises of an error that no join can cure.

    Attributes:
        failures: attempts since the member was last accepted.
        retry_at_ms: no join is sent before this instant.
        fatal: the error that no further attempt can cure; None while there is none.
    """

    def __init__(self, config: ConsumerConfig, rng: Random) -> None:
        self.failures = 0
        self.retry_at_ms = 0
        self.fatal: KafkaError | None = None
        self._backoff = retry_backoff(config, rng)
        self._asked_again = 0
        self._is_refused = False
        self._is_due = False
        """A poll has begun since the fatal error was last raised."""

    def failed(self, now_ms: int) -> None:
        """Wait before the next attempt, longer after each."""
        self.retry_at_ms = now_ms + self._backoff.backoff_ms(self.failures)
        self.failures += 1

    def asked_again(self, now_ms: int) -> None:
        """Note that the group asks the member to join again, which it does at once until that repeats itself."""
        self._asked_again += 1
        if self._asked_again > AT_ONCE:
            self.failed(now_ms)

    def refused(self, *, fatal: KafkaError | None = None) -> None:
        """Note an error that is raised to the application; the wait begins with the next `advance`."""
        self._is_refused = True
        self.fatal = fatal

    def clear_fatal(self) -> None:
        """Forget the fatal error: another subscription may be accepted."""
        self.fatal = None
        self._is_due = False

    def accepted(self) -> None:
        self.failures = self._asked_again = 0
        self.retry_at_ms = 0

    def poll_began(self) -> None:
        self._is_due = self.fatal is not None

    def advance(self, now_ms: int) -> KafkaError | None:
        """Begin the wait of a refusal; return the fatal error when the application is to get it again."""
        if self._is_refused:
            self._is_refused = False
            self.failed(now_ms)
        if self.fatal is None or not self._is_due or now_ms < self.retry_at_ms:
            return None
        self._is_due = False
        self.failed(now_ms)
        return self.fatal

    @property
    def fatal_at_ms(self) -> int | None:
        """Return when a poll that has begun gets the fatal error; None where none is due."""
        return self.retry_at_ms if self._is_due else None
