"""CandidateRace: the staggered start of further nodes while none is ready.

A caller that can use any node says so before each poll; one candidate is started at once, a further one after each
`bootstrap.attempt.delay.ms` while the earlier are still connecting. Pure. Shown by
tests/unit/network/test_candidate_race.py and, with dead nodes, tests/sim/network.
"""

from kctl.client.clock import FOREVER_MS


class CandidateRace:
    """When the next candidate is due."""

    def __init__(self, delay_ms: int) -> None:
        self._delay_ms = delay_ms
        self._next_at_ms = 0
        self.is_running = False
        """Whether someone waits for any node and none is ready."""

    def is_due(self, now_ms: int, *, connecting: int) -> bool:
        """Return whether to start a further candidate, with `connecting` of them under way."""
        return connecting == 0 or now_ms >= self._next_at_ms

    def started(self, now_ms: int) -> None:
        """Note that a candidate was started."""
        self._next_at_ms = now_ms + self._delay_ms

    def next_deadline_ms(self, *, may_start: bool) -> int:
        """Return when to look again; `may_start`: some candidate is neither under way nor backing off."""
        return self._next_at_ms if self.is_running and may_start else FOREVER_MS
