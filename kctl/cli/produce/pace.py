"""Pace: send times of records at a given rate."""

MOST_BEHIND_MS = 1000
"""Maximum delay to catch up, so that no burst follows a stall."""


class Pace:
    """Schedule of records at a rate.

    Args:
        per_second: rate above 0.
        now_ms: start.
    """

    def __init__(self, per_second: float, now_ms: int) -> None:
        self._interval_ms = 1000 / per_second
        self._next_at_ms = float(now_ms)

    def reserve(self, now_ms: int) -> int:
        """Return the earliest time of the next record, and count it as sent."""
        self._next_at_ms = max(self._next_at_ms, now_ms - MOST_BEHIND_MS)
        at_ms = self._next_at_ms
        self._next_at_ms += self._interval_ms
        return int(at_ms)
