"""Alarms: functions that run in the main thread at an instant, whatever it is doing.

The system has one interval timer, so it is set to the earliest of all alarms that are pending. Windows has none: there
no alarm ever comes.

Python drops an exception that a signal handler raises in some places: in callbacks of weak references, in finalizers,
and during constant folding by its compiler, which it does for each module without a .pyc file. So what ends the main
thread's work is raised by `Insistence`, again and again.
"""

import weakref
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Generic, TypeVar

from kctl.client.clock import SystemClock
from kctl.posix import HAS_TIMER, handle_alarm, set_timer

Act = Callable[[FrameType | None], object]
"""Given the frame that the main thread is in."""

_LONGEST_MS = 1000 * 86_400 * 365
_SHORTEST_S = 0.0001
"""Zero would switch the timer off."""

_clock = SystemClock()
_pending: "list[Alarm]" = []


class Alarm:
    """An alarm that has been set: it comes once. Only the main thread may set one.

    Args: act: its exceptions are raised in the main thread, at any point.
    """

    def __init__(self, after_ms: int, act: Act) -> None:
        self.act = act
        self.at_ms = _clock.start_ms() + min(after_ms, _LONGEST_MS)
        _pending.append(self)
        _set_timer()

    def cancel(self) -> None:
        """Take it back; it may have come."""
        with suppress(ValueError):
            _pending.remove(self)
        _set_timer()


def cancel_all() -> None:
    """Take back every alarm that is pending."""
    _pending.clear()
    _set_timer()


def _set_timer() -> None:
    """Set the timer to the first alarm; look again, since a signal handler may have added an earlier one."""
    if not HAS_TIMER:
        return
    handle_alarm(_on_alarm)
    set_at_ms: int | None = 0
    while (at_ms := min([alarm.at_ms for alarm in _pending], default=None)) != set_at_ms:
        delay_s = 0.0 if at_ms is None else max(_SHORTEST_S, _clock.seconds_until(at_ms))
        set_timer(delay_s)
        set_at_ms = at_ms


def _on_alarm(_number: int, frame: FrameType | None) -> None:
    """Run one alarm that is due; the timer comes again for a second one."""
    now_ms = _clock.now_ms()
    due = next((alarm for alarm in _pending if alarm.at_ms <= now_ms), None)
    try:
        if due is not None:
            with suppress(ValueError):
                _pending.remove(due)
            due.act(frame)
    finally:
        _set_timer()  # not before: a second one would come in the midst of this one


class RaisedByHandler(BaseException):
    """Raised by a signal handler in the main thread; not an Exception, so that nothing that handles errors takes it."""


E = TypeVar("E", bound=RaisedByHandler)


class Insistence(Generic[E]):
    """Raises an exception in the main thread, and raises it again if Python has dropped it: if nothing refers to it.

    Args:
        make: makes the exception.
        may_raise: whether it may be raised in that frame, now; if not, it is tried again later.
    """

    AGAIN_MS = 20

    def __init__(self, make: Callable[[], E], may_raise: Callable[[FrameType | None], bool] = lambda _: True) -> None:
        self._make = make
        self._may_raise = may_raise
        self._raised: weakref.ref[E] | None = None
        self._alarm: Alarm | None = None
        self._is_over = False

    def begin(self, after_ms: int) -> None:
        """Raise it for the first time when that has passed."""
        self._alarm = Alarm(after_ms, self.insist)

    def insist(self, frame: FrameType | None) -> None:
        """Raise it, unless it is on its way; look again soon."""
        if self._is_over:
            return
        self._alarm = Alarm(self.AGAIN_MS, self.insist)
        is_on_its_way = self._raised is not None and self._raised() is not None
        if is_on_its_way or not self._may_raise(frame):
            return
        try:
            raise self._make()  # no variable has it: the traceback keeps this frame, which would keep it
        except RaisedByHandler as e:
            self._raised = weakref.ref(e)  # type: ignore[arg-type]  # what was made
            raise

    def end(self) -> None:
        """Raise it no more."""
        self._is_over = True
        if self._alarm is not None:
            self._alarm.cancel()
