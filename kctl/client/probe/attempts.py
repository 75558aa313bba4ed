"""What a prober has under way: look-ups of names, and connections with the reports that they fill in. No I/O.

A connection may be kept silent for a while and then asked whether it still lives: a balancer or a NAT that forgets idle
connections lets the next request run into nothing.
"""

from kctl.client.errors import KafkaError, SaslRequired
from kctl.client.network.connection import Connection
from kctl.client.probe.conversation import Conversation
from kctl.client.probe.report import AddressReport, IdleReport
from kctl.client.runtime import Lookup


class IdleHold:
    """One connection under test."""

    __slots__ = ("is_asked", "since_at_ms", "until_at_ms")

    def __init__(self, since_at_ms: int, idle_ms: int) -> None:
        self.since_at_ms = since_at_ms
        self.until_at_ms = since_at_ms + idle_ms
        self.is_asked = False
        """Whether the silence is over and the answer is awaited."""

    def is_due(self, now_ms: int) -> bool:
        """Return whether it is time to ask."""
        return not self.is_asked and now_ms >= self.until_at_ms

    def ended(self, now_ms: int, error: KafkaError | None) -> IdleReport:
        """Return the report of a connection that answered or ended now."""
        silent_until_ms = self.until_at_ms if self.is_asked else min(now_ms, self.until_at_ms)
        return IdleReport(max(0, silent_until_ms - self.since_at_ms), error)


class NameLookup:
    """The look-up of a name, under way."""

    __slots__ = ("deadline_at_ms", "lookup", "report", "started_at_ms", "target")

    def __init__(self, report: AddressReport, lookup: Lookup | None, deadline_at_ms: int) -> None:
        self.target = report.target
        self.started_at_ms = report.started_at_ms
        self.report = report
        self.lookup = lookup
        self.deadline_at_ms = deadline_at_ms


class ProbeAttempt:
    """A connection under way and the report that it fills in."""

    __slots__ = (
        "connection",
        "conversation",
        "deadline_at_ms",
        "held",
        "idle",
        "is_asked",
        "is_retry",
        "report",
        "wants_mechanisms",
    )

    def __init__(self, connection: Connection, report: AddressReport, deadline_at_ms: int, *, is_retry: bool) -> None:
        self.connection = connection
        self.report = report
        self.deadline_at_ms = deadline_at_ms
        """When it has to be ready."""
        self.is_retry = is_retry
        """Whether it is the second one of an address, without credentials: the other protocol, or the mechanisms."""
        self.wants_mechanisms = is_retry and isinstance(report.error, SaslRequired)
        self.is_asked = False
        """Whether the mechanisms were asked for."""
        self.held = b""
        """What was received while the login was not there."""
        self.conversation: Conversation | None = None
        self.idle: IdleHold | None = None

    @property
    def next_deadline_at_ms(self) -> int:
        """When something is due on a connection that is ready: an answer, or the end of its silence."""
        if self.idle is not None and not self.idle.is_asked:
            return self.idle.until_at_ms
        if self.conversation is not None and self.conversation.again_at_ms is not None:
            return self.conversation.again_at_ms
        return self.connection.next_deadline_at_ms()
