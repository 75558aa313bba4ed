"""Interrupting a block at the API timeout: by alarms that the test lets come, on clocks that it moves."""

import contextlib
import signal
import sys
from types import FrameType

import pytest

from kctl.cli.overtime import GRACE_MS, interrupted_after
from kctl.client.clock import ManualClock, duration_text
from kctl.client.errors import ApiTimeout, ConnectionLost

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
LONG_MS = 3_600_000


class AlarmClock(ManualClock):
    """A clock for which the timer of the system never comes; the test sends its signal."""

    def seconds_until(self, _at_ms: int) -> float:
        return LONG_MS / 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of alarms and of blocks."""
    clock = AlarmClock(1000)
    monkeypatch.setattr("kctl.cli.alarms._clock", clock)
    return clock


@pytest.fixture
def cpu_ms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how long the thread has worked."""
    worked_ms = [5000]
    monkeypatch.setattr("kctl.cli.overtime.thread_cpu_ms", lambda: worked_ms[0])
    return worked_ms


def pass_time(clock: ManualClock, ms: int) -> None:
    """Let time pass and the alarm come that is due then."""
    clock.advance(ms)
    signal.raise_signal(signal.SIGALRM)


def test_block_is_interrupted_and_named(clock: ManualClock) -> None:
    def work() -> None:
        with interrupted_after(LONG_MS, clock, "reading"):
            pass_time(clock, LONG_MS - 1)
            pass_time(clock, 1)

    with pytest.raises(ApiTimeout) as caught:
        work()
    assert str(caught.value) == f"timed out after {duration_text(LONG_MS)} (default.api.timeout.ms) while reading"


def test_block_with_calls_is_interrupted_when_it_has_worked_beyond_the_timeout(
    clock: ManualClock, cpu_ms: list[int]
) -> None:
    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting", calls=True):
            pass_time(clock, LONG_MS)
            cpu_ms[0] += GRACE_MS - 1
            pass_time(clock, LONG_MS)
            cpu_ms[0] += 1
            pass_time(clock, LONG_MS)

    with pytest.raises(ApiTimeout):
        work()
    assert clock.now_ms() == 1000 + 3 * LONG_MS


def test_process_that_stood_still_at_its_deadline_has_the_error_of_the_client(
    clock: ManualClock, cpu_ms: list[int]
) -> None:
    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting", calls=True):
            pass_time(clock, 2 * LONG_MS)
            pass_time(clock, LONG_MS)
            cpu_ms[0] += 1
            raise ConnectionLost("no response")

    with pytest.raises(ConnectionLost):
        work()


def test_error_that_is_on_its_way_wins_over_the_interrupt(clock: ManualClock) -> None:
    error = ConnectionLost("gone")

    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting"):
            try:
                raise error
            finally:
                pass_time(clock, LONG_MS)

    with pytest.raises(ConnectionLost) as caught:
        work()
    assert caught.value is error


def test_second_alarm_leaves_the_interrupt_on_its_way_alone(clock: ManualClock) -> None:
    swallowed = []

    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting"):
            try:
                pass_time(clock, LONG_MS)
            finally:
                pass_time(clock, LONG_MS)  # a slow machine
                swallowed.append(True)

    with pytest.raises(ApiTimeout):
        work()
    assert swallowed


def test_interrupt_that_is_dropped_comes_again(clock: ManualClock) -> None:
    def drop() -> None:
        with contextlib.suppress(BaseException):  # as CPython's compiler does
            pass_time(clock, LONG_MS)

    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting"):
            drop()
            pass_time(clock, LONG_MS)

    with pytest.raises(ApiTimeout):
        work()


@pytest.mark.parametrize("is_overdue", [False, True])
def test_interrupt_at_the_very_end_of_the_block_is_none(clock: ManualClock, is_overdue: bool) -> None:
    """The timer may be due at any instruction: here at the call of what ends the block, of this module or another."""

    def interrupt_the_end(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "__exit__":
            sys.setprofile(None)
            pass_time(clock, LONG_MS)

    def work() -> str:
        with interrupted_after(LONG_MS, clock, "counting"):
            sys.setprofile(interrupt_the_end)
            if is_overdue:
                pass_time(clock, LONG_MS)
        return "done"

    try:
        if is_overdue:
            with pytest.raises(ApiTimeout):
                work()
        else:
            assert work() == "done"
    finally:
        sys.setprofile(None)


def test_block_that_ends_in_time_leaves_no_timer(clock: ManualClock) -> None:
    with interrupted_after(LONG_MS, clock, "counting"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
