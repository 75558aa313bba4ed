"""Accepted socket: a `Wire` for the broker core, served by the loop."""

import socket
import struct
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE

from kctl.sandbox.runtime import Endpoint
from kctl.sandbox.socket_loop import SocketLoop

_READ_BYTES = 65_536
_LINGER_MS = 1_000
"""Time in ms for the client to close its side."""
MOST_UNSENT_BYTES = 1 << 20
"""Maximum size of unsent output, above which no further requests are handled."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def reset_socket(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    sock.close()


class SocketWire:
    def __init__(self, loop: SocketLoop, sock: socket.socket, on_closed: Callable[["SocketWire"], None]) -> None:
        self._loop = loop
        self._sock = sock
        self._on_closed = on_closed
        self._endpoint: Endpoint | None = None
        self._unsent = bytearray()
        self._is_paused = False
        self._is_closing = False
        self._is_closed = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._watch()

    # --- for the broker core ------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return len(self._unsent) > MOST_UNSENT_BYTES

    @property
    def is_gone(self) -> bool:
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:  # reset by the client, or closed
            return True

    def write(self, data: bytes) -> None:
        if self._is_closed or self._is_closing:
            return
        self._unsent += data
        self._flush()

    def close(self) -> None:
        self._is_closing = True
        self._flush()

    def reset(self) -> None:
        if not self._is_closed:
            self._forget()
            reset_socket(self._sock)

    def pause_reading(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        self._watch()

    # --- for the loop -------------------------------------------------------------------------------------------------

    def _ready(self, events: int) -> None:
        if not self._loop.guard(lambda: self._serve(events)):
            self.reset()

    def _serve(self, events: int) -> None:
        if events & EVENT_WRITE:
            self._flush()
        if events & EVENT_READ and not self._is_closed:
            self._read()

    def _read(self) -> None:
        try:
            data = self._sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # reset by the client: same effect as FIN
        if self._is_closing:
            # discard input: unread bytes would turn the FIN into an RST
            if not data:
                self.abandon()
        elif data and self._endpoint is not None:
            self._endpoint.receive(data)
        else:
            self.abandon()

    def _flush(self) -> None:
        if self._is_closed:
            return
        was_full = self.is_full
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            pass  # the rest is sent when the socket is writable
        except OSError:
            self.abandon()
            return
        if self._is_closing and not self._unsent:
            self._half_close()
        self._watch()
        if was_full and not self.is_full and self._endpoint is not None:
            self._endpoint.writable()

    def _half_close(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.abandon()
            return
        self._loop.call_later(_LINGER_MS, self.abandon)

    def _watch(self) -> None:
        if self._is_closed:
            return
        events = 0 if self._is_paused and not self._is_closing else EVENT_READ
        if self._unsent:
            events |= EVENT_WRITE
        self._loop.watch(self._sock, events, self._ready)

    # --- end ----------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._is_closed = True
        self._loop.watch(self._sock, 0, self._ready)
        self._on_closed(self)

    def abandon(self) -> None:
        """Close the socket and notify the broker core. Idempotent."""
        if self._is_closed:
            return
        self._forget()
        self._sock.close()
        if self._endpoint is not None:
            self._endpoint.disconnected()
