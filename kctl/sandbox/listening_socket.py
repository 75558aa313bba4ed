"""Listening socket of one node, with connection faults.

| outcome | implementation |
|---|---|
| accept, reset | listens; a reset closes with RST right after accept |
| refuse | bound but not listening, so that no other process gets the port |
| drop | `listen(0)` with a queue filled by one connection, so that the kernel drops every further SYN |
"""

import errno
import socket
from collections.abc import Callable
from selectors import EVENT_READ

from kctl.sandbox.faults import OnConnect
from kctl.sandbox.socket_loop import SocketLoop
from kctl.sandbox.socket_wire import reset_socket

_BACKLOG = 128
_RETRY_MS = 100
_LAST_PORT = 65535
_OUT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address.

    Raises: OSError: the text has the address.
    """
    if not 0 <= port <= _LAST_PORT:
        raise OSError(errno.EINVAL, f"cannot listen on {host}:{port}: use ports from 0 to {_LAST_PORT}")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from error
    sock.setblocking(False)
    return sock


class ListeningSocket:
    def __init__(self, loop: SocketLoop, sock: socket.socket, accepted: Callable[[socket.socket], None]) -> None:
        self._loop = loop
        self._sock = sock
        self._accepted = accepted
        self._plug: socket.socket | None = None
        self._outcome = OnConnect.REFUSE
        self.host, self.port = sock.getsockname()[:2]

    def follow(self, outcome: OnConnect) -> None:
        if outcome is self._outcome:
            return
        before, self._outcome = self._outcome, outcome
        if before is OnConnect.DROP:
            self._unplug()
        if outcome is OnConnect.REFUSE:
            self._rebind()
        elif outcome is OnConnect.DROP:
            self._plug_up(before)
        else:
            self._sock.listen(_BACKLOG)
            self._loop.watch(self._sock, EVENT_READ, self._ready)

    def _rebind(self) -> None:
        self._loop.watch(self._sock, 0, self._ready)
        self._sock.close()
        self._sock = bound_socket(self.host, self.port)

    def _plug_up(self, before: OnConnect) -> None:
        self._loop.watch(self._sock, 0, self._ready)
        if before is not OnConnect.REFUSE:
            self._accept_all(self._accepted if before is OnConnect.ACCEPT else reset_socket)
        self._sock.listen(0)
        self._plug = socket.socket(self._sock.family, socket.SOCK_STREAM)
        self._plug.setblocking(False)
        self._plug.connect_ex((self.host, self.port))

    def _unplug(self) -> None:
        if self._plug is not None:
            reset_socket(self._plug)
            self._plug = None
            self._accept_all(reset_socket)

    def _ready(self, _: int) -> None:
        self._accept_all(reset_socket if self._outcome is OnConnect.RESET else self._accepted)

    def _accept_all(self, take: Callable[[socket.socket], None]) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in _OUT_OF:
                    raise
                self._rest()
                return
            take(sock)

    def _rest(self) -> None:
        """Pause accepting, because the process is out of resources and an immediate retry would spin."""
        self._loop.watch(self._sock, 0, self._ready)
        self._loop.call_later(_RETRY_MS, self._resume)

    def _resume(self) -> None:
        if self._outcome in (OnConnect.ACCEPT, OnConnect.RESET) and self._sock.fileno() >= 0:
            self._loop.watch(self._sock, EVENT_READ, self._ready)

    def close(self) -> None:
        self._unplug()
        if self._sock.fileno() >= 0:
            self._loop.watch(self._sock, 0, self._ready)
            self._sock.close()
