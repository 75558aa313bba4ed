"""Named timers of one group, which pause while the coordinator is frozen."""

from collections.abc import Callable

from kctl.sandbox.groups.outbox import Outbox
from kctl.sandbox.runtime import Handle, Scheduler


class GroupTimers:
    def __init__(self, scheduler: Callable[[], Scheduler], is_frozen: Callable[[], bool], outbox: Outbox) -> None:
        self._scheduler = scheduler
        self._is_frozen = is_frozen
        self._outbox = outbox
        self._running: dict[str, tuple[Handle, Callable[[], None]]] = {}
        self._overdue: dict[str, Callable[[], None]] = {}

    def start(self, name: str, delay_ms: int, action: Callable[[], None]) -> None:
        """Call `action` once after `delay_ms`, or after a longer freeze. Replaces a timer with this name."""
        self.cancel(name)
        self._running[name] = self._scheduler().call_later(delay_ms, lambda: self._due(name, action)), action

    def run_now(self, name: str) -> None:
        handle, action = self._running[name]
        handle.cancel()
        self._due(name, action)

    def cancel(self, name: str) -> None:
        self._overdue.pop(name, None)
        running = self._running.pop(name, None)
        if running is not None:
            running[0].cancel()

    def cancel_all(self) -> None:
        for name in [*self._running, *self._overdue]:
            self.cancel(name)

    def thaw(self) -> None:
        """Trigger the timers that expired during a freeze, in order."""
        while self._overdue and not self._is_frozen():
            name = next(iter(self._overdue))
            action = self._overdue.pop(name)
            with self._outbox:
                action()

    def _due(self, name: str, action: Callable[[], None]) -> None:
        del self._running[name]
        if self._is_frozen():
            self._overdue[name] = action
            return
        with self._outbox:
            action()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._running, *self._overdue)
