"""Interfaces of the broker core to its environment: time, output, and connections.

`server.py` implements them with sockets, `sim/` with virtual time.
"""

from collections.abc import Callable
from typing import Protocol

from kctl.sandbox.faults import OnConnect


class Handle(Protocol):
    def cancel(self) -> None:
        """Cancel the scheduled action, unless it was called already. Idempotent."""
        ...


class Scheduler(Protocol):
    """Clock and timers."""

    def now_ms(self) -> int:
        """Return the monotonic time in ms."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, for record timestamps."""
        ...

    def call_later(self, delay_ms: int, action: Callable[[], None]) -> Handle:
        """Call `action` once after `delay_ms`, never within this method."""
        ...


class Wire(Protocol):
    """Output of one accepted connection. A closed wire ignores all calls."""

    @property
    def is_full(self) -> bool:
        """True if the client must read before more is written. `Endpoint.writable` is called when it has read."""
        ...

    @property
    def is_gone(self) -> bool:
        """True if the client has disconnected, although `Endpoint.disconnected` was not called yet."""
        ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """Close after sending pending output."""
        ...

    def reset(self) -> None:
        """Reset the connection immediately. Pending output may be lost."""
        ...

    def pause_reading(self, is_paused: bool) -> None: ...


class Endpoint(Protocol):
    """Broker side of one connection, called by the owner of the socket."""

    def receive(self, data: bytes) -> None:
        """Process bytes from the client, in order."""
        ...

    def writable(self) -> None:
        """Continue output after the client has read."""
        ...

    def disconnected(self) -> None:
        """End the connection after the client disconnected. Idempotent."""
        ...


class Listener(Protocol):
    """Node that accepts connections."""

    def on_connect(self) -> OnConnect: ...

    def accept(self, wire: Wire) -> Endpoint:
        """Return the broker side of a new connection that writes to `wire`."""
        ...
