"""Clock and Timer: budgets that never go back, never end early, and cannot be spent twice."""

import math
from datetime import timedelta

import pytest

from kctl.client.clock import FOREVER_MS, ManualClock, SystemClock, Timer, duration_text, to_timeout_ms


def test_a_timer_moves_only_on_update() -> None:
    clock = ManualClock(100)
    timer = Timer(clock, 50)
    clock.advance(30)
    assert (timer.remaining_ms, timer.elapsed_ms) == (50, 0)
    timer.update()
    assert (timer.remaining_ms, timer.elapsed_ms, timer.is_expired) == (20, 30, False)
    clock.advance(20)
    timer.update()
    assert (timer.remaining_ms, timer.is_expired, timer.not_expired) == (0, True, False)
    clock.advance(1000)
    timer.update()
    assert timer.remaining_ms == 0


def test_a_sub_timer_never_outlives_its_parent() -> None:
    clock = ManualClock()
    timer = Timer(clock, 100)
    clock.advance(80)
    assert timer.sub(10).deadline_at_ms == 90
    assert timer.sub(1000).deadline_at_ms == 100
    clock.advance(100)
    late = timer.sub(10)
    assert late.is_expired
    assert late.timeout_ms == 0


def test_until_shares_a_deadline_between_threads() -> None:
    clock = ManualClock()
    first = Timer(clock, 100)
    clock.advance(40)
    second = Timer.until(clock, first.deadline_at_ms)
    assert (second.remaining_ms, second.timeout_ms) == (60, 60)
    clock.advance(100)
    assert Timer.until(clock, first.deadline_at_ms).is_expired


class SubMillisecondClock:
    """A clock between two milliseconds: looking rounds down, starting rounds up."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def now_ms(self) -> int:
        return self.now_us // 1000

    def start_ms(self) -> int:
        return -(-self.now_us // 1000)

    def wall_ms(self) -> int:
        return self.now_ms()


@pytest.mark.parametrize("start_us", [0, 1, 500, 999])
def test_a_limit_is_never_early_and_less_than_two_milliseconds_late(start_us: int) -> None:
    clock = SubMillisecondClock(start_us)
    timer = Timer(clock, 10)
    while not timer.is_expired:
        clock.now_us += 1
        timer.update()
    assert 10_000 <= clock.now_us - start_us < 11_000


def test_the_system_clock_brackets_an_instant() -> None:
    clock = SystemClock()
    before, start, after = clock.now_ms(), clock.start_ms(), clock.now_ms() + 1
    assert before <= start <= after


def test_the_wall_may_jump_and_monotonic_time_does_not_notice() -> None:
    clock = ManualClock(5, wall_ms=1000)
    clock.jump_wall(-500)
    clock.advance(1)
    assert (clock.now_ms(), clock.wall_ms()) == (6, 501)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


@pytest.mark.parametrize(
    ("timeout", "expected_ms"),
    [
        (None, 77),
        (0, 0),
        (1, 1000),
        (0.0005, 1),
        (timedelta(seconds=2), 2000),
        (math.inf, FOREVER_MS),
        (1e300, FOREVER_MS),
    ],
)
def test_public_timeouts_become_milliseconds(timeout: float | timedelta | None, expected_ms: int) -> None:
    assert to_timeout_ms(timeout, 77) == expected_ms


@pytest.mark.parametrize("timeout", [-1, -0.001, timedelta(seconds=-1), math.nan, True, "5"])
def test_timeout_that_is_not_a_number_in_range_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must"):
        to_timeout_ms(timeout, 77)


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        Timer(ManualClock(), -1)


def test_the_system_clock_knows_parts_of_a_millisecond() -> None:
    clock = SystemClock()
    assert clock.seconds_until(clock.now_ms()) == 0
    assert 0 < clock.seconds_until(clock.start_ms() + 60_000) <= 60.001


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0ms"),
        (250, "250ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1249, "1.2s"),
        (5006, "5s"),
        (9949, "9.9s"),
        (9950, "10s"),
        (59_700, "1m"),
        (90_000, "1m30s"),
        (3_600_000, "1h"),
        (3_661_000, "1h1m1s"),
    ],
)
def test_duration_text_is_what_people_write(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms) == text
