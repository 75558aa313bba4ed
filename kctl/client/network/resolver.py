"""ThreadResolver: resolves names in helper threads, so that a slow resolver blocks no caller.

getaddrinfo has no timeout and cannot be stopped, so late results are dropped. At most `max_threads` threads run; each
ends when the queue is empty. Numeric addresses need no thread. If no thread can be started, the caller does the work.
"""

import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence

from kctl.client.runtime import Address, Lookup

logger = logging.getLogger("kctl.client.network")

GetAddrInfo = Callable[[str, int], Sequence[Address]]
"""Function that resolves a name, or raises OSError or UnicodeError; it may block for any time."""


class ThreadLookup:
    """One lookup. A helper thread writes it; its owner reads it after `done` is set."""

    __slots__ = ("addresses", "done", "error")

    def __init__(self) -> None:
        self.done = False
        self.addresses: list[Address] = []
        self.error: str | None = None


class ThreadResolver:
    """`Resolver` with the system's getaddrinfo."""

    def __init__(self, get_addr_info: GetAddrInfo | None = None, *, max_threads: int = 16) -> None:
        self._get_addr_info = get_addr_info or system_addresses
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self._queue: deque[tuple[Callable[[], None], ThreadLookup, Callable[[], None]]] = deque()
        self._thread_count = 0

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> Lookup:
        lookup = ThreadLookup()
        numeric = numeric_address(host, port)
        if numeric is not None:
            lookup.addresses = [numeric]
            lookup.done = True
            on_done()
            return lookup

        def look_up() -> None:
            lookup.addresses = list(self._get_addr_info(host, port))
            if not lookup.addresses:
                lookup.error = "the host name has no address"

        return self._start(look_up, lookup, on_done)

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> Lookup:
        return self._start(work, ThreadLookup(), on_done)

    def _start(self, work: Callable[[], None], lookup: ThreadLookup, on_done: Callable[[], None]) -> ThreadLookup:
        with self._lock:
            self._queue.append((work, lookup, on_done))
            start = self._thread_count < self._max_threads
            self._thread_count += start
        if start:
            try:
                threading.Thread(target=self._run, name="kctl-resolver", daemon=True).start()
            except RuntimeError:  # no more threads, or Python is shutting down
                self._run()
        return lookup

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._thread_count -= 1
                    return
                work, lookup, on_done = self._queue.popleft()
            try:
                work()
            except (OSError, ValueError, OverflowError) as error:
                lookup.error = _reason(error)
            except Exception as error:  # a bug: the thread continues with other work
                logger.exception("a task in a helper thread failed")
                lookup.error = repr(error)
            finally:
                lookup.done = True
                on_done()


def numeric_address(host: str, port: int) -> Address | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
        return Address(host, port, family == socket.AF_INET6)
    return None


def system_addresses(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [
        Address(str(sockaddr[0]), port, family == socket.AF_INET6)
        for family, _, _, _, sockaddr in found
        if family in (socket.AF_INET, socket.AF_INET6)
    ]


def _reason(error: OSError | ValueError | OverflowError) -> str:
    if not isinstance(error, OSError):
        return "invalid port" if isinstance(error, OverflowError) else "invalid host name"
    names = {
        socket.EAI_NONAME: "NXDOMAIN (the name does not exist)",
        socket.EAI_AGAIN: "the resolver did not respond (temporary failure)",
        socket.EAI_FAIL: "the resolver failed",
    }
    if hasattr(socket, "EAI_NODATA"):
        names[socket.EAI_NODATA] = "NODATA (the name has no address)"
    return names.get(error.errno or 0, error.strerror or str(error))
