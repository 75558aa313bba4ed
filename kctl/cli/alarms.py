"""Alarms: functions that the main thread runs at a set time, even during other work.

The process timer is set to the earliest pending alarm. Windows has no timer, so alarms never fire.

Python drops exceptions of signal handlers in callbacks of weak references, in finalizers, and during constant folding
by the compiler. `Insistence` raises them again until one is not dropped.
"""

import weakref
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Generic, TypeVar

from kctl.client.clock import SystemClock
from kctl.posix import HAS_TIMER, handle_alarm, set_timer

Act = Callable[[FrameType | None], object]
"""Action of an alarm; its argument is the current frame of the main thread."""

_LONGEST_MS = 1000 * 86_400 * 365
_SHORTEST_S = 0.0001
"""Shortest delay, because zero cancels the timer."""

_clock = SystemClock()
_pending: "list[Alarm]" = []


class Alarm:
    """A pending alarm, which fires once. Only the main thread may set alarms.

    Args: act: called with the current frame. Its exceptions are raised in the main thread, at any point.
    """

    def __init__(self, after_ms: int, act: Act) -> None:
        self.act = act
        self.at_ms = _clock.start_ms() + min(after_ms, _LONGEST_MS)
        _pending.append(self)
        _set_timer()

    def cancel(self) -> None:
        """Cancel the alarm, unless it has fired."""
        with suppress(ValueError):
            _pending.remove(self)
        _set_timer()


def cancel_all() -> None:
    _pending.clear()
    _set_timer()


def _set_timer() -> None:
    """Set the timer to the earliest alarm. Repeat this if a signal handler adds an earlier alarm during the call."""
    if not HAS_TIMER:
        return
    handle_alarm(_on_alarm)
    set_at_ms: int | None = 0
    while (at_ms := min([alarm.at_ms for alarm in _pending], default=None)) != set_at_ms:
        delay_s = 0.0 if at_ms is None else max(_SHORTEST_S, _clock.seconds_until(at_ms))
        set_timer(delay_s)
        set_at_ms = at_ms


def _on_alarm(_number: int, frame: FrameType | None) -> None:
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
    """Raises an exception in the main thread, and again if Python dropped the exception (nothing refers to it).

    Args: may_raise: return whether to raise in the given frame. If not, the next attempt is after AGAIN_MS.
    """

    AGAIN_MS = 20

    def __init__(self, make: Callable[[], E], may_raise: Callable[[FrameType | None], bool] = lambda _: True) -> None:
        self._make = make
        self._may_raise = may_raise
        self._raised: weakref.ref[E] | None = None
        self._alarm: Alarm | None = None
        self._is_over = False

    def begin(self, after_ms: int) -> None:
        self._alarm = Alarm(after_ms, self.insist)

    def insist(self, frame: FrameType | None) -> None:
        """Raise the exception unless the previous one still exists, and schedule the next check."""
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
        self._is_over = True
        if self._alarm is not None:
            self._alarm.cancel()
