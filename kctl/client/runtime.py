"""Selector, resolver, driver, and random source of a client, real (`network/system.py`) or simulated."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol

from kctl.client.clock import Clock


class Address(NamedTuple):
    """A numeric address to dial."""

    ip: str
    port: int
    is_ipv6: bool = False

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if self.is_ipv6 else f"{self.ip}:{self.port}"


class Connected(NamedTuple):
    """The TCP connection of `channel` is open; `local` is the local address."""

    channel: int
    local: str


class Received(NamedTuple):
    """Bytes arrived on `channel`, in order; never empty. A memoryview is valid until the next poll."""

    channel: int
    data: bytes | memoryview


class Disconnected(NamedTuple):
    """`channel` is closed, by the server (`error` None) or with an error. Earlier bytes were delivered."""

    channel: int
    error: OSError | None


IoEvent = Connected | Received | Disconnected


class SocketOptions(NamedTuple):
    """Socket options of a client; -1 leaves a buffer size to the system."""

    user_timeout_ms: int
    """Maximum time of unacknowledged sent bytes."""
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


class Selectable(Protocol):
    """Non-blocking byte channels and one wait for all of them. Only the owner thread may call it, except `wakeup`.

    The caller numbers channels, once each. Chunk sizes and the order of events of different channels are undefined.
    `was_woken`: a wake-up ended the last poll.
    """

    was_woken: bool

    def connect(self, channel: int, address: Address) -> None:
        """Start to connect; a later poll returns `Connected` or `Disconnected`."""
        ...

    def send(self, channel: int, *pieces: bytes) -> None:
        """Queue the pieces, written in order as the server accepts them; ignored if the channel is closed."""
        ...

    def expect(self, channel: int, count: int, place: memoryview | None = None) -> None:
        """Read the next `count` bytes separately; 0: no limit.

        They belong together and will arrive, so a poll may wait for many.

        Args: place: memory for the bytes; the event then has a part of it.
        """
        ...

    def unsent_bytes(self, channel: int) -> int:
        """Return the number of queued bytes that the system has not accepted."""
        ...

    def close(self, channel: int) -> None:
        """Close the channel, without further events. Idempotent."""
        ...

    def poll(self, until_ms: int) -> list[IoEvent]:
        """Wait for I/O, a wake-up, or `until_ms` (past: no wait); return the events."""
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
        """Addresses in the resolver's order; empty in progress and after errors."""
        ...

    @property
    def error(self) -> str | None: ...


class Resolver(Protocol):
    """Non-blocking resolution of names."""

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> Lookup:
        """Start a DNS query; `on_done` is called once at its end, from any thread."""
        ...

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> Lookup:
        """Run `work`, which may block, in a thread; the result is `done` at its end, without addresses."""
        ...


class Waiter(Protocol):
    """A flag that one thread waits for and any sets."""

    def notify(self) -> None: ...


class Task(Protocol):
    @property
    def is_alive(self) -> bool: ...


class Driver(Protocol):
    """Network loops, and waits of the application for them.

    All blocking of the client is in `wait`, `join`, and `Selectable.poll`. Waiting is always: clear, check, wait.
    """

    def waiter(self) -> Waiter: ...

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        """Wait for the flag or the deadline; clear it and return whether it was set."""
        ...

    def spawn(self, loop: Callable[[], None], name: str) -> Task:
        """Run `loop` to its end, parallel to the caller."""
        ...

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        """Wait for the task's end or the deadline; return whether it has ended."""
        ...

    def is_current(self, task: Task) -> bool: ...

    def caller(self) -> object:
        """Return an identity of the caller: equal for one thread."""
        ...


class Entropy(Protocol):
    def token_bytes(self, count: int) -> bytes: ...


class Runtime(NamedTuple):
    clock: Clock
    driver: Driver
    make_selector: Callable[[SocketOptions], Selectable]
    resolver: Resolver
    rng: Random
    """For jitter and shuffles; never for secrets."""
    entropy: Entropy
