"""Signals that end a command: none is lost where Python drops exceptions, and a closed terminal is one of them."""

import _thread
import operator
import os
import select
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kctl.cli.alarms import Insistence
from kctl.cli.environment import ClosingNotice
from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted, Interrupts
from kctl.cli.overtime import interrupted_after
from kctl.client.clock import ManualClock
from tests.support.bounds import bound

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
BOUND_S = bound(30)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Finalized:
    """Ctrl-C comes while its finalizer runs."""

    def __del__(self) -> None:
        _thread.interrupt_main()
        for _ in range(100):  # where Python looks for signals
            pass


def compile_a_power() -> None:
    """Compile a module with a constant to compute, with Ctrl-C in it: in C from the signal to the compiler."""
    steps: list[Callable[[], object]] = [_thread.interrupt_main, partial(compile, "n = 2**63 - 1", "module", "exec")]
    list(map(operator.call, steps))


def drop_a_finalized() -> None:
    Finalized()


def interrupts(notice: ClosingNotice | None = None, *, stderr_is_tty: bool = False) -> Interrupts:
    notice = notice or ClosingNotice()
    notice.program = "kctl x"
    return Interrupts(notice, stdout_is_tty=False, stderr_is_tty=stderr_is_tty)


@pytest.fixture(autouse=True)
def _handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("kctl.cli.interrupts.NOTICE_AFTER_MS", 5 * Insistence.AGAIN_MS)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def wait() -> None:
    """Wait for a signal whose handler raises."""
    select.select([], [], [], BOUND_S)


@pytest.mark.parametrize("drop", [compile_a_power, drop_a_finalized])
def test_interrupt_that_python_drops_is_raised_again(drop: Callable[[], None]) -> None:
    installed = interrupts()
    installed.install()
    try:
        drop()  # raises nothing: Python has dropped the interrupt
        with pytest.raises(Interrupted):
            wait()
    finally:
        installed.remove()


def test_interrupt_dropped_at_the_end_of_a_limited_block_is_raised_after_it() -> None:
    installed = interrupts()
    installed.install()
    try:
        with interrupted_after(3_600_000, ManualClock(), "reading"):
            compile_a_power()
        with pytest.raises(Interrupted):
            wait()
    finally:
        installed.remove()


def test_interrupt_that_is_kept_is_not_raised_twice() -> None:
    shown: list[str] = []
    notice = ClosingNotice()

    def show(text: str) -> None:
        shown.append(text)
        raise StopIteration  # ends the wait

    notice.show = show
    installed = interrupts(notice, stderr_is_tty=True)
    installed.install()
    try:
        with pytest.raises(Interrupted) as kept:
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(StopIteration):
            wait()  # many times as long as until an interrupt that was dropped comes again
        assert kept.value.code is ExitCode.SIGTERM
        assert shown == ["kctl x: closing (--close-timeout). Press Ctrl-C again to exit immediately"]
    finally:
        installed.remove()


def test_interrupt_inside_a_limited_block_keeps_the_notice_of_a_lasting_close() -> None:
    shown: list[str] = []
    notice = ClosingNotice()

    def show(text: str) -> None:
        shown.append(text)
        raise StopIteration

    notice.show = show
    installed = interrupts(notice, stderr_is_tty=True)
    installed.install()
    try:
        with pytest.raises(Interrupted) as kept, interrupted_after(3_600_000, ManualClock(), "reading"):
            signal.raise_signal(signal.SIGINT)
        assert kept.value.code is ExitCode.SIGINT
        with pytest.raises(StopIteration):
            wait()
        assert len(shown) == 1
    finally:
        installed.remove()


def test_hangup_interrupts_and_the_second_one_of_a_closed_terminal_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    installed = interrupts()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    installed.install()
    try:
        with pytest.raises(Interrupted) as kept:
            signal.raise_signal(signal.SIGHUP)
        assert kept.value.code is ExitCode.SIGHUP
        signal.raise_signal(signal.SIGHUP)
        assert left == []
        signal.raise_signal(signal.SIGTERM)
        assert left == [ExitCode.SIGTERM]
    finally:
        installed.remove()


def test_hangup_that_the_caller_has_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    installed = interrupts()
    installed.install()
    signal.raise_signal(signal.SIGHUP)
    installed.remove()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
