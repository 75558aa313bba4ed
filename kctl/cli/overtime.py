"""Interruption of work that exceeds the API timeout.

Deadlines of the client limit waits, but not CPU work such as decoding a million topics, nor reads from a pipe without a
writer. `interrupted_after` limits both.
"""

from types import FrameType, TracebackType

from kctl.cli.alarms import Insistence, RaisedByHandler
from kctl.client.clock import Clock, Timer, thread_cpu_ms
from kctl.client.errors import ApiTimeout, KafkaError

GRACE_MS = 200


class _Overdue(RaisedByHandler):
    """The time is over."""


class interrupted_after:
    """Context manager that interrupts its block after the timeout. Do not write to stdout, which may be slow, inside
    it.

    Args:
        doing: completes "timed out after ... while" in the error.
        calls: whether the block calls the client, whose own timeout errors say more. Then the interrupt waits for
            another
            `GRACE_MS` of CPU time of this thread, in case the process was stopped at its deadline.
    Raises: ApiTimeout.

    A class, because an interrupt inside contextlib would not become an ApiTimeout.
    """

    def __init__(self, timeout_ms: int, clock: Clock, doing: str, *, calls: bool = False) -> None:
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._doing = doing
        self._calls = calls
        self._worked_ms: int | None = None
        """CPU time of this thread at the timeout."""
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
        """Return whether `frame` is inside the block, and the grace time has passed."""
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
