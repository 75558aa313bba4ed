"""Overtime: ends a command that is still decoding or formatting a response when its API timeout has passed.

The client's own deadlines end every wait. A response of a million topics is no wait but work, of this process, and a
decoder looks at no clock. An interval timer of the system interrupts it `GRACE_MS` after the deadline: a wait that ends
at the deadline has its own error by then, which says more. Without such timers (Windows) the work is done to its end.
Shown by tests/unit/cli/test_overtime.py and tests/cli/test_overtime.py.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kctl.client.clock import Clock, Timer
from kctl.client.errors import ApiTimeout, KafkaError

GRACE_MS = 200
_AGAIN_S = 0.1
"""When to interrupt again, if the first time was where exceptions are dropped (a finalizer)."""
_LONGEST_MS = 1000 * 86_400 * 365


class _Overdue(BaseException):
    """Raised in the main thread, wherever it is; not an Exception, so that nothing that handles errors takes it."""


@contextmanager
def interrupted_after(timeout_ms: int, clock: Clock, doing: str) -> Iterator[None]:
    """Interrupt the block when it takes longer than the timeout. Writing to stdout is not for it: a reader may be slow.

    Args: doing: completes "timed out after ... while" in the error.
    Raises: ApiTimeout.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    timer = Timer(clock, timeout_ms)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise _Overdue

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, (min(timeout_ms, _LONGEST_MS) + GRACE_MS) / 1000, _AGAIN_S)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    except _Overdue as overdue:
        if isinstance(overdue.__context__, KafkaError):  # it was on its way when the interrupt came
            raise overdue.__context__ from overdue.__context__.__cause__
        timer.update()
        raise ApiTimeout(doing, timeout_ms=timeout_ms, elapsed_ms=timer.elapsed_ms) from None
