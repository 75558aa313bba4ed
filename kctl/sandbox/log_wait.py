"""LogWait: a request that waits for changes of logs."""

from collections.abc import Callable, Iterable

from kctl.client.protocol.schema import Response
from kctl.sandbox.call import Call
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.runtime import Handle


class LogWait:
    """Wait of one call.

    Args:
        answer: returns the response; before the end of the wait, None if there is not enough.
    """

    def __init__(self, call: Call, answer: Callable[[bool], Response | None]) -> None:
        self._call = call
        self._answer = answer
        self._stops: list[Callable[[], None]] = []
        self._timer: Handle | None = None

    def start(self, logs: Iterable[PartitionLog], max_wait_ms: int) -> None:
        call = self._call
        call.on_abandoned = self._stop
        self._timer = call.cluster.scheduler.call_later(max_wait_ms, lambda: self._look(is_last=True))
        self._stops = [log.watch(self._look) for log in logs]

    def _look(self, *, is_last: bool = False) -> None:
        response = self._answer(is_last)
        if response is not None:
            self._stop()
            self._call.answer(response)

    def _stop(self) -> None:
        for stop in self._stops:
            stop()
        self._stops.clear()
        if self._timer is not None:
            self._timer.cancel()
