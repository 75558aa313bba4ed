"""What the broker core asks of its surroundings: time, a way out for bytes, and somebody who accepts connections.

The core does no I/O. `server.py` fits these protocols with sockets, `sim/` with virtual time; neither is imported here.
"""

from collections.abc import Callable
from typing import Protocol

from kctl.sandbox.faults import OnConnect


class Handle(Protocol):
    """Something that will happen, and may be called off."""

    def cancel(self) -> None:
        """Call it off; no effect once it has happened. Idempotent."""
        ...


class Scheduler(Protocol):
    """Time for the core: it looks at it, and asks to be called later."""

    def now_ms(self) -> int:
        """Return the monotonic instant."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, for record timestamps."""
        ...

    def call_later(self, delay_ms: int, action: Callable[[], None]) -> Handle:
        """Call `action` once, `delay_ms` from now and never inside this call."""
        ...


class Wire(Protocol):
    """The way out of one accepted connection. Everything is ignored once it is closed."""

    @property
    def is_full(self) -> bool:
        """Whether the client has more unread than should be written before it reads; `Endpoint.writable` ends it."""
        ...

    def write(self, data: bytes) -> None:
        """Queue bytes for the client."""
        ...

    def close(self) -> None:
        """Close after all that was written."""
        ...

    def reset(self) -> None:
        """Cut the connection at once; what was written may be lost."""
        ...

    def pause_reading(self, is_paused: bool) -> None:
        """Leave further bytes of the client in the socket, or read on."""
        ...


class Endpoint(Protocol):
    """The broker's end of one connection, fed by the owner of the socket."""

    def receive(self, data: bytes) -> None:
        """Take bytes from the client, in order."""
        ...

    def writable(self) -> None:
        """Continue to answer: the client has read what made the wire full."""
        ...

    def disconnected(self) -> None:
        """Take note that the client is gone. Idempotent."""
        ...


class Listener(Protocol):
    """A node, as those see it who accept connections for it."""

    def on_connect(self) -> OnConnect:
        """Return what happens to a connection attempt made now."""
        ...

    def accept(self, wire: Wire) -> Endpoint:
        """Return the broker's end of a new connection that writes to `wire`."""
        ...
