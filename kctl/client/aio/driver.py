"""AsyncDriver: `Driver` whose waits are awaits of the event loop. The driver beneath runs the threads.

Outside of a bridge (network threads, interpreter exit), waits block.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeGuard

from kctl.client.aio.bridge import is_bridged
from kctl.client.aio.waits import await_future, end_wait
from kctl.client.awaiting import wakes_of
from kctl.client.clock import Clock
from kctl.client.runtime import Driver, Task, Waiter

_LAST_STEPS_MS = 1000
"""Maximum time in ms to block for the end of a thread whose event loop has ended."""


def runs_here(user: object) -> TypeGuard[asyncio.Task[object]]:
    """Return whether an object is a task of the event loop in this thread."""
    try:
        return isinstance(user, asyncio.Task) and user.get_loop() is asyncio.get_running_loop()
    except RuntimeError:  # no event loop in this thread
        return False


class _Sleeper:
    __slots__ = ("_future", "_loop", "_wakes")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wakes = wakes_of(loop)
        self._future: asyncio.Future[bool] | None = None

    def notify(self) -> None:
        self._wakes.post(self._end)

    def sleep(self, most_ms: int) -> None:
        self._future = self._loop.create_future()
        await_future(self._future, self._loop.time() + most_ms / 1000)

    def _end(self) -> None:
        if self._future is not None:
            end_wait(self._future)


class AsyncWaiter:
    """A flag for coroutines and threads.

    Attributes:
        below: flag of the driver beneath.
    """

    __slots__ = ("below", "sleepers")

    def __init__(self, below: Waiter) -> None:
        self.below = below
        self.sleepers: deque[_Sleeper] = deque()

    def notify(self) -> None:
        self.below.notify()
        for sleeper in self.sleepers.copy():
            sleeper.notify()


class AsyncTask:
    __slots__ = ("below", "ended")

    def __init__(self, below: Task, ended: AsyncWaiter) -> None:
        self.below = below
        self.ended = ended

    @property
    def is_alive(self) -> bool:
        return self.below.is_alive


class AsyncDriver:
    """`Driver` for asyncio clients.

    Attributes:
        beneath: driver that runs the threads.
        acting_as: task that counts as the caller.
    """

    def __init__(self, beneath: Driver, clock: Clock) -> None:
        self.beneath = beneath
        self._clock = clock
        self.acting_as: asyncio.Task[object] | None = None

    def waiter(self) -> AsyncWaiter:
        return AsyncWaiter(self.beneath.waiter())

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        assert isinstance(waiter, AsyncWaiter)
        if not is_bridged():
            return self.beneath.wait(waiter.below, deadline_at_ms)
        sleeper = _Sleeper(asyncio.get_running_loop())
        waiter.sleepers.append(sleeper)  # before the flag is read: `notify` sets it before it reads the sleepers
        try:
            while not self.beneath.wait(waiter.below, 0):
                left_ms = deadline_at_ms - self._clock.now_ms()
                if left_ms <= 0:
                    return False
                sleeper.sleep(left_ms)
        finally:
            waiter.sleepers.remove(sleeper)
        return True

    def spawn(self, loop: Callable[[], None], name: str) -> AsyncTask:
        ended = self.waiter()

        def run() -> None:
            try:
                loop()
            finally:
                ended.notify()

        return AsyncTask(self.beneath.spawn(run, name), ended)

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        assert isinstance(task, AsyncTask)
        if not is_bridged():
            return self.beneath.join(task.below, deadline_at_ms)
        while task.is_alive:
            if not self.wait(task.ended, deadline_at_ms):
                return not task.is_alive
            task.ended.notify()  # other callers must see the end as well
            self.beneath.join(task.below, self._clock.now_ms() + _LAST_STEPS_MS)
        return True

    def is_current(self, task: Task) -> bool:
        assert isinstance(task, AsyncTask)
        return self.beneath.is_current(task.below)

    def caller(self) -> object:
        """Return the asyncio task of the caller, or the ID of the thread if there is no task."""
        acting_as = self.acting_as
        if runs_here(acting_as):  # calls of other threads in the meantime do not count
            return acting_as
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop in this thread
            task = None
        return threading.get_ident() if task is None else task
