"""Timers of a reading: how long nothing has come or been written, how long a fault has lasted, and
when it is enough.
"""

from kctl.cli.consume.waiting_words import WaitingWords
from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.errors import ApiTimeout

IDLE_MS = 500
"""How often an idle consumer looks whether its reader has left."""
CALM_MS = 2000
"""A fault that comes back within this has lasted all the time: what is tried again looks well between two attempts."""


class ReadingTimers:
    """The timers of one reading.

    Args:
        limit_ms: the api timeout: how long an end is waited for, or a fault may keep a reading from any goal.
        idle_ms: stop after this time without a record.
    """

    def __init__(self, clock: Clock, limit_ms: int, idle_ms: int) -> None:
        self._clock = clock
        self._limit_ms = limit_ms
        self._idle_ms = idle_ms
        self._fault_started_at_ms: int | None = None
        """Since when something has been wrong, without a break of CALM_MS, and nothing has come."""
        self._fault_seen_ms = 0
        self.start()

    def start(self) -> None:
        """Begin to wait."""
        self._rest = Timer(self._clock, FOREVER_MS)
        """Since something was fetched."""
        self._silence = Timer(self._clock, FOREVER_MS)
        """Since something was written."""

    def on_fetched(self) -> None:
        """Note that something has come."""
        self._rest, self._fault_started_at_ms = Timer(self._clock, FOREVER_MS), None

    def on_written(self) -> None:
        """Note that a record was written."""
        self._silence = Timer(self._clock, FOREVER_MS)

    def update(self) -> None:
        """Move to the present."""
        self._rest.update()
        self._silence.update()

    @property
    def rest_ms(self) -> int:
        """How long nothing had come at the last update."""
        return self._rest.elapsed_ms

    @property
    def silence_ms(self) -> int:
        """How long nothing had been written at the last update."""
        return self._silence.elapsed_ms

    @property
    def is_idle_over(self) -> bool:
        """Whether nothing has come for as long as a reading may rest."""
        return self.rest_ms >= self._idle_ms

    def wait_s(self, *, is_bounded: bool, has_goal: bool) -> float:
        """Return how long to wait for the next chunk before any of the limits has to be looked at."""
        self._rest.update()
        left_ms = min(IDLE_MS, self._idle_ms - self.rest_ms)
        if is_bounded:
            left_ms = min(left_ms, self._limit_ms - self.rest_ms)
        if has_goal and self._fault_started_at_ms is not None:
            until_end_ms = self._fault_started_at_ms + self._limit_ms - self._clock.now_ms()
            left_ms = min(left_ms, until_end_ms) if until_end_ms > 0 else left_ms
        return max(1, left_ms) / 1000

    def check(self, words: WaitingWords, *, is_bounded: bool, has_goal: bool) -> None:
        """Raise ApiTimeout where an end or a limit is not reached in time."""
        now_ms = self._clock.now_ms()
        self._follow_fault(words, now_ms)
        if is_bounded and self.rest_ms >= self._limit_ms:
            raise self.timeout(words, self.rest_ms)
        fault_ms = 0 if self._fault_started_at_ms is None else now_ms - self._fault_started_at_ms
        if has_goal and words.is_fault and fault_ms >= self._limit_ms:
            raise self.timeout(words, fault_ms)

    def _follow_fault(self, words: WaitingWords, now_ms: int) -> None:
        if not words.is_fault:
            if now_ms - self._fault_seen_ms >= CALM_MS:
                self._fault_started_at_ms = None
            return
        self._fault_seen_ms = now_ms
        if self._fault_started_at_ms is None:
            started_at_ms = now_ms if words.started_at_ms is None else words.started_at_ms
            self._fault_started_at_ms = max(started_at_ms, self._rest.start_at_ms)

    def timeout(self, words: WaitingWords, elapsed_ms: int) -> ApiTimeout:
        """Return the error of a reading that has waited too long."""
        text = f"waiting for records: {words.text or 'no reason is known'}"
        return ApiTimeout(text, timeout_ms=self._limit_ms, elapsed_ms=elapsed_ms, cause=words.cause)
