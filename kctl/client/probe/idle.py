"""IdleHold: one connection that is kept silent for a while, and then asked whether it still lives. Pure.

A balancer or a NAT that forgets idle connections lets the next request run into nothing; only waiting shows it. The
wait ends on its millisecond, as every other limit. Shown by tests/sim/probe/test_idle.py.
"""

from typing import NamedTuple

from kctl.client.errors import KafkaError


class IdleReport(NamedTuple):
    """How long a connection was idle, and the result: `error` is None when it still worked."""

    idle_ms: int
    error: KafkaError | None


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
