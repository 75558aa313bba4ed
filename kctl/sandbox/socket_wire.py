"""One accepted socket: a `Wire` to the core, and what the loop calls when the socket is ready."""

import socket
import struct
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE

from kctl.sandbox.runtime import Endpoint
from kctl.sandbox.socket_loop import SocketLoop

_READ_BYTES = 65_536
_LINGER_MS = 1_000
"""How long a closed connection waits for the client to close its side."""
MOST_UNSENT_BYTES = 1 << 20
"""Answers that wait for a client to read them; further requests stay unanswered until it does."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def reset_socket(sock: socket.socket) -> None:
    """Close with RST instead of FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    sock.close()


class SocketWire:
    """One connection of one node."""

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
        """Feed `endpoint` from now on."""
        self._endpoint = endpoint
        self._watch()

    # --- for the core -----------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Whether the client leaves too much unread."""
        return len(self._unsent) > MOST_UNSENT_BYTES

    def write(self, data: bytes) -> None:
        """Queue bytes for the client."""
        if self._is_closed or self._is_closing:
            return
        self._unsent += data
        self._flush()

    def close(self) -> None:
        """Close after all that was written."""
        self._is_closing = True
        self._flush()

    def reset(self) -> None:
        """Cut the connection at once."""
        if not self._is_closed:
            self._forget()
            reset_socket(self._sock)

    def pause_reading(self, is_paused: bool) -> None:
        """Leave further bytes in the socket, or read on."""
        self._is_paused = is_paused
        self._watch()

    # --- for the loop -----------------------------------------------------------------------------------------------

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
            data = b""  # reset by the client: for a broker the same as its end
        if self._is_closing:
            # What the client still sends is read away: unread bytes would turn our FIN into an RST.
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
            pass  # the rest goes when the socket is writable
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

    # --- the end ----------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._is_closed = True
        self._loop.watch(self._sock, 0, self._ready)
        self._on_closed(self)

    def abandon(self) -> None:
        """The client is gone, or the sandbox stops: close and tell the core. Idempotent."""
        if self._is_closed:
            return
        self._forget()
        self._sock.close()
        if self._endpoint is not None:
            self._endpoint.disconnected()
