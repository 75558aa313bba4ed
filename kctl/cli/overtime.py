"""Overtime: ends work of this process that is not done when the API timeout has passed.

The client's own deadlines end every wait. A response of a million topics is no wait but work, and a decoder looks at no
clock; a file may be a pipe without a writer. `interrupted_after` ends both.
"""

from types import FrameType, TracebackType

from kctl.cli.alarms import Insistence, RaisedByHandler
from kctl.client.clock import Clock, Timer, thread_cpu_ms
from kctl.client.errors import ApiTimeout, KafkaError

GRACE_MS = 200


class _Overdue(RaisedByHandler):
    """The time is over."""


class interrupted_after:
    """Interrupt the block when it takes longer than the timeout. Writing to stdout is not for it: a reader may be slow.

    Args:
        doing: completes "timed out after ... while" in the error.
        calls: the block calls the client, which ends its own waits and says more about them. It is interrupted when it
            has worked for `GRACE_MS` after the timeout, in CPU time of this thread: a process that was stopped at its
            deadline comes to the error of the client first.
    Raises: ApiTimeout.

    A class, not a generator under contextlib: an interrupt in contextlib's own code would leave the block untranslated.
    """

    def __init__(self, timeout_ms: int, clock: Clock, doing: str, *, calls: bool = False) -> None:
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._doing = doing
        self._calls = calls
        self._worked_ms: int | None = None
        """CPU time of this thread when the time was over."""
        self._insistence = Insistence(_Overdue, self._may_interrupt)

    def __enter__(self) -> None:
        self._timer = Timer(self._clock, self._timeout_ms)
        self._insistence.begin(self._timeout_ms)

    def __exit__(self, _kind: object, error: BaseException | None, _where: TracebackType | None) -> None:
        self._insistence.end()
        if not isinstance(error, _Overdue):
            return
        if isinstance(error.__context__, KafkaError):  # it was on its way when the interrupt came
            raise error.__context__ from error.__context__.__cause__
        self._timer.update()
        raise ApiTimeout(self._doing, timeout_ms=self._timeout_ms, elapsed_ms=self._timer.elapsed_ms) from None

    def _may_interrupt(self, frame: FrameType | None) -> bool:
        """Return whether the time is over, and the block has begun and has not ended."""
        if self._calls:
            worked_ms = thread_cpu_ms()
            if self._worked_ms is None:
                self._worked_ms = worked_ms
            if worked_ms - self._worked_ms < GRACE_MS:
                return False
        while frame is not None:
            if frame.f_code in _OWN_CODE:
                return False
            frame = frame.f_back
        return True


_OWN_CODE = (interrupted_after.__enter__.__code__, interrupted_after.__exit__.__code__)
