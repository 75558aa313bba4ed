"""ReadingTimers: limits for idle time and faults of a reading."""

from kctl.cli.consume.waiting_words import WaitingWords
from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.errors import ApiTimeout

IDLE_MS = 500
"""Interval at which an idle consumer checks whether stdout has a reader."""
CALM_MS = 2000
"""Interruption of a fault below which it counts as lasting: between two retries all looks well."""


class ReadingTimers:
    """Timers of one reading.

    Args:
        limit_ms: maximum time without fetched records before an end, and maximum time of a fault.
        idle_ms: --idle-timeout.
    """

    def __init__(self, clock: Clock, limit_ms: int, idle_ms: int) -> None:
        self._clock = clock
        self._limit_ms = limit_ms
        self._idle_ms = idle_ms
        self._fault_started_at_ms: int | None = None
        """Start of a fault without a break of CALM_MS or a fetched record."""
        self._fault_seen_ms = 0
        self.start()

    def start(self) -> None:
        self._rest = Timer(self._clock, FOREVER_MS)
        """Time since the last fetched record."""
        self._silence = Timer(self._clock, FOREVER_MS)
        """Time since the last written record."""

    def on_fetched(self) -> None:
        self._rest, self._fault_started_at_ms = Timer(self._clock, FOREVER_MS), None

    def on_written(self) -> None:
        self._silence = Timer(self._clock, FOREVER_MS)

    def update(self) -> None:
        self._rest.update()
        self._silence.update()

    @property
    def rest_ms(self) -> int:
        """Return the time since the last fetched record, as of the last update."""
        return self._rest.elapsed_ms

    @property
    def silence_ms(self) -> int:
        """Return the time since the last written record, as of the last update."""
        return self._silence.elapsed_ms

    @property
    def is_idle_over(self) -> bool:
        return self.rest_ms >= self._idle_ms

    def wait_s(self, *, is_bounded: bool, has_goal: bool) -> float:
        """Return the maximum time to wait for records before the next check."""
        self._rest.update()
        left_ms = min(IDLE_MS, self._idle_ms - self.rest_ms)
        if is_bounded:
            left_ms = min(left_ms, self._limit_ms - self.rest_ms)
        if has_goal and self._fault_started_at_ms is not None:
            until_end_ms = self._fault_started_at_ms + self._limit_ms - self._clock.now_ms()
            left_ms = min(left_ms, until_end_ms) if until_end_ms > 0 else left_ms
        return max(1, left_ms) / 1000

    def check(self, words: WaitingWords, *, is_bounded: bool, has_goal: bool) -> None:
        """Raise ApiTimeout if a fault, or a wait before an end, has lasted for the limit."""
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
        text = f"waiting for records: {words.text or 'the reason is unknown'}"
        return ApiTimeout(text, timeout_ms=self._limit_ms, elapsed_ms=elapsed_ms, cause=words.cause)
