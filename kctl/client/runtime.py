"""Runtime: the selector, resolver, driver and random source that a client gets injected.

In production they are sockets, a helper thread, OS threads and the system's randomness (`network/system.py`); in the
simulation they are the hub of `tests/sim/virtual`, which fits these protocols by shape alone. Nothing here does I/O.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol

from kctl.client.clock import Clock


class Address(NamedTuple):
    """One numeric address to dial."""

    ip: str
    port: int
    is_ipv6: bool = False

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if self.is_ipv6 else f"{self.ip}:{self.port}"


class Connected(NamedTuple):
    """The TCP connection of `channel` is made; `local` is our own end."""

    channel: int
    local: str


class Received(NamedTuple):
    """Bytes arrived on `channel`, in order; never empty. A memoryview is valid until the next poll."""

    channel: int
    data: bytes | memoryview


class Disconnected(NamedTuple):
    """`channel` is gone: the server closed (`error` None), or the system says why. Bytes before it were delivered."""

    channel: int
    error: OSError | None


IoEvent = Connected | Received | Disconnected


class SocketOptions(NamedTuple):
    """What a client wants of its sockets; -1 leaves a buffer size to the system."""

    user_timeout_ms: int
    """How long sent bytes may stay unacknowledged by the peer's kernel."""
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


class Selectable(Protocol):
    """Non-blocking byte channels and one wait over all of them. Only its owner thread may call it, except `wakeup`.

    Channels are numbers chosen by the caller and never used twice. Not in the contract: the sizes in which bytes
    arrive, and the order of events of different channels.

    Attributes: was_woken: whether a wake-up ended the last poll, alone or beside events.
    """

    was_woken: bool

    def connect(self, channel: int, address: Address) -> None:
        """Start to connect; the outcome is a `Connected` or `Disconnected` of a later poll."""
        ...

    def send(self, channel: int, *pieces: bytes) -> None:
        """Queue the pieces, one behind the other; they are written as the peer takes them.

        Ignored when the channel is gone.
        """
        ...

    def expect(self, channel: int, count: int, place: memoryview | None = None) -> None:
        """Read the next `count` bytes by themselves; 0: whatever comes.

        They belong together and are sure to come: a poll may wait for many of them instead of the first. None behind
        them is read with them, until the next `expect`.

        Args: place: they may be read to here, and the event then has a part of it.
        """
        ...

    def unsent_bytes(self, channel: int) -> int:
        """Return how much of what was queued the system has not taken; what a failed write lost stays counted."""
        ...

    def close(self, channel: int) -> None:
        """Forget the channel at once; no further event of it comes. Idempotent."""
        ...

    def poll(self, until_ms: int) -> list[IoEvent]:
        """Wait for I/O, a wake-up or the instant `until_ms` (past: no wait), and return the events."""
        ...

    def wakeup(self) -> None:
        """End the present or the next poll; may be called from any thread."""
        ...

    def shutdown(self) -> None:
        """Close every channel and the selector itself. Idempotent."""
        ...


class Lookup(Protocol):
    """One name look-up under way."""

    @property
    def done(self) -> bool: ...

    @property
    def addresses(self) -> list[Address]:
        """What the resolver answered, in its order; empty while under way and after an error."""
        ...

    @property
    def error(self) -> str | None:
        """Why there is no address, in words."""
        ...


class Resolver(Protocol):
    """Turns names into addresses without blocking its caller."""

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> Lookup:
        """Start a look-up; `on_done` is called once, from any thread, when it has ended."""
        ...

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> Lookup:
        """Run `work` (reading a file, say) where it may block; the result is `done` afterwards and has no addresses."""
        ...


class Waiter(Protocol):
    """A flag that one actor waits on and others raise."""

    def notify(self) -> None:
        """Raise the flag; any thread."""
        ...


class Task(Protocol):
    """A spawned loop."""

    @property
    def is_alive(self) -> bool: ...


class Driver(Protocol):
    """Runs network loops beside the application and lets it wait for them.

    All blocking of the client happens in `wait`, `join` and `Selectable.poll`. Waiting is always: clear, look, wait.
    """

    def waiter(self) -> Waiter:
        """Return a new flag, lowered."""
        ...

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        """Wait until the flag is up or the deadline; lower it and return whether it was up."""
        ...

    def spawn(self, loop: Callable[[], None], name: str) -> Task:
        """Run `loop` to its end beside the caller."""
        ...

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        """Wait until the task has ended or the deadline; return whether it has ended."""
        ...

    def is_current(self, task: Task) -> bool:
        """Return whether the caller is running inside that task."""
        ...

    def caller(self) -> object:
        """Return an identity of the caller: equal for two calls of the same thread."""
        ...


class Entropy(Protocol):
    """Unpredictable bytes: nonces and ids."""

    def token_bytes(self, count: int) -> bytes: ...


class Runtime(NamedTuple):
    """Clock, driver, sockets, resolver and randomness of a client."""

    clock: Clock
    driver: Driver
    make_selector: Callable[[SocketOptions], Selectable]
    resolver: Resolver
    rng: Random
    """Jitter and shuffles; never secrets."""
    entropy: Entropy
