"""What a prober has under way: look-ups of names, and connections with the reports that they fill in. No I/O.

Shown by tests/sim/probe.
"""

from kctl.client.errors import SaslRequired
from kctl.client.network.connection import Connection
from kctl.client.probe.conversation import Conversation
from kctl.client.probe.idle import IdleHold
from kctl.client.probe.report import AddressReport
from kctl.client.runtime import Lookup


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
        self.conversation: Conversation | None = None
        self.idle: IdleHold | None = None

    @property
    def next_deadline_ms(self) -> int:
        """When something is due on a connection that is ready: an answer, or the end of its silence."""
        if self.idle is not None and not self.idle.is_asked:
            return self.idle.until_at_ms
        if self.conversation is not None and self.conversation.again_at_ms is not None:
            return self.conversation.again_at_ms
        return self.connection.next_deadline_ms()
