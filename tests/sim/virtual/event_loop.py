"""HubEventLoop: an event loop of asyncio in virtual time. It runs in one actor and waits in the hub."""

import asyncio
import math
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from kctl.client.aio.bridge import await_in_bridge, is_bridged
from kctl.client.clock import FOREVER_MS
from kctl.client.runtime import Runtime
from tests.sim.virtual.hub import Hub
from tests.sim.virtual.schedule import SimulationStuck

T = TypeVar("T")
_RESOLUTION_S = 1e-6
_MOST_TURNS = 10_000
"""Maximum number of turns at one instant."""


class HubEventLoop(asyncio.BaseEventLoop):
    """An event loop without descriptors. Each of several actors may run one."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._clock = runtime.clock
        self._driver = runtime.driver
        self._waiter = runtime.driver.waiter()
        self._selector = self
        self._clock_resolution = _RESOLUTION_S
        self._turns = (0, 0)
        """Time and number of the turns at that time."""

    def time(self) -> float:
        return self._clock.now_ms() / 1000

    @property
    def timers(self) -> list[asyncio.TimerHandle]:
        """The timers that were not cancelled."""
        return [timer for timer in self._scheduled if not timer.cancelled()]

    def select(self, timeout: float | None) -> list[object]:
        """Wait for the next timer or for another actor.

        Raises: SimulationStuck: the tasks never wait.
        """
        now_ms = self._clock.now_ms()
        self._turns = now_ms, self._turns[1] + 1 if self._turns[0] == now_ms else 1
        if self._turns[1] > _MOST_TURNS:
            raise SimulationStuck(f"{_MOST_TURNS} turns of an event loop at {now_ms} ms")
        deadline_at_ms = FOREVER_MS
        if timeout is not None:
            deadline_at_ms = self._clock.now_ms() + math.ceil((timeout - _RESOLUTION_S) * 1000)
        hooks = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(None)  # other actors share this thread
        sys.set_asyncgen_hooks(None, None)
        try:
            self._driver.wait(self._waiter, deadline_at_ms)
        finally:
            asyncio._set_running_loop(self)
            sys.set_asyncgen_hooks(*hooks)
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        self._waiter.notify()


def run_on_hub(runtime: Runtime, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, and cancel the tasks that it leaves; in an actor."""
    loop = HubEventLoop(runtime)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(_end(loop))
        loop.close()


async def _end(loop: HubEventLoop) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()


def sleep_ms(hub: Hub, ms: int) -> None:
    """Let time pass for the caller: for its task in a bridge, otherwise for its actor."""
    if is_bridged():
        await_in_bridge(asyncio.sleep(ms / 1000))
    else:
        hub.sleep_ms(ms)
