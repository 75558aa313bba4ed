"""Interrupting work at the API timeout: by a signal that the test itself sends, without any wait."""

import signal

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


def test_block_that_ends_in_time_leaves_no_timer_and_no_handler() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with interrupted_after(LONG_MS, ManualClock(), "counting"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
