"""Timers of a group member: heartbeats, session, poll interval, and backoff between joins."""

from collections.abc import Callable
from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.events import SessionConfirmed
from kctl.client.errors import KafkaError
from kctl.client.requests.retry import retry_backoff

AT_ONCE = 2
"""Number of immediate rejoins: one with the new member id, and one because another member joins."""


class Heartbeat:
    """Time of the next heartbeat: one interval after the last heartbeat, or sooner after a failure."""

    def __init__(self, interval_ms: int, retry_ms: int) -> None:
        self._interval_ms = interval_ms
        self._retry_ms = retry_ms
        self._is_in_flight = False
        self._due_at_ms = 0

    def restart(self, now_ms: int) -> None:
        """Restart the interval, because another response has confirmed the member."""
        self._due_at_ms = now_ms + self._interval_ms

    def due_at_ms(self) -> int:
        """Return the time of the next heartbeat, which may be past, or FOREVER_MS if a heartbeat is in flight."""
        return FOREVER_MS if self._is_in_flight else self._due_at_ms

    def sent(self, now_ms: int) -> None:
        self._is_in_flight = True
        self._due_at_ms = now_ms + self._interval_ms

    def ended(self, now_ms: int, *, is_ok: bool) -> None:
        self._is_in_flight = False
        if not is_ok:
            self._due_at_ms = min(self._due_at_ms, now_ms + self._retry_ms)


class Session:
    """Time until which the group certainly keeps this member, counted from the send time of a confirmed heartbeat.

    After that time, records are not returned until the coordinator confirms the membership.
    """

    def __init__(self, report: Callable[[SessionConfirmed], None]) -> None:
        self.is_over = False
        self._report = report
        self._until_ms = 0

    def confirmed(self, until_ms: int) -> None:
        """Extend the session. Responses that arrive out of order do not shorten it."""
        if until_ms > self._until_ms:
            self._until_ms = until_ms
            self._report(SessionConfirmed(until_ms))

    def look(self, now_ms: int) -> int:
        self.is_over = now_ms >= self._until_ms
        return FOREVER_MS if self.is_over else self._until_ms


class Liveness:
    """Limit of max.poll.interval.ms, counted from the end of a poll to the start of the next. Java counts from the
    start.
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
        return self._expires_at_ms


class JoinBackoff:
    """Backoff between joins of one member. Also limits how often a fatal error, which a join cannot fix, is raised.

    Attributes:
        failures: number of failed attempts since the last success.
        retry_at_ms: earliest time of the next join.
        last_error: error of the last failed attempt or the loss of the membership, until the group accepts the member.
    """

    def __init__(self, config: ConsumerConfig, rng: Random) -> None:
        self.failures = 0
        self.retry_at_ms = 0
        self.last_error: KafkaError | None = None
        self.fatal: KafkaError | None = None
        self._backoff = retry_backoff(config, rng)
        self._asked_again = 0
        self._is_refused = False
        self._is_due = False
        """Whether a poll has begun since the fatal error was last raised."""

    def failed(self, now_ms: int, error: KafkaError | None = None) -> None:
        self.last_error = error or self.last_error
        self.retry_at_ms = now_ms + self._backoff.backoff_ms(self.failures)
        self.failures += 1

    def asked_again(self, now_ms: int, error: KafkaError | None = None) -> None:
        """Record a rejoin that the group requested. The first AT_ONCE rejoins have no backoff."""
        self._asked_again += 1
        if self._asked_again > AT_ONCE:
            self.failed(now_ms, error)

    def refused(self, *, fatal: KafkaError | None = None) -> None:
        """Record an error that the application gets. The next `advance` starts the backoff."""
        self._is_refused = True
        self.fatal = fatal

    def clear_fatal(self) -> None:
        """Forget the fatal error, because another subscription may be accepted."""
        self.fatal = None
        self._is_due = False

    def accepted(self) -> None:
        self.failures = self._asked_again = 0
        self.retry_at_ms = 0
        self.last_error = None

    def poll_began(self) -> None:
        self._is_due = self.fatal is not None

    def advance(self, now_ms: int) -> KafkaError | None:
        """Start the backoff after a rejection. Return the fatal error if it is time to raise it again."""
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
        return self.retry_at_ms if self._is_due else None
