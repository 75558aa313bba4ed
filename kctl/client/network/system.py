"""Production environment of a client: OS threads, sockets, the system's resolver, clock, and randomness.

Its counterpart for tests is `tests.sim.virtual`.
"""

import os
import threading
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress
from random import Random

from kctl.client.clock import SystemClock
from kctl.client.network.resolver import ThreadResolver
from kctl.client.network.selector import Selector
from kctl.client.runtime import Driver, Runtime, Task, Waiter

_LONGEST_WAIT_S = 1.0
"""Maximum single wait. Python handles signals between waits.

A signal just before a lock wait, or in another thread, does not end the wait, so a longer wait could ignore Ctrl-C.
"""


class ThreadWaiter:
    """A flag between threads, which a signal handler may also set.

    It is a lock used as a binary semaphore; a free lock is a set flag. With a threading.Event, a handler that runs
    while its thread holds the inner lock would deadlock.
    """

    __slots__ = ("lowered",)

    def __init__(self) -> None:
        self.lowered = allocate_lock()
        self.lowered.acquire()

    def notify(self) -> None:
        with suppress(RuntimeError):  # already set
            self.lowered.release()


class ThreadTask:
    """A loop in its own daemon thread, so that a process can end without close()."""

    __slots__ = ("ended", "is_over", "thread")

    def __init__(self, loop: Callable[[], None], name: str) -> None:
        self.ended = ThreadWaiter()
        self.is_over = False
        self.thread = threading.Thread(target=self._run, args=(loop,), name=name, daemon=True)
        self.thread.start()

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        finally:
            self.is_over = True
            self.ended.notify()

    @property
    def is_alive(self) -> bool:
        return self.thread.is_alive()


class ThreadDriver:
    """`Driver` with OS threads; accepts only its own waiters and tasks."""

    caller = staticmethod(threading.get_ident)

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def waiter(self) -> ThreadWaiter:
        return ThreadWaiter()

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        assert isinstance(waiter, ThreadWaiter)
        lowered = waiter.lowered
        while not lowered.acquire(blocking=False):
            remaining_s = self._clock.seconds_until(deadline_at_ms)
            if remaining_s <= 0:
                return False
            if lowered.acquire(timeout=min(remaining_s, _LONGEST_WAIT_S)):
                break
        return True

    def spawn(self, loop: Callable[[], None], name: str) -> ThreadTask:
        return ThreadTask(loop, name)

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        assert isinstance(task, ThreadTask)
        while not task.is_over:  # an interrupted wait may have cleared the flag
            if not self.wait(task.ended, deadline_at_ms):
                return task.is_over
        task.ended.notify()  # for further callers
        task.thread.join()  # only its last instructions are left
        return True

    def is_current(self, task: Task) -> bool:
        assert isinstance(task, ThreadTask)
        return task.thread is threading.current_thread()


def has_threads(driver: Driver) -> bool:
    """Return whether loops are threads, which continue after a client is dropped."""
    return isinstance(getattr(driver, "beneath", driver), ThreadDriver)  # a driver of asyncio wraps one


class SystemEntropy:
    __slots__ = ()

    def token_bytes(self, count: int) -> bytes:
        return os.urandom(count)


def system_runtime() -> Runtime:
    clock = SystemClock()
    return Runtime(
        clock=clock,
        driver=ThreadDriver(clock),
        make_selector=Selector,
        resolver=ThreadResolver(),
        rng=Random(),
        entropy=SystemEntropy(),
    )
