"""BufferMemory: buffer.memory, taken by senders and given back by the network loop.

The one piece of state that application threads change together: `_taken` grows under a lock that only they use;
`_given` is the loop's alone. Their difference is what is in use. The loop never waits for the lock, and nobody waits
while holding it. Shown by tests/unit/producer/test_buffer_memory.py.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from kctl.client.seams import Driver, Waiter


class BufferMemory:
    """A budget of `total_bytes`."""

    def __init__(self, total_bytes: int, driver: Driver) -> None:
        self.total_bytes = total_bytes
        self._driver = driver
        self._lock = Lock()
        self._taken = 0
        self._given = 0
        self._waiters: deque[Waiter] = deque()

    @property
    def used_bytes(self) -> int:
        return self._taken - self._given

    @property
    def is_awaited(self) -> bool:
        """Whether some sender waits for memory: batches then go out without lingering."""
        return bool(self._waiters)

    def try_take(self, size_bytes: int) -> bool:
        """Take memory if there is enough; any thread."""
        with self._lock:
            if self._taken - self._given + size_bytes > self.total_bytes:
                return False
            self._taken += size_bytes
            return True

    def take(self, size_bytes: int, deadline_at_ms: int, nudge: Callable[[], bool]) -> bool:
        """Take memory, waiting for it until the deadline; return whether it was there. Any thread but the loop's.

        Args: nudge: tells the loop that someone waits; returns False when there is no loop left to give any.
        """
        waiter = self._driver.waiter()
        self._waiters.append(waiter)
        try:
            while not self.try_take(size_bytes):
                if not nudge() or not self._driver.wait(waiter, deadline_at_ms):
                    return self.try_take(size_bytes)
                self._waiters.append(waiter)
            return True
        finally:
            with suppress(ValueError):  # the loop has taken it out already
                self._waiters.remove(waiter)

    def take_back(self, size_bytes: int) -> None:
        """Undo `try_take`: there is no loop left to give the memory back; any thread."""
        with self._lock:
            self._taken -= size_bytes

    def give(self, size_bytes: int) -> None:
        """Give memory back and wake those who wait for some; the loop only."""
        self._given += size_bytes
        assert self._given <= self._taken
        self.wake_all()

    def wake_all(self) -> None:
        """Let every waiting sender look again; the loop only."""
        while self._waiters:
            self._waiters.popleft().notify()
