"""The simulated network: who listens where, and connections whose bytes take time but are never reordered or lost.

TCP is honest here: bytes of a live connection arrive late, cut into segments, or not at all after a reset. A heap entry
only means "deliver the head of this direction", so equal instants cannot reorder a connection. It knows listeners only
by `kctl.sandbox.runtime`.
"""

import errno
import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol
from zlib import crc32

from kctl.client.runtime import Address
from kctl.sandbox.faults import OnConnect
from kctl.sandbox.runtime import Endpoint, Listener
from tests.sim.virtual.hub import Hub
from tests.sim.virtual.link_faults import LinkFault, LinkFaults
from tests.sim.virtual.schedule import MS

FIRST_SYN_RETRY_MS = 1000
MOST_PIECES = 64
"""Limit for the pieces of one write, reached approximately: otherwise a large response takes minutes."""
NO_LIMIT = 1 << 62
"""Bytes per millisecond of an unlimited link."""


class LinkProfile(NamedTuple):
    """Profile of a connection.

    `latency_ms` is one way, so a connect takes twice that; `jitter_ms` is the maximum random delay of each write;
    `segment_bytes` is the maximum size of a piece, drawn at random (0: pieces arrive as written).
    """

    latency_ms: int = 1
    jitter_ms: int = 0
    segment_bytes: int = 0


class ClientEnd(Protocol):
    """Notifications to the side that dialed."""

    def on_connected(self, local: str) -> None: ...

    def on_received(self, data: bytes) -> None: ...

    def on_disconnected(self, error: OSError | None) -> None: ...


class _Direction:
    """One way of a connection: a queue whose head is delivered at its time, never before an earlier one."""

    __slots__ = ("_clog", "_held", "_is_shut", "_last_at_us", "_link", "_name", "_network", "_number", "_queue")

    def __init__(self, network: "SimNetwork", name: str, link: "_Link", clog: LinkFault) -> None:
        self._network = network
        self._name = name
        self._link = link
        self._clog = clog
        self._number = network.next_number()
        self._queue: deque[tuple[str, Callable[[], None]]] = deque()
        self._last_at_us = 0
        self._held = 0
        """Number of queue heads that were due while the direction was clogged."""
        self._is_shut = False

    def write(self, data: bytes, deliver: Callable[[bytes], None]) -> None:
        for piece in self._pieces(data):
            self.send(f"{len(piece)} bytes {crc32(piece):08x}", lambda piece=piece: deliver(piece), len(piece))  # type: ignore[misc]  # a bound default

    def _pieces(self, data: bytes) -> list[bytes]:
        most = self._link.value(LinkFault.SEGMENTS) or self._link.profile.segment_bytes
        if most == 0:
            return [data] if data else []
        most = max(most, len(data) // MOST_PIECES)
        rng = self._network.hub.rng(f"segments.{self._name}")
        pieces = []
        at = 0
        while at < len(data):
            size = rng.randint(1, most)
            pieces.append(data[at : at + size])
            at += size
        return pieces

    def send(self, what: str, deliver: Callable[[], None], size_bytes: int = 0) -> None:
        """Queue something that happens at the other end when its time comes."""
        hub = self._network.hub
        delay_us = (self._link.profile.latency_ms + (self._link.value(LinkFault.SLOW) or 0)) * MS
        if self._link.profile.jitter_ms:
            delay_us += hub.rng(f"latency.{self._name}").randint(0, self._link.profile.jitter_ms) * MS
        takes_us = size_bytes * MS // (self._link.value(LinkFault.RATE) or NO_LIMIT)
        self._last_at_us = max(self._last_at_us, hub.now_us + delay_us) + -(-takes_us // MS) * MS
        self._queue.append((what, deliver))
        hub.call_at(self._last_at_us, self._name, self._deliver_head)

    def drop(self) -> None:
        """Drop all bytes in transit."""
        self._queue.clear()

    def shut(self) -> None:
        """Deliver nothing more until `open`."""
        self._is_shut = True

    def open(self) -> None:
        """Deliver again, starting with held bytes."""
        self._is_shut = False
        self._flush()

    def _deliver_head(self) -> None:
        if self._is_shut or self._held or self._link.value(self._clog) is not None:
            self._held += 1
            self._network.faults.once_changed(self._number, self._flush)
            return
        self._deliver()

    def _flush(self) -> None:
        """Deliver held bytes at this instant and in order."""
        held, self._held = self._held, 0
        for _ in range(held):
            self._network.hub.call_at(self._network.hub.now_us, self._name, self._deliver_head)

    def _deliver(self) -> None:
        if self._queue:
            what, deliver = self._queue.popleft()
            self._network.hub.trace(self._name, what)
            deliver()


class _Link(NamedTuple):
    """Between which client and which address a connection runs."""

    faults: LinkFaults
    client: str
    ip: str
    profile: LinkProfile

    def value(self, fault: LinkFault) -> int | None:
        return self.faults.value(fault, self.client, self.ip)


class Connection:
    """One connection, from the first SYN to the end; it is also the broker's `Wire`."""

    def __init__(self, network: "SimNetwork", name: str, client: ClientEnd, address: Address) -> None:
        self.link = _Link(network.faults, name.split(".")[0], address.ip, network.profile_of(address))
        self._network = network
        self._client: ClientEnd | None = client
        self._server: Endpoint | None = None
        self._local = f"10.255.0.1:{network.next_port()}"
        self._up = _Direction(network, f"{name}>{address}", self.link, LinkFault.CLOG_REQUESTS)
        self._down = _Direction(network, f"{address}>{name}", self.link, LinkFault.CLOG_RESPONSES)
        self._unsent = bytearray()
        self._under_way_bytes = 0
        self._syns_lost = 0
        self._answers = 0
        self._damages: list[Callable[[bytes], bytes]] = []
        """Changes to the next responses."""
        self._up.send("SYN", lambda: self._arrive(address))

    # --- the broker's side --------------------------------------------------------------------------------------------

    def _arrive(self, address: Address) -> None:
        listener = self._network.listener_at(address)
        if self._client is None:
            return
        if self.link.value(LinkFault.BLACKHOLE) is not None:
            self._say_syn_again(address)
            return
        outcome = OnConnect.REFUSE if listener is None else listener.on_connect()
        if outcome is OnConnect.DROP:
            return
        if listener is None or outcome is OnConnect.REFUSE or self.link.value(LinkFault.REFUSE) is not None:
            self._end("RST", _os_error(errno.ECONNREFUSED))
            return
        self._down.send("SYN-ACK", self._connected)
        if outcome is OnConnect.RESET:
            self.reset()
        else:
            self._server = listener.accept(self)
            self._network.opened(self)

    def _say_syn_again(self, address: Address) -> None:
        """Retry a SYN without a response after 1 s, 2 s, 4 s, and so on, as kernels do."""
        wait_ms = FIRST_SYN_RETRY_MS << self._syns_lost
        self._syns_lost += 1
        self._network.hub.call_later_ms(wait_ms, "kernel", lambda: self._up.send("SYN", lambda: self._arrive(address)))

    @property
    def is_full(self) -> bool:
        """Return False: the simulated kernel accepts all bytes."""
        return False

    @property
    def is_gone(self) -> bool:
        """Return False: a FIN calls the broker as soon as it arrives."""
        return False

    def write(self, data: bytes) -> None:
        if self._server is not None:
            self._answers += 1
            self._network.responses += 1
            self._network.carried_bytes += len(data)
            if self._damages and self._answers > 1:
                data = self._damages.pop(0)(data)
            self._down.write(data, self._received)

    def close(self) -> None:
        if self._server is not None:
            self._end("FIN", None)

    def reset(self) -> None:
        """Cut the connection; bytes under way to the client are lost, a SYN-ACK is not."""
        if self._server is not None:
            self._down.drop()
        self._end("RST", _os_error(errno.ECONNRESET))

    def pause_reading(self, is_paused: bool) -> None:
        """Change nothing: the simulated kernel accepts all bytes."""

    def _end(self, how: str, error: OSError | None) -> None:
        self._forget_server()
        self._down.send(how, lambda: self._disconnected(error))

    def _forget_server(self) -> None:
        if self._server is not None:
            self._server = None
            self._network.closed(self)

    # --- the client's side ------------------------------------------------------------------------------------------

    def _connected(self) -> None:
        if self._client is not None:
            self._client.on_connected(self._local)

    def _received(self, data: bytes) -> None:
        if self._client is not None:
            self._network.heard(self.link.client)
            self._client.on_received(data)

    def _disconnected(self, error: OSError | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.on_disconnected(error)

    def send(self, data: bytes) -> None:
        """Send bytes of the client to the broker, as far as its kernel takes them."""
        if self._client is not None:
            self._network.carried_bytes += len(data)
            self._unsent += data
            self._write_on()

    @property
    def unsent_bytes(self) -> int:
        """Number of bytes that the client's kernel has not accepted."""
        return len(self._unsent)

    def _write_on(self) -> None:
        window_bytes = self.link.value(LinkFault.WINDOW)
        room_bytes = len(self._unsent) if window_bytes is None else max(0, window_bytes - self._under_way_bytes)
        piece = bytes(self._unsent[:room_bytes])
        del self._unsent[:room_bytes]
        self._under_way_bytes += len(piece)
        self._up.write(piece, self._arrived)

    def abandon(self) -> None:
        """The client closes: nothing more reaches it; the broker learns of it in order."""
        if self._client is not None:
            self._client = None
            self._down.drop()
            self._up.write(bytes(self._unsent), self._arrived)
            self._unsent.clear()
            self._up.send("FIN", self._client_gone)

    def _arrived(self, data: bytes) -> None:
        self._under_way_bytes -= len(data)
        if self._server is not None:
            self._server.receive(data)
        if self._unsent:
            self._write_on()

    def _client_gone(self) -> None:
        server = self._server
        self._forget_server()
        if server is not None:
            server.disconnected()

    # --- faults -----------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """End the connection on both sides immediately; bytes in transit are lost."""
        self._up.drop()
        self._down.drop()
        self._client_gone()
        self._disconnected(_os_error(errno.ECONNRESET))

    def inject(self, data: bytes) -> None:
        """The client gets bytes that the broker did not send, behind those it did."""
        if self._server is not None:
            self._down.write(data, self._received)

    def half_close(self) -> None:
        """Close the broker's side: its pending bytes arrive, and then the client sees the end."""
        self._up.drop()
        server = self._server
        self.close()
        if server is not None:
            server.disconnected()

    def forget_broker(self) -> None:
        """Remove the broker's side silently: bytes of the client get no response, not even a reset."""
        self._client_gone()

    def damage(self, change: Callable[[bytes], bytes]) -> None:
        """Change the next response, an entire frame; the first response of a connection is ApiVersions."""
        self._damages.append(change)

    def orphan(self, execute_after_ms: int) -> None:
        """Reset the client's side now, and deliver bytes in transit to the broker after a delay."""
        self._up.shut()
        self._disconnected(_os_error(errno.ECONNRESET))

        def execute() -> None:
            self._up.open()
            self._up.send("FIN", self._client_gone)

        self._network.hub.call_later_ms(execute_after_ms, "orphans", execute)


class SimNetwork:
    """All that can be dialled in one simulation."""

    def __init__(self, hub: Hub, profile: LinkProfile | None = None) -> None:
        self.hub = hub
        self.profile = profile or LinkProfile()
        self.profiles: dict[str, LinkProfile] = {}
        """Profiles of single addresses, by IP; for connections made after the entry."""
        self.faults = LinkFaults()
        self.on_dial: Callable[[str, str], None] | None = None
        """Gets client and IP of each connection attempt."""
        self.responses = 0
        self.carried_bytes = 0
        """Number of responses, and bytes in both directions, of all connections."""
        self._numbers = 0
        self._heard_at_us: dict[str, int] = {}
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._open: dict[Connection, None] = {}
        self._ports = 40_000

    def listen(self, ip: str, port: int, listener: Listener) -> None:
        """Let `listener` accept connections to `ip:port`."""
        self._listeners[ip, port] = listener

    def replace_listener(self, ip: str, listener: Listener) -> Callable[[], None]:
        """Let `listener` accept connections to every used port of an address. Return the function that ends this."""
        before = {place: present for place, present in self._listeners.items() if place[0] == ip}
        self._listeners |= dict.fromkeys(before, listener)

        def restore() -> None:
            self._listeners |= before

        return restore

    def stop_listening(self, ip: str, port: int) -> None:
        """Refuse connections to `ip:port`."""
        self._listeners.pop((ip, port), None)

    def listener_at(self, address: Address) -> Listener | None:
        """Return the listener of `address`, or None."""
        return self._listeners.get((address.ip, address.port))

    def dial(self, name: str, client: ClientEnd, address: Address) -> Connection:
        """Start a connection of the client called `name`."""
        connection = Connection(self, name, client, address)
        if self.on_dial is not None:
            self.on_dial(connection.link.client, address.ip)
        return connection

    def connections_of(self, client: str = "", ip: str = "") -> list[Connection]:
        """Return the accepted connections of a client to a node; of all where one is left out."""
        return [one for one in self._open if client in ("", one.link.client) and ip in ("", one.link.ip)]

    def profile_of(self, address: Address) -> LinkProfile:
        """Return how a new connection to `address` carries bytes."""
        return self.profiles.get(address.ip, self.profile)

    def next_port(self) -> int:
        """Return a client port that was not used before."""
        self._ports += 1
        return self._ports

    def next_number(self) -> int:
        """Return the number of a new direction."""
        self._numbers += 1
        return self._numbers

    def heard(self, client: str) -> None:
        """Take note that bytes have reached a client."""
        self._heard_at_us[client] = self.hub.now_us

    def heard_at_ms(self, client: str) -> int:
        """Return when bytes last reached a client."""
        return self._heard_at_us.get(client, 0) // MS

    def opened(self, connection: Connection) -> None:
        """Count an accepted connection."""
        self._open[connection] = None

    def closed(self, connection: Connection) -> None:
        """Count it no more."""
        self._open.pop(connection, None)

    @property
    def open_connections(self) -> int:
        """Number of accepted connections that brokers still hold: zero after every client has closed."""
        return len(self._open)


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
