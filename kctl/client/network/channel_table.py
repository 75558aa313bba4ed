"""ChannelTable: every open channel with its connection and its node.

Only this table opens and closes channels, so that all are closed.
"""

from kctl.client.clock import Clock
from kctl.client.events import Closed, EventSink
from kctl.client.network.connection import Connection
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.in_flight import InFlight
from kctl.client.network.nodes import NodeEntry
from kctl.client.runtime import Address, Selectable


class ChannelTable:
    def __init__(self, selector: Selectable, clock: Clock, idle_expiry: IdleExpiryManager, events: EventSink) -> None:
        self._selector = selector
        self._clock = clock
        self._idle_expiry = idle_expiry
        self._events = events
        self._open: dict[int, tuple[NodeEntry, Connection]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def find(self, channel: int) -> tuple[NodeEntry, Connection] | None:
        return self._open.get(channel)

    def dial(self, entry: NodeEntry, connection: Connection, address: Address, deadline_at_ms: int) -> None:
        self._open[connection.channel] = (entry, connection)
        self._idle_expiry.connecting(connection.channel, deadline_at_ms)
        self._selector.connect(connection.channel, address)

    def handed_over(self, connection: Connection, entry: NodeEntry) -> None:
        connection.target = connection.target._replace(node_id=entry.node.node_id)
        self._open[connection.channel] = (entry, connection)

    def flush(self, connection: Connection) -> None:
        """Pass outgoing bytes to the selector. Except in a renewal, this counts as a use of the channel."""
        outgoing = connection.pop_outgoing()
        self._selector.send(connection.channel, *outgoing)
        if outgoing and not connection.is_renewing:
            self._idle_expiry.used(connection.channel, self._clock.now_ms())

    def unsent_bytes(self, channel: int) -> int:
        """Return the number of queued bytes of a channel, including held requests."""
        found = self._open.get(channel)
        return self._selector.unsent_bytes(channel) + (0 if found is None else found[1].in_flight.held_bytes)

    def close(self, connection: Connection, reason: str | None = None) -> list[InFlight]:
        """Close the channel, and return its requests without a response.

        Args: reason: reason of the client, if the client closes the connection.
        """
        self._selector.close(connection.channel)
        self._idle_expiry.forget(connection.channel)
        self._open.pop(connection.channel, None)  # may be missing after Ctrl-C
        if reason is not None:
            self._events(Closed(self._clock.now_ms(), connection.target, reason))
        return connection.closed()
