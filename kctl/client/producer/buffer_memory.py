"""BufferMemory: buffer.memory, acquired by senders in the order of their calls and released by the network thread.

The only state that several application threads change: `_acquired` grows under a lock that only they use, `_released`
belongs to the network thread, and the difference is in use. The network thread never waits for the lock, and no thread
waits while it holds the lock. No function is called under the lock: CPython runs signal handlers after calls, and a
handler that sends would wait for the lock of the call that it interrupts. Each record knows whether it holds memory, so
that a call that Ctrl-C interrupts at any point can undo what it did: no signal is handled between two assignments.

Source: Java's BufferPool, which has the same order.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, Protocol

from kctl.client.runtime import Driver, Waiter


class Holder(Protocol):
    """A record, or a run of records, that needs memory."""

    size_bytes: int
    holds_memory: bool
    """Whether the sender has to release the memory: until the record is posted to the loop."""


class _Waiting(NamedTuple):
    """A record in the queue, how to wake its sender, and the thread of the sender."""

    holder: Holder
    waiter: Waiter
    caller: object


class BufferMemory:
    """`total_bytes` of memory for records."""

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
        """Whether a sender waits for memory: batches are then sent without linger."""
        return bool(self._queue)

    @property
    def waiting(self) -> int:
        """Number of senders that wait."""
        return len(self._queue)

    def try_acquire(self, holder: Holder) -> bool:
        """Acquire memory if there is enough and no sender waits for it; any thread."""
        with self._lock:
            if self._queue or self._acquired - self._released + holder.size_bytes > self.total_bytes:
                return False
            self._acquired += holder.size_bytes
            holder.holds_memory = True
            return True

    def acquire(self, holder: Holder, deadline_at_ms: int, nudge: Callable[[], bool]) -> bool:
        """Acquire memory, waiting until the deadline; return whether there was enough. Not on the loop.

        If not, or if this raises, the caller calls `withdraw`. A signal handler that sends has the place in the queue
        of the call that it interrupts, which waits for the handler.

        Args: nudge: wakes the loop, so that it sees the waiting sender; returns False when the loop has ended.
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
        """Leave the queue and release the memory of a record that is not accepted; any thread."""
        self._leave_queue(holder)
        with self._lock:
            if holder.holds_memory:
                holder.holds_memory = False
                self._acquired -= holder.size_bytes
        self._wake_first()

    def release(self, size_bytes: int) -> None:
        """Release memory and wake the first sender in the queue; the loop only."""
        self._released += size_bytes
        assert self._released <= self._acquired
        self._wake_first()

    def _wake_first(self) -> None:
        with suppress(IndexError):  # no sender waits
            self._queue[0].waiter.notify()

    def wake_all(self) -> None:
        """Wake every waiting sender, so that it sees the end of the loop; the loop only."""
        for waiting in list(self._queue):
            waiting.waiter.notify()
