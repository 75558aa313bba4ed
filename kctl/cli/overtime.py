"""Overtime: ends a command that is still decoding or formatting a response when its API timeout has passed.

The client's own deadlines end every wait. A response of a million topics is no wait but work, of this process, and a
decoder looks at no clock. An interval timer of the system interrupts it `GRACE_MS` after the deadline: a wait that ends
at the deadline has its own error by then, which says more. Without such timers (Windows) the work is done to its end.
"""

import signal
import sys
from types import FrameType, TracebackType

from kctl.client.clock import Clock, Timer
from kctl.client.errors import ApiTimeout, KafkaError

GRACE_MS = 200
_AGAIN_S = 0.1
"""When to interrupt again, if the first time was where Python drops exceptions (a finalizer, a weak reference)."""
_LONGEST_MS = 1000 * 86_400 * 365


class _Overdue(BaseException):
    """Raised in the main thread, wherever it is; not an Exception, so that nothing that handles errors takes it."""


class interrupted_after:
    """Interrupt the block when it takes longer than the timeout. Writing to stdout is not for it: a reader may be slow.

    Args: doing: completes "timed out after ... while" in the error.
    Raises: ApiTimeout.

    A class, not a generator under contextlib: an interrupt in contextlib's own code would leave the block untranslated.
    """

    def __init__(self, timeout_ms: int, clock: Clock, doing: str) -> None:
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._doing = doing

    def __enter__(self) -> None:
        self._timer = Timer(self._clock, self._timeout_ms)
        if hasattr(signal, "setitimer"):
            self._before = signal.signal(signal.SIGALRM, _interrupt)
            signal.setitimer(signal.ITIMER_REAL, (min(self._timeout_ms, _LONGEST_MS) + GRACE_MS) / 1000, _AGAIN_S)

    def __exit__(self, _kind: object, error: BaseException | None, _where: TracebackType | None) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
        if not isinstance(error, _Overdue):
            return
        if isinstance(error.__context__, KafkaError):  # it was on its way when the interrupt came
            raise error.__context__ from error.__context__.__cause__
        self._timer.update()
        raise ApiTimeout(self._doing, timeout_ms=self._timeout_ms, elapsed_ms=self._timer.elapsed_ms) from None


_OWN_CODE = (interrupted_after.__enter__.__code__, interrupted_after.__exit__.__code__)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise `_Overdue`, unless one is on its way already or the block has not begun or is over."""
    raised = sys.exc_info()[1]
    while raised is not None:
        if isinstance(raised, _Overdue):
            return
        raised = raised.__context__
    while frame is not None:
        if frame.f_code in _OWN_CODE:
            return
        frame = frame.f_back
    raise _Overdue
