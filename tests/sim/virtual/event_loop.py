"""HubEventLoop: an event loop of asyncio in virtual time. It runs in one actor and waits in the hub."""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, TypeVar

from kctl.client.clock import FOREVER_MS
from kctl.client.runtime import Runtime

T = TypeVar("T")
_RESOLUTION_S = 1e-6


class HubEventLoop(asyncio.BaseEventLoop):
    """An event loop without descriptors; one at a time, since all actors share a thread."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._clock = runtime.clock
        self._driver = runtime.driver
        self._waiter = runtime.driver.waiter()
        self._selector = self
        self._clock_resolution = _RESOLUTION_S

    def time(self) -> float:
        return self._clock.now_ms() / 1000

    @property
    def timers(self) -> list[asyncio.TimerHandle]:
        """The timers that were not cancelled."""
        return [timer for timer in self._scheduled if not timer.cancelled()]

    def select(self, timeout: float | None) -> list[object]:
        """Wait for the next timer or for another actor."""
        deadline_at_ms = FOREVER_MS
        if timeout is not None:
            deadline_at_ms = self._clock.now_ms() + math.ceil((timeout - _RESOLUTION_S) * 1000)
        self._driver.wait(self._waiter, deadline_at_ms)
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        self._waiter.notify()


def run_on_hub(runtime: Runtime, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in an actor."""
    loop = HubEventLoop(runtime)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
