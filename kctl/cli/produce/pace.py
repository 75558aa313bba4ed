"""Pace: when the next record may be sent at a given rate."""

MOST_BEHIND_MS = 1000
"""What was missed longer ago than that is not made up for: a stall must not end in a burst."""


class Pace:
    """A schedule of records at a rate.

    Args:
        per_second: above 0.
        now_ms: when it begins.
    """

    def __init__(self, per_second: float, now_ms: int) -> None:
        self._interval_ms = 1000 / per_second
        self._next_at_ms = float(now_ms)

    def reserve(self, now_ms: int) -> int:
        """Return from when on the next record may be sent, and count it as sent."""
        self._next_at_ms = max(self._next_at_ms, now_ms - MOST_BEHIND_MS)
        at_ms = self._next_at_ms
        self._next_at_ms += self._interval_ms
        return int(at_ms)
