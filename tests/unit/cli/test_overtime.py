"""Interrupting work at the API timeout: by a signal that the test itself sends, without any wait."""

import signal
import sys
from types import FrameType

import pytest

from kctl.cli.overtime import interrupted_after
from kctl.client.clock import ManualClock, duration_text
from kctl.client.errors import ApiTimeout, ConnectionLost

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
LONG_MS = 3_600_000


def test_work_is_interrupted_and_named() -> None:
    clock = ManualClock()

    def work() -> None:
        with interrupted_after(LONG_MS, clock, "counting"):
            clock.advance(LONG_MS + 3)
            signal.raise_signal(signal.SIGALRM)

    with pytest.raises(ApiTimeout) as caught:
        work()
    assert str(caught.value) == f"timed out after {duration_text(LONG_MS)} (--api-timeout) while counting"


def test_error_that_is_on_its_way_wins_over_the_interrupt() -> None:
    error = ConnectionLost("gone")

    def work() -> None:
        with interrupted_after(LONG_MS, ManualClock(), "counting"):
            try:
                raise error
            finally:
                signal.raise_signal(signal.SIGALRM)

    with pytest.raises(ConnectionLost) as caught:
        work()
    assert caught.value is error


def test_second_interrupt_leaves_the_first_on_its_way_alone() -> None:
    swallowed = []

    def work() -> None:
        with interrupted_after(LONG_MS, ManualClock(), "counting"):
            try:
                signal.raise_signal(signal.SIGALRM)
            finally:
                signal.raise_signal(signal.SIGALRM)  # a slow machine: the timer is due again
                swallowed.append(True)

    with pytest.raises(ApiTimeout):
        work()
    assert swallowed


@pytest.mark.parametrize("is_overdue", [False, True])
def test_interrupt_at_the_very_end_of_the_block_is_none(is_overdue: bool) -> None:
    """The timer may be due at any instruction: here at the call of what ends the block, of this module or another."""

    def interrupt_the_end(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "__exit__":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGALRM)

    def work() -> str:
        with interrupted_after(LONG_MS, ManualClock(), "counting"):
            sys.setprofile(interrupt_the_end)
            if is_overdue:
                signal.raise_signal(signal.SIGALRM)
        return "done"

    try:
        if is_overdue:
            with pytest.raises(ApiTimeout):
                work()
        else:
            assert work() == "done"
    finally:
        sys.setprofile(None)


def test_block_that_ends_in_time_leaves_no_timer_and_no_handler() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with interrupted_after(LONG_MS, ManualClock(), "counting"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
