"""Event loop in one thread for sockets, timers, and functions from other threads. Independent of Kafka.

Separate from the client's selector, to detect mistakes in either.
"""

import heapq
import selectors
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from threading import Thread, current_thread

from kctl.client.clock import Clock, SystemClock
from kctl.client.lifetime import follow_forks

LONGEST_WAIT_MS = 86_400_000
"""Maximum duration of one wait in ms. epoll supports 24 days."""


class SocketLoopError(Exception):
    """The loop has stopped."""


class LoopTimer:
    __slots__ = ("action", "is_cancelled")

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class SocketLoop:
    """Event loop, and the `Scheduler` of the broker core."""

    def __init__(self, name: str, clock: Clock | None = None) -> None:
        self.failures: list[BaseException] = []
        """Errors in handlers and timers, which are bugs of the sandbox."""
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[int, int, LoopTimer]] = []
        self._numbers = count()
        self._posted: deque[tuple[Callable[[], None], Future[None]]] = deque()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._selector.register(self._reader, selectors.EVENT_READ, self._drain)
        self._is_stopping = False
        self._is_over = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self.is_forked = False
        """True in a forked child, which does not have the thread."""
        follow_forks(self)

    # --- for any thread -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def carry_out(self, action: Callable[[], None]) -> None:
        """Call `action` in the loop, wait for its return, and raise its exceptions."""
        if current_thread() is self._thread:
            action()
            return
        if self.is_forked:
            raise SocketLoopError("the sandbox was started before fork() and belongs to the parent process")
        future: Future[None] = Future()
        self._posted.append((action, future))
        self._wake()
        if self._is_over:
            self._refuse_posted()
        future.result()

    def stop(self) -> None:
        """Stop the loop and its thread, but leave sockets open. Idempotent."""
        self._is_stopping = True
        self._wake()
        if self._thread.ident is None:
            self._close()
        elif self._thread.is_alive() and current_thread() is not self._thread:
            self._thread.join()

    def _after_fork(self) -> None:
        """Close the child's copies of descriptors, which would keep connections and ports of the parent open."""
        self.is_forked = self._is_over = True
        for key in list((self._selector.get_map() or {}).values()):
            key.fileobj.close()  # type: ignore[union-attr]  # only sockets are registered here
        self._selector.close()
        self._reader.close()
        self._writer.close()

    def _wake(self) -> None:
        try:
            self._writer.send(b"\0")
        except (BlockingIOError, OSError):
            return  # full: already awake; closed: stopped

    # --- for the thread of the loop -----------------------------------------------------------------------------------

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    def call_later(self, delay_ms: int, action: Callable[[], None]) -> LoopTimer:
        timer = LoopTimer(action)
        heapq.heappush(self._timers, (self._clock.start_ms() + delay_ms, next(self._numbers), timer))
        return timer

    def watch(self, sock: socket.socket, events: int, on_ready: Callable[[int], None]) -> None:
        """Call `on_ready` with the ready events. `events` 0 stops watching."""
        is_known = sock.fileno() in self._selector.get_map()
        if events == 0:
            if is_known:
                self._selector.unregister(sock)
        elif is_known:
            self._selector.modify(sock, events, on_ready)
        else:
            self._selector.register(sock, events, on_ready)

    def guard(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:  # noqa: BLE001  # kept, and raised again when the sandbox is stopped
            self.failures.append(error)
            return False
        return True

    def _drain(self, _: int) -> None:
        while self._reader.recv(4096) == b"\0" * 4096:
            pass

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                for key, events in self._selector.select(self._patience_s()):
                    self._run_due()  # timeouts that have passed take effect before a request
                    if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]  # only sockets are registered here
                        self.guard(lambda key=key, events=events: key.data(events))  # type: ignore[misc]  # bound defaults
                self._run_due()
                self._run_posted()
        finally:
            self._close()

    def _close(self) -> None:
        self._is_over = True
        self._refuse_posted()
        self._selector.close()
        self._reader.close()
        self._writer.close()

    def _patience_s(self) -> float | None:
        while self._timers and self._timers[0][2].is_cancelled:
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        return min(max(0, self._timers[0][0] - self._clock.now_ms()), LONGEST_WAIT_MS) / 1000

    def _run_due(self) -> None:
        now_ms = self._clock.now_ms()
        while self._timers and self._timers[0][0] <= now_ms:
            timer = heapq.heappop(self._timers)[2]
            if not timer.is_cancelled:
                self.guard(timer.action)

    def _run_posted(self) -> None:
        while self._posted:
            action, future = self._posted.popleft()
            try:
                action()
            except BaseException as error:  # noqa: BLE001  # it belongs to the thread that asked
                future.set_exception(error)
            else:
                future.set_result(None)

    def _refuse_posted(self) -> None:
        while self._posted:
            self._posted.popleft()[1].set_exception(SocketLoopError("the sandbox has been stopped"))
