"""Protocols for a client's selector, resolver, driver, and random source, which are real (`network/system.py`) or
simulated.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol

from kctl.client.clock import Clock


class Address(NamedTuple):
    """A numeric address to connect to."""

    ip: str
    port: int
    is_ipv6: bool = False

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if self.is_ipv6 else f"{self.ip}:{self.port}"


class Connected(NamedTuple):
    """The TCP connection of `channel` is open. Attributes: local: local address."""

    channel: int
    local: str


class Received(NamedTuple):
    """Bytes arrived on `channel`, in order and never empty. A memoryview is valid until the next poll."""

    channel: int
    data: bytes | memoryview


class Disconnected(NamedTuple):
    """`channel` is closed: by the server if `error` is None, otherwise with an error. Earlier bytes were delivered."""

    channel: int
    error: OSError | None


IoEvent = Connected | Received | Disconnected


class SocketOptions(NamedTuple):
    """Socket options of a client; -1 leaves a buffer size to the system."""

    user_timeout_ms: int
    """Maximum time for which sent bytes may be unacknowledged."""
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


class Selectable(Protocol):
    """Non-blocking byte channels and one wait for all of them. Only the owner thread may call it, except `wakeup`.

    The caller gives each channel a number, which is used once. Chunk sizes, and the order of events of different
    channels, are undefined.

    Attributes: was_woken: whether a wake-up ended the last poll.
    """

    was_woken: bool

    def connect(self, channel: int, address: Address) -> None:
        """Start to connect; a later poll returns `Connected` or `Disconnected`."""
        ...

    def send(self, channel: int, *pieces: bytes) -> None:
        """Queue the pieces, which are written in order as the server accepts them; ignored if the channel is closed."""
        ...

    def expect(self, channel: int, count: int, place: memoryview | None = None) -> None:
        """Read the next `count` bytes separately from others; 0 for no limit.

        The bytes belong together and will arrive, so a poll may wait for many of them.

        Args: place: memory to read into; the event then has a part of this memory.
        """
        ...

    def unsent_bytes(self, channel: int) -> int:
        """Return the number of queued bytes that the system has not accepted."""
        ...

    def close(self, channel: int) -> None:
        """Close the channel; no events follow. Idempotent."""
        ...

    def poll(self, until_ms: int) -> list[IoEvent]:
        """Wait for I/O, a wake-up, or `until_ms` (if past, do not wait); return the events."""
        ...

    def wakeup(self) -> None: ...

    def shutdown(self) -> None:
        """Close everything. Idempotent."""
        ...


class Lookup(Protocol):
    @property
    def done(self) -> bool: ...

    @property
    def addresses(self) -> list[Address]:
        """Addresses in the resolver's order; empty in progress and after an error."""
        ...

    @property
    def error(self) -> str | None: ...


class Resolver(Protocol):
    """Non-blocking name resolution."""

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> Lookup:
        """Start a DNS query; any thread calls `on_done` once at its end."""
        ...

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> Lookup:
        """Run `work`, which may block, in a thread; the result is `done` at its end, and has no addresses."""
        ...


class Waiter(Protocol):
    """A flag that one thread waits for, and that any thread sets."""

    def notify(self) -> None: ...


class Task(Protocol):
    @property
    def is_alive(self) -> bool: ...


class Driver(Protocol):
    """Starts network loops, and lets the application wait for them.

    All blocking of the client is in `wait`, `join`, and `Selectable.poll`. A caller clears the flag, checks, then
    waits.
    """

    def waiter(self) -> Waiter: ...

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        """Wait for the flag or the deadline; clear it and return whether it was set."""
        ...

    def spawn(self, loop: Callable[[], None], name: str) -> Task:
        """Run `loop` to its end, in parallel to the caller."""
        ...

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        """Wait for the task's end or the deadline; return whether it has ended."""
        ...

    def is_current(self, task: Task) -> bool: ...

    def caller(self) -> object:
        """Return the identity of the caller, which is equal for calls on one thread."""
        ...


class Entropy(Protocol):
    def token_bytes(self, count: int) -> bytes: ...


class Runtime(NamedTuple):
    clock: Clock
    driver: Driver
    make_selector: Callable[[SocketOptions], Selectable]
    resolver: Resolver
    rng: Random
    """Source of jitter and shuffles; not for secrets."""
    entropy: Entropy
