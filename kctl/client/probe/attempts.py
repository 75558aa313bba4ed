"""DNS queries and connections of a prober that are in progress.

A connection may be kept idle and then tested, because balancers and NATs may drop idle connections silently.
"""

from kctl.client.errors import KafkaError, SaslRequired
from kctl.client.network.connection import Connection
from kctl.client.probe.conversation import Conversation
from kctl.client.probe.report import AddressReport, IdleReport
from kctl.client.runtime import Lookup


class IdleHold:
    __slots__ = ("is_asked", "since_at_ms", "until_at_ms")

    def __init__(self, since_at_ms: int, idle_ms: int) -> None:
        self.since_at_ms = since_at_ms
        self.until_at_ms = since_at_ms + idle_ms
        self.is_asked = False
        """Whether the idle time is over and the response is awaited."""

    def is_due(self, now_ms: int) -> bool:
        return not self.is_asked and now_ms >= self.until_at_ms

    def ended(self, now_ms: int, error: KafkaError | None) -> IdleReport:
        silent_until_ms = self.until_at_ms if self.is_asked else min(now_ms, self.until_at_ms)
        return IdleReport(max(0, silent_until_ms - self.since_at_ms), error)


class NameLookup:
    __slots__ = ("deadline_at_ms", "lookup", "report", "started_at_ms", "target")

    def __init__(self, report: AddressReport, lookup: Lookup | None, deadline_at_ms: int) -> None:
        self.target = report.target
        self.started_at_ms = report.started_at_ms
        self.report = report
        self.lookup = lookup
        self.deadline_at_ms = deadline_at_ms


class ProbeAttempt:
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
        """Deadline of the connection phase."""
        self.is_retry = is_retry
        """Whether this is the second attempt of an address, without credentials, for another protocol or the SASL
        mechanisms.
        """
        self.wants_mechanisms = is_retry and isinstance(report.error, SaslRequired)
        self.is_asked = False
        """Whether the mechanisms were requested."""
        self.held = b""
        """Bytes received while the login was pending."""
        self.conversation: Conversation | None = None
        self.idle: IdleHold | None = None

    @property
    def next_deadline_at_ms(self) -> int:
        """End of the idle time, otherwise of the pause between requests, otherwise deadline of the response."""
        if self.idle is not None and not self.idle.is_asked:
            return self.idle.until_at_ms
        if self.conversation is not None and self.conversation.again_at_ms is not None:
            return self.conversation.again_at_ms
        return self.connection.next_deadline_at_ms()
