"""Clock and Timer: the only module that reads the time.

The start of a timeout is rounded up (`start_ms`) and later readings down (`now_ms`), so a timeout is never early and
less than one millisecond late. In virtual time, both are equal.
"""

import math
import time
from datetime import timedelta
from typing import Protocol

FOREVER_MS = 2**53
"""Time without end. Its sum with any time is still an exact integer in a float."""


def duration_text(duration_ms: int) -> str:
    """Return a duration such as `250ms`, `1.2s`, `5s`, or `1m30s`."""
    if duration_ms < 1000:
        return f"{duration_ms}ms"
    tenths = (duration_ms + 50) // 100
    if tenths < 100:
        return f"{tenths / 10:g}s"
    seconds = (duration_ms + 500) // 1000
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count)


def thread_cpu_ms() -> int:
    return time.thread_time_ns() // 1_000_000


class Clock(Protocol):
    def now_ms(self) -> int:
        """Return the monotonic time for checks, rounded down."""
        ...

    def start_ms(self) -> int:
        """Return the monotonic time for starts, rounded up."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, for timestamps and display only, because this clock may jump."""
        ...


class SystemClock:
    __slots__ = ()

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def start_ms(self) -> int:
        return -(-time.monotonic_ns() // 1_000_000)

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def now_us(self) -> int:
        """Return the monotonic time in microseconds, for short durations."""
        return time.monotonic_ns() // 1000

    def seconds_until(self, at_ms: int) -> float:
        """Return the exact time until `at_ms`, never negative; with `now_ms`, waits would be too long."""
        return max(0, at_ms * 1_000_000 - time.monotonic_ns()) / 1_000_000_000


class ManualClock:
    """Virtual time, advanced by tests."""

    __slots__ = ("_now_ms", "_wall_offset_ms")

    def __init__(self, now_ms: int = 0, wall_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._wall_offset_ms = wall_ms - now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def start_ms(self) -> int:
        return self._now_ms

    def wall_ms(self) -> int:
        return self._now_ms + self._wall_offset_ms

    def advance(self, ms: int) -> None:
        if ms < 0:
            raise ValueError(f"cannot move the clock backwards: advance({ms})")
        self._now_ms += ms

    def jump_wall(self, ms: int) -> None:
        """Change only the wall clock, as NTP does."""
        self._wall_offset_ms += ms


class Timer:
    """Remaining time of a timeout: a snapshot that changes only in `update()`.

    Below the public API, timeouts are passed as `Timer`, so that steps share the time. Not thread-safe: each thread
    creates its own (`Timer.until`).

    Source: Kafka's `common.utils.Timer`; spec/consumer-timeouts. Differs: the start is rounded up.
    """

    __slots__ = ("_clock", "_now_ms", "deadline_at_ms", "start_at_ms", "timeout_ms")

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        if timeout_ms < 0:
            raise ValueError(f"timeout_ms must be >= 0, not {timeout_ms}")
        self._clock = clock
        self.timeout_ms = min(timeout_ms, FOREVER_MS)
        self.start_at_ms = clock.start_ms()
        self.deadline_at_ms = self.start_at_ms + self.timeout_ms
        self._now_ms = self.start_at_ms

    @classmethod
    def until(cls, clock: Clock, deadline_at_ms: int) -> "Timer":
        """Return a timer that ends at `deadline_at_ms`, which may be past."""
        timer = cls(clock, 0)
        timer.timeout_ms = max(0, deadline_at_ms - timer.start_at_ms)
        timer.deadline_at_ms = deadline_at_ms
        return timer

    def update(self) -> None:
        """Advance the snapshot to the current time."""
        self._now_ms = max(self._now_ms, self._clock.now_ms())

    @property
    def now_ms(self) -> int:
        return self._now_ms

    @property
    def remaining_ms(self) -> int:
        return max(0, self.deadline_at_ms - self._now_ms)

    @property
    def elapsed_ms(self) -> int:
        return self._now_ms - self.start_at_ms

    @property
    def is_expired(self) -> bool:
        return self._now_ms >= self.deadline_at_ms

    @property
    def not_expired(self) -> bool:
        return self._now_ms < self.deadline_at_ms

    def sub(self, timeout_ms: int) -> "Timer":
        """Return a timer that starts now, and ends no later than this timer."""
        child = Timer(self._clock, timeout_ms)
        if child.deadline_at_ms > self.deadline_at_ms:
            child.deadline_at_ms = self.deadline_at_ms
            child.timeout_ms = max(0, self.deadline_at_ms - child.start_at_ms)
        return child

    def __repr__(self) -> str:
        return f"Timer({self.remaining_ms} of {self.timeout_ms} ms left)"


def to_timeout_ms(timeout: "float | timedelta | None", default_ms: int, what: str = "timeout") -> int:
    """Return a public `timeout` argument in milliseconds.

    Args:
        timeout: seconds as int or float, a timedelta, `math.inf` for no limit, or None for the default.

    Raises:
        ValueError: the timeout is negative, or not a number.
    """
    if timeout is None:
        return default_ms
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise ValueError(f"{what} must be seconds (int, float or timedelta), not {timeout!r}")
    if seconds < 0:
        raise ValueError(f"{what} must not be negative: {timeout!r}")
    if seconds >= FOREVER_MS // 1000:
        return FOREVER_MS
    return math.ceil(seconds * 1000)
