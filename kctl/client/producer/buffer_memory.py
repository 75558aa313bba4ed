"""BufferMemory: buffer.memory, which senders acquire in the order of their calls and the network thread releases.

`_acquired` changes under a lock; `_released` belongs to the network thread. No function is called under the lock,
because CPython runs signal handlers after calls, and a handler that sends would deadlock. CPython runs no handler
between two assignments, so `holds_memory` is always correct and an interrupted call can be undone.

Source: Java's BufferPool, which has the same order.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, Protocol

from kctl.client.runtime import Driver, Waiter


class Holder(Protocol):
    size_bytes: int
    holds_memory: bool
    """Whether the sender must release the memory; false after the record is posted to the loop."""


class _Waiting(NamedTuple):
    holder: Holder
    waiter: Waiter
    caller: object


class BufferMemory:
    def __init__(self, total_bytes: int, driver: Driver) -> None:
        self.total_bytes = total_bytes
        self._driver = driver
        self._lock = Lock()
        self._acquired = 0
        self._released = 0
        self._queue: deque[_Waiting] = deque()

    @property
    def used_bytes(self) -> int:
        return self._acquired - self._released

    @property
    def is_awaited(self) -> bool:
        """Whether a sender waits for memory; batches are then sent without linger."""
        return bool(self._queue)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def try_acquire(self, holder: Holder) -> bool:
        """Acquire memory if enough is free and no sender waits; any thread."""
        with self._lock:
            if self._queue or self._acquired - self._released + holder.size_bytes > self.total_bytes:
                return False
            self._acquired += holder.size_bytes
            holder.holds_memory = True
            return True

    def acquire(self, holder: Holder, deadline_at_ms: int, nudge: Callable[[], bool]) -> bool:
        """Wait for memory until the deadline; return whether it was acquired. Not for the network loop.

        If not, the caller calls `withdraw`. A signal handler that sends gets the queue position of the interrupted
        call.

        Args: nudge: wakes the loop; returns False if the loop has ended.
        """
        caller = self._driver.caller()
        interrupted = [waiting for waiting in list(self._queue) if waiting.caller == caller]
        waiter = interrupted[0].waiter if interrupted else self._driver.waiter()
        self._queue.append(_Waiting(holder, waiter, caller))
        may_wait = True
        while not self._acquire_as_first(holder, caller):
            if not may_wait or not nudge():
                return False
            may_wait = self._driver.wait(waiter, deadline_at_ms)
        self._wake_first()
        return True

    def _acquire_as_first(self, holder: Holder, caller: object) -> bool:
        with self._lock:
            if (
                self._queue[0].caller != caller
                or self._acquired - self._released + holder.size_bytes > self.total_bytes
            ):
                return False
            self._acquired += holder.size_bytes
            holder.holds_memory = True
        self._leave_queue(holder)
        return True

    def _leave_queue(self, holder: Holder) -> None:
        for waiting in list(self._queue):
            if waiting.holder is holder:
                self._queue.remove(waiting)

    def withdraw(self, holder: Holder) -> None:
        """Leave the queue and release the memory of a record; any thread."""
        self._leave_queue(holder)
        with self._lock:
            if holder.holds_memory:
                holder.holds_memory = False
                self._acquired -= holder.size_bytes
        self._wake_first()

    def release(self, size_bytes: int) -> None:
        """Release memory and wake the first waiting sender; the loop only."""
        self._released += size_bytes
        assert self._released <= self._acquired
        self._wake_first()

    def _wake_first(self) -> None:
        if self._queue:
            with suppress(IndexError):  # the first sender has left in the meantime
                self._queue[0].waiter.notify()

    def wake_all(self) -> None:
        for waiting in list(self._queue):
            waiting.waiter.notify()
