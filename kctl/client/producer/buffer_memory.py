"""BufferMemory: buffer.memory, taken by senders first come, first served, and given back by the network loop.

The one piece of state that application threads change together: `_taken` grows under a lock that only they use;
`_given` is the loop's alone. Their difference is what is in use. The loop never waits for the lock, and no thread waits
while holding it. Nothing is called while it is held: CPython handles signals after calls, and a signal handler that
sends would wait for the lock of the call that it has interrupted. Each record knows whether it holds memory, so that a
call that is interrupted (Ctrl-C) at any point can undo what it did: no signal is handled between two assignments.
Shown by tests/unit/producer/test_buffer_memory.py and tests/sim/producer/test_interrupts.py.

Source: Java's BufferPool, which is as fair.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, Protocol

from kctl.client.runtime import Driver, Waiter


class Holder(Protocol):
    """What takes memory: a record, or a run of them."""

    size_bytes: int
    holds_memory: bool
    """Whether the memory was taken and is still the sender's to give back: until the record is posted to the loop."""


class _Waiting(NamedTuple):
    """A record in the line, how to wake its sender, and which thread that is."""

    holder: Holder
    waiter: Waiter
    caller: object


class BufferMemory:
    """A budget of `total_bytes`."""

    def __init__(self, total_bytes: int, driver: Driver) -> None:
        self.total_bytes = total_bytes
        self._driver = driver
        self._lock = Lock()
        self._taken = 0
        self._given = 0
        self._line: deque[_Waiting] = deque()

    @property
    def used_bytes(self) -> int:
        return self._taken - self._given

    @property
    def is_awaited(self) -> bool:
        """Whether some sender waits for memory: batches then go out without lingering."""
        return bool(self._line)

    @property
    def waiting(self) -> int:
        """How many senders wait."""
        return len(self._line)

    def try_take(self, holder: Holder) -> bool:
        """Take memory if there is enough and no sender waits for some; any thread."""
        with self._lock:
            if self._line or self._taken - self._given + holder.size_bytes > self.total_bytes:
                return False
            self._taken += holder.size_bytes
            holder.holds_memory = True
            return True

    def acquire(self, holder: Holder, deadline_at_ms: int, nudge: Callable[[], bool]) -> bool:
        """Take memory, in line until the deadline; return whether it was there. Any thread but the loop's.

        If it was not, or this raises, the caller calls `withdraw`. A signal handler that sends has the place in line of
        the call that it interrupts, which waits for the handler.

        Args: nudge: wakes the loop, which sees that a sender waits; returns False when there is no loop left.
        """
        caller = self._driver.caller()
        interrupted = [waiting for waiting in list(self._line) if waiting.caller == caller]
        waiter = interrupted[0].waiter if interrupted else self._driver.waiter()
        self._line.append(_Waiting(holder, waiter, caller))
        may_wait = True
        while not self._acquire_as_first(holder, caller):
            if not may_wait or not nudge():
                return False
            may_wait = self._driver.wait(waiter, deadline_at_ms)
        self._wake_first()
        return True

    def _acquire_as_first(self, holder: Holder, caller: object) -> bool:
        with self._lock:
            if self._line[0].caller != caller or self._taken - self._given + holder.size_bytes > self.total_bytes:
                return False
            self._taken += holder.size_bytes
            holder.holds_memory = True
        self._leave_line(holder)
        return True

    def _leave_line(self, holder: Holder) -> None:
        for waiting in list(self._line):
            if waiting.holder is holder:
                self._line.remove(waiting)

    def withdraw(self, holder: Holder) -> None:
        """Undo what was done for a record that is not accepted: leave the line, give back what it holds; any thread."""
        self._leave_line(holder)
        with self._lock:
            if holder.holds_memory:
                holder.holds_memory = False
                self._taken -= holder.size_bytes
        self._wake_first()

    def release(self, size_bytes: int) -> None:
        """Give memory back and wake the first in line; the loop only."""
        self._given += size_bytes
        assert self._given <= self._taken
        self._wake_first()

    def _wake_first(self) -> None:
        with suppress(IndexError):  # no sender waits
            self._line[0].waiter.notify()

    def wake_all(self) -> None:
        """Let every waiting sender look again; the loop only, at its end."""
        for waiting in list(self._line):
            waiting.waiter.notify()
