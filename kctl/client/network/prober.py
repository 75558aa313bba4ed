"""Prober: tries every address of every node to the end and tells what happened, instead of stopping at a winner.

The same connections, limits and look-ups as the client's own (`connection_factory.py`, `idle_expiry.py`), without the
races: all at once. It emits events; who folds them into rows is the caller. Shown by tests/sim/network/test_prober.py
and tests/cli.
"""

from collections.abc import Sequence

from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.errors import DnsError, KafkaError
from kctl.client.events import Closed, EventSink, Expired, Failed, Phase, PhaseDone, Started, Target
from kctl.client.network import connect_errors
from kctl.client.network.address_race import interleave
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.connection import Connection
from kctl.client.network.connection_factory import ConnectionFactory
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.node_entry import NodeEntry
from kctl.client.network.socket_options import socket_options
from kctl.client.seams import Connected, Disconnected, IoEvent, Lookup, Received, Runtime

_NEVER_IDLE = -1


class _LookUp:
    """One name under way."""

    __slots__ = ("deadline_at_ms", "lookup", "started_at_ms", "target")

    def __init__(self, target: Target, lookup: Lookup, started_at_ms: int, deadline_at_ms: int) -> None:
        self.target = target
        self.lookup = lookup
        self.started_at_ms = started_at_ms
        self.deadline_at_ms = deadline_at_ms


class Prober:
    """One round over a list of nodes. Poll it until `is_done`, then close it."""

    def __init__(self, config: ClientConfig, runtime: Runtime, nodes: Sequence[Node], *, events: EventSink) -> None:
        self.clock = runtime.clock
        self.selector = runtime.make_selector(socket_options(config))
        self._events = events
        self._limit_ms = config.socket_connection_setup_timeout_ms
        self._resolver = runtime.resolver
        self._factory = ConnectionFactory(config, runtime.entropy, events)
        self._idle_expiry = IdleExpiryManager(_NEVER_IDLE)
        self._channels = ChannelTable(self.selector, self.clock, self._idle_expiry, events)
        self._last_number = 0
        self._lookups = [self._look_up(node) for node in nodes]
        self._under_way: dict[int, Connection] = {}

    @property
    def is_done(self) -> bool:
        """Whether every address of every node is ready, failed or expired."""
        return not self._lookups and not self._under_way

    def next_deadline_ms(self) -> int:
        """Return the instant at which the next limit passes."""
        deadlines = [lookup.deadline_at_ms for lookup in self._lookups]
        return min([self._idle_expiry.next_deadline_ms(), *deadlines])

    def poll(self, timeout_ms: int) -> None:
        """Go on: wait for I/O, a limit or `timeout_ms`, whichever is first, and emit what happened."""
        self._advance(self.clock.now_ms())
        wait_ms = max(0, min(timeout_ms, self.next_deadline_ms() - self.clock.now_ms()))
        happened = self.selector.poll(0 if self.is_done else wait_ms)
        now_ms = self.clock.now_ms()
        for event in happened:
            self._on_io(event, now_ms)
        self._expire(now_ms)
        self._advance(now_ms)

    def close(self, reason: str = "close") -> None:
        """Hang up everything; what is still under way is told as closed for `reason`. Idempotent."""
        now_ms = self.clock.now_ms()
        for lookup in self._lookups:
            self._events(Closed(now_ms, lookup.target, reason))
        for connection in self._under_way.values():
            self._channels.close(connection, reason)
        self._lookups = []
        self._under_way = {}
        self.selector.shutdown()

    # --- look-ups -----------------------------------------------------------------------------------------------------

    def _look_up(self, node: Node) -> _LookUp:
        now_ms = self.clock.now_ms()
        self._last_number += 1
        target = Target(self._last_number, node.node_id, node.host, node.port, "")
        self._events(Started(now_ms, target, Phase.DNS, self._limit_ms))
        lookup = self._resolver.lookup(node.host, node.port, self.selector.wakeup)
        return _LookUp(target, lookup, now_ms, self.clock.start_ms() + self._limit_ms)

    def _advance(self, now_ms: int) -> None:
        pending = []
        for entry in self._lookups:
            if entry.lookup.done:
                self._on_lookup(entry, now_ms)
            elif now_ms >= entry.deadline_at_ms:
                elapsed_ms = now_ms - entry.started_at_ms
                error = connect_errors.expired(entry.target, Phase.DNS, self._limit_ms, elapsed_ms)
                self._events(Expired(now_ms, entry.target, Phase.DNS, self._limit_ms, elapsed_ms, error))
            else:
                pending.append(entry)
        self._lookups = pending

    def _on_lookup(self, entry: _LookUp, now_ms: int) -> None:
        elapsed_ms = now_ms - entry.started_at_ms
        if entry.lookup.error is not None:
            dns_error = DnsError(entry.lookup.error, hint="check the name")
            error = connect_errors.located(entry.target, Phase.DNS, dns_error)
            self._events(Failed(now_ms, entry.target, Phase.DNS, elapsed_ms, error))
            return
        addresses = interleave(entry.lookup.addresses)
        detail = ", ".join(str(address) for address in addresses)
        self._events(PhaseDone(now_ms, entry.target, Phase.DNS, elapsed_ms, detail))
        target = entry.target
        node = Node(target.node_id, target.host, target.port)
        for address in addresses:
            self._last_number += 1
            connection = self._factory.connection(
                self._last_number, node, address, attempt=self._last_number, started_at_ms=now_ms
            )
            self._under_way[connection.channel] = connection
            self._events(Started(now_ms, connection.target, Phase.TCP, self._limit_ms))
            self._channels.dial(NodeEntry(node), connection, address, entry.deadline_at_ms)

    # --- connections --------------------------------------------------------------------------------------------------

    def _on_io(self, event: IoEvent, now_ms: int) -> None:
        connection = self._under_way.get(event.channel)
        if connection is None:
            return
        if isinstance(event, Disconnected):
            self._failed(connection, connection.lost(event.error, now_ms), now_ms)
            return
        try:
            if isinstance(event, Connected):
                connection.on_connected(event.local, now_ms)
            elif isinstance(event, Received):
                connection.receive(event.data, now_ms)
        except KafkaError as error:
            self._failed(connection, error, now_ms)
            return
        self._channels.flush(connection)
        if connection.is_ready:
            self._forget(connection)

    def _failed(self, connection: Connection, error: KafkaError, now_ms: int) -> None:
        elapsed_ms = now_ms - connection.started_at_ms
        self._events(Failed(now_ms, connection.target, connection.phase, elapsed_ms, error))
        self._forget(connection)

    def _expire(self, now_ms: int) -> None:
        for channel in self._idle_expiry.evict_connecting(now_ms):
            connection = self._under_way[channel]
            error = connection.expired(self._limit_ms, now_ms)
            elapsed_ms = now_ms - connection.started_at_ms
            self._events(Expired(now_ms, connection.target, connection.phase, self._limit_ms, elapsed_ms, error))
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        del self._under_way[connection.channel]
        self._channels.close(connection)
