"""ChannelTable: every open channel with its connection and its node, from dialling to closing.

The one place that opens and closes channels, so none is leaked. OneWayRequests holds the requests that get no
response (Produce with acks=0) until the system has taken their bytes: without it, a close right after a send would
count records as delivered whose bytes never left the process.
Shown by tests/sim/network/test_requests.py and tests/unit/network/test_channel_table.py.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import Clock
from kctl.client.errors import KafkaError
from kctl.client.events import Closed, EventSink
from kctl.client.network.connection import Connection
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.in_flight import InFlight, OnDone
from kctl.client.network.nodes import NodeEntry
from kctl.client.runtime import Address, Selectable


class ChannelTable:
    """Open channels by number."""

    def __init__(self, selector: Selectable, clock: Clock, idle_expiry: IdleExpiryManager, events: EventSink) -> None:
        self._selector = selector
        self._clock = clock
        self._idle_expiry = idle_expiry
        self._events = events
        self._open: dict[int, tuple[NodeEntry, Connection]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def find(self, channel: int) -> tuple[NodeEntry, Connection] | None:
        """Return who uses the channel; None when it was closed."""
        return self._open.get(channel)

    def dial(self, entry: NodeEntry, connection: Connection, address: Address, deadline_at_ms: int) -> None:
        """Open a channel that has to be ready by the deadline."""
        self._open[connection.channel] = (entry, connection)
        self._idle_expiry.connecting(connection.channel, deadline_at_ms)
        self._selector.connect(connection.channel, address)

    def handed_over(self, connection: Connection, entry: NodeEntry) -> None:
        """Note that the channel belongs to another node from now on."""
        connection.target = connection.target._replace(node_id=entry.node.node_id)
        self._open[connection.channel] = (entry, connection)

    def flush(self, connection: Connection) -> None:
        """Hand what the connection has to say to the selector: that is a use of the channel, a renewal is none."""
        outgoing = connection.pop_outgoing()
        for data in outgoing:
            self._selector.send(connection.channel, data)
        if outgoing and not connection.is_renewing:
            self._idle_expiry.used(connection.channel, self._clock.now_ms())

    def unsent_bytes(self, channel: int) -> int:
        """Return how much of what was queued on a channel the system has not taken yet."""
        found = self._open.get(channel)
        return self._selector.unsent_bytes(channel) + (0 if found is None else found[1].held_bytes)

    def renew_sessions(self, now_ms: int) -> list[tuple[NodeEntry, Connection, KafkaError]]:
        """Renew the SASL sessions that are near their end; return the connections that are over, with the reason."""
        over: list[tuple[NodeEntry, Connection, KafkaError]] = []
        for entry, connection in self._open.values():
            if connection.is_closed_by_peer:
                over.append((entry, connection, connection.lost(None, now_ms)))
            elif connection.is_renewal_due(now_ms):
                try:
                    connection.renew_session(now_ms)
                except KafkaError as error:
                    over.append((entry, connection, error))
                self.flush(connection)
        return over

    def close(self, connection: Connection, reason: str | None = None) -> list[InFlight]:
        """Close the channel and return its unanswered requests; a `reason` says that it is our own doing."""
        self._selector.close(connection.channel)
        self._idle_expiry.forget(connection.channel)
        del self._open[connection.channel]
        if reason is not None:
            self._events(Closed(self._clock.now_ms(), connection.target, reason))
        return connection.closed()


class OneWayRequest(NamedTuple):
    """One such request."""

    node_id: int
    version: int
    on_done: OnDone


class OneWayRequests:
    """Those of all connections, by channel."""

    def __init__(self, unsent_bytes: Callable[[int], int]) -> None:
        """`unsent_bytes`: how much of a channel's bytes the system has not taken yet."""
        self._unsent_bytes = unsent_bytes
        self._by_channel: dict[int, list[OneWayRequest]] = {}

    def add(self, connection: Connection, request: OneWayRequest) -> None:
        """Note a request whose bytes were handed to the selector."""
        self._by_channel.setdefault(connection.channel, []).append(request)

    def pop_written(self) -> list[OneWayRequest]:
        """Remove and return those whose bytes were taken."""
        written = [channel for channel in self._by_channel if self._unsent_bytes(channel) == 0]
        return [request for channel in written for request in self._by_channel.pop(channel)]

    def pop_of(self, connection: Connection) -> list[OneWayRequest]:
        """Remove and return those of a connection that is ending."""
        return self._by_channel.pop(connection.channel, [])
