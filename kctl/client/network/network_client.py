"""NetworkClient: the connections of one client: ready nodes, the poll, and the end of each connection.

node_list.py has the nodes, node_choice.py the choice among them, dialer.py the attempts, channel_table.py the
connections, request_table.py callers' requests, network_status.py the reasons why nothing can be sent. `poll` waits for
the nearest of all deadlines, and handles only nodes that have I/O or are due (node_timers.py). Only `wakeup` is
thread-safe.

Source: Kafka's NetworkClient, KIP-601. Differs: the setup timeout includes DNS and the ApiVersions response, and limits
    the poll's wait; several nodes and addresses are tried in parallel.
"""

from collections.abc import Sequence
from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.errors import ConnectionLost, KafkaError
from kctl.client.events import EventSink, Lost, ignore_events
from kctl.client.network import connect_errors
from kctl.client.network.advertised import AdvertisedAddresses
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.connection import Arrived, Connection
from kctl.client.network.connection_factory import ConnectionFactory, socket_options
from kctl.client.network.dialer import Dialer
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.in_flight import Outgoing
from kctl.client.network.network_status import NetworkStatus
from kctl.client.network.node_choice import NodeChoice
from kctl.client.network.node_list import NodeList
from kctl.client.network.node_timers import NodeTimers
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.refusals import Acceptance, BootstrapRefusal
from kctl.client.network.request_table import RequestTable
from kctl.client.protocol.schema import Request
from kctl.client.protocol.versions import NodeVersions
from kctl.client.runtime import Connected, Disconnected, IoEvent, Received, Runtime

LONGEST_REFUSAL_BACKOFF_MS = 10_000
"""Maximum backoff after a refusal; the first backoff is reconnect.backoff.max.ms."""


class NetworkClient:
    """Connections of one client.

    Attributes: is_only_woken: whether the last poll ended only because of a wake-up, before any deadline.
    """

    def __init__(self, config: ClientConfig, runtime: Runtime, *, events: EventSink = ignore_events) -> None:
        factory = ConnectionFactory(config, runtime.entropy, events)  # first, because it may raise
        self.clock = runtime.clock
        self.selector = runtime.make_selector(socket_options(config))
        self._events = events
        self.states = _states_of(config, runtime.rng)
        self._max_in_flight = config.max_in_flight_requests_per_connection
        self._idle_expiry = IdleExpiryManager(config.connections_max_idle_ms)
        self._channels = ChannelTable(self.selector, self.clock, self._idle_expiry, events)
        self._timers = NodeTimers()
        self._advertised = AdvertisedAddresses(config.bootstrap_refused_timeout_ms)
        self._dialer = Dialer(
            clock=self.clock,
            selector=self.selector,
            resolver=runtime.resolver,
            states=self.states,
            channels=self._channels,
            factory=factory,
            idle_expiry=self._idle_expiry,
            timers=self._timers,
            advertised=self._advertised,
            attempt_delay_ms=config.bootstrap_attempt_delay_ms,
            longest_delay_ms=config.reconnect_backoff_max_ms,
            events=events,
        )
        self._acceptance = Acceptance(self.states)
        self._nodes = NodeList(
            self.states, self._advertised, self._channels, self._timers, self._acceptance, self._hang_up
        )
        self._entries = self._nodes.entries
        self.requests = RequestTable(
            self.clock,
            self._channels,
            self._timers,
            self._acceptance,
            events,
            request_timeout_ms=config.request_timeout_ms,
        )
        self.status = NetworkStatus(
            self.clock,
            self._nodes,
            self.states,
            self._dialer,
            self._advertised,
            self._acceptance,
            self.requests,
            BootstrapRefusal(self.states, config.bootstrap_refused_timeout_ms),
        )
        self._choice = NodeChoice(
            self._nodes.members,
            self.states,
            self._dialer,
            self.clock,
            attempt_delay_ms=config.bootstrap_attempt_delay_ms,
        )
        self._awaiting_backoff: dict[int, None] = {}
        """Nodes in backoff that a caller needs; the poll ends when it may connect to them."""
        self.is_only_woken = False
        self._due_at_ms = self._until_ms = 0
        """`_due_at_ms`: nearest deadline of the last poll. `_until_ms`: time until which it waits."""
        self._is_closed = False

    # --- nodes --------------------------------------------------------------------------------------------------------

    def set_nodes(self, nodes: Sequence[Node]) -> None:
        """Set the nodes; a node that is no longer included is dropped after its last response."""
        self._nodes.update(nodes)

    def dedicate(self, node: Node) -> None:
        """Add a separate connection to a node, whose id no broker has, for requests to that id only."""
        self._nodes.dedicate(node)

    def ready(self, node_id: int) -> bool:
        """Return whether a request can be sent to the node now; if not, connect to it."""
        entry = self._entries[node_id]
        if entry.connection is not None:
            return self._can_send(entry)
        entry.is_wanted = True
        now_ms = self.clock.now_ms()
        if self.states.can_connect(node_id, now_ms):
            self._dialer.start(entry)
        elif self.states.is_backing_off(node_id, now_ms):
            self._awaiting_backoff[node_id] = None
        return False

    def is_ready(self, node_id: int) -> bool:
        """Return whether a request can be sent to the node now, without connecting."""
        entry = self._entries.get(node_id)
        return entry is not None and entry.connection is not None and self._can_send(entry)

    def versions(self, node_id: int) -> NodeVersions | None:
        entry = self._entries.get(node_id)
        return entry.connection.versions if entry is not None and entry.connection is not None else None

    def supports(self, node_id: int, kind: type[Request], at_least: int = 0) -> bool:
        """Return whether the node has this version of an API, or a later one.

        True if the node is not connected; the request then fails for that reason.
        """
        versions = self.versions(node_id)
        return versions is None or versions.supports(kind, at_least)

    def node(self, node_id: int) -> Node:
        """Return a current or former node by its id."""
        entry = self._entries.get(node_id)
        return self._nodes.former[node_id] if entry is None else entry.node

    def any_ready_node(self, avoid: Sequence[int] = ()) -> Node | None:
        """Return a ready node; if there is none, connect and return None. See `NodeChoice`."""
        return self._choice.any_ready_node(avoid)

    def all_unavailable(self) -> bool:
        """Return whether all nodes are in backoff, so the client must rebootstrap (KIP-899)."""
        return self._choice.all_unavailable()

    # --- requests -----------------------------------------------------------------------------------------------------

    def send(self, outgoing: Outgoing) -> None:
        """Send a request to a ready node; a later poll calls `on_done` exactly once."""
        self.requests.send(self._entries.get(outgoing.node_id), outgoing)

    def disconnect(self, node_id: int, reason: str) -> None:
        """Close the node's connection or attempt; its requests fail with `reason`."""
        entry = self._entries.get(node_id)
        if entry is not None:
            self._hang_up(entry, reason)

    # --- the poll -----------------------------------------------------------------------------------------------------

    def next_deadline_at_ms(self) -> int:
        """Return the next time at which a poll has work other than I/O."""
        if self.requests.has_ended:
            return 0
        now_ms = self.clock.now_ms()
        return min(
            self._timers.next_at_ms(now_ms),
            self._idle_expiry.next_deadline_at_ms(),
            self._dialer.next_login_at_ms(),
            self._choice.next_deadline_at_ms(now_ms),
            *map(self.states.may_connect_at_ms, self._awaiting_backoff),
        )

    def poll(self, until_ms: int) -> None:
        """Do the I/O that is ready, and run the callbacks of requests that ended.

        Waits for I/O, a wake-up, `until_ms` (if past, it does not wait), or `next_deadline_at_ms`, whichever is first.
        """
        now_ms = self.clock.now_ms()
        self._due_at_ms = until_ms if until_ms <= now_ms else self.next_deadline_at_ms()
        self._until_ms = min(until_ms, self._due_at_ms)
        self._choice.wait_ended()
        self._awaiting_backoff.clear()
        self.poll_again()

    def poll_again(self) -> None:
        """Continue the last poll, which only a wake-up ended, with the same deadline."""
        due_at_ms = self._due_at_ms
        now_ms = self._poll_io(self._until_ms)
        if self.is_only_woken:
            return
        if now_ms > due_at_ms:  # scheduled late: received bytes count before the deadline
            now_ms = self._poll_io(now_ms)
        if now_ms >= due_at_ms:
            self._dialer.expire_connecting(now_ms)
            self._close_idle(now_ms)
        self._dialer.advance_looked_up(now_ms)
        for entry in self._timers.pop_due(now_ms):
            self._run(entry, now_ms)
        self.requests.end_written()
        self._nodes.sweep()
        self.requests.call_back()

    def _poll_io(self, until_ms: int) -> int:
        """Wait, handle the events, and return their time.

        A part of a large response does not end the wait.
        """
        while True:
            happened = self.selector.poll(until_ms)
            now_ms = self.clock.now_ms()
            is_quiet = not (happened or self._dialer.has_news or self.requests.is_writing)
            self.is_only_woken = is_quiet and now_ms < until_ms
            if self.is_only_woken:
                return now_ms
            for event in happened:
                self._on_io(event, now_ms)
            if len(happened) != 1 or self.selector.was_woken or self.requests.has_ended or now_ms >= until_ms:
                return now_ms
            if not self._is_inside_answer(happened[0]):
                return now_ms

    def _is_inside_answer(self, event: IoEvent) -> bool:
        found = self._channels.find(event.channel) if isinstance(event, Received) else None
        return found is not None and found[1].is_inside_large_frame

    def wakeup(self) -> None:
        """End the current or next poll; any thread."""
        self.selector.wakeup()

    def close(self) -> None:
        """Close everything; requests in flight fail, and their callbacks run. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            for entry in self._entries.values():
                self._hang_up(entry, "the client was closed")
        finally:
            self.selector.shutdown()
        while self.requests.has_ended:
            self.requests.call_back()

    # --- events -------------------------------------------------------------------------------------------------------

    def _on_io(self, event: IoEvent, now_ms: int) -> None:
        found = self._channels.find(event.channel)
        if found is None:
            return  # closed by an earlier event of this poll
        entry, connection = found
        if isinstance(event, Disconnected):
            self._end(entry, connection, connection.progress.lost(event.error, now_ms), now_ms)
            return
        was_ready = connection.is_ready
        was_steady = was_ready and not connection.is_renewing
        arrived: list[Arrived] = []
        try:
            if isinstance(event, Connected):
                connection.on_connected(event.local, now_ms)
            elif isinstance(event, Received):
                arrived = connection.receive(event.data, now_ms)
                self.selector.expect(event.channel, connection.next_read_bytes, connection.next_read_place())
        except KafkaError as error:
            self.requests.answered(entry, connection, connection.pop_arrived(), now_ms)
            self._channels.flush(connection)
            self._end(entry, connection, error, now_ms)
            return
        if arrived:  # the renewal of a session keeps no idle connection open
            self._idle_expiry.used(connection.channel, now_ms)
        self.requests.answered(entry, connection, arrived, now_ms)
        self._channels.flush(connection)
        if connection.is_ready:
            entry.heard_at_ms = now_ms
        if connection.is_ready and not was_ready:
            self._won(entry, connection, now_ms)
        if not was_steady:  # the handshake or the renewal of a session has sent a request, or set the next renewal
            self._timers.note(entry, 0)
        if connection.is_closed_by_peer:
            self._end(entry, connection, connection.progress.lost(None, now_ms), now_ms)

    def _run(self, entry: NodeEntry, now_ms: int) -> None:
        self._dialer.run(entry, now_ms)
        connection = entry.connection
        if connection is not None and connection.is_renewal_due(now_ms):
            try:
                connection.renew_session(now_ms)
            except KafkaError as error:
                self._channels.flush(connection)
                self._end(entry, connection, error, now_ms)
                return
            self._channels.flush(connection)
        overdue = None if connection is None else self.requests.expire(connection, now_ms)
        if connection is not None and overdue is not None:
            self._end(entry, connection, overdue, now_ms)
        self._timers.note(entry, 0)

    def _close_idle(self, now_ms: int) -> None:
        for channel in self._idle_expiry.evict_idle(now_ms):
            found = self._channels.find(channel)
            assert found is not None
            entry, connection = found
            if connection.in_flight or self.selector.unsent_bytes(channel):
                self._idle_expiry.lru_connected[channel] = now_ms
            else:
                self._hang_up(entry, "idle")

    def _end(self, entry: NodeEntry, connection: Connection, error: KafkaError, now_ms: int) -> None:
        """Handle the error that ended a connection.

        If a broker has accepted the client before, the error only means a lost connection: a damaged frame or a TLS
        alert does not concern the client's identity. Otherwise it may be a refusal; see `NetworkStatus.fatal_error`.
        """
        if entry.connection is not connection:
            self._dialer.failed(entry, connection, error, now_ms)
            return
        lost = error if error.retriable else connect_errors.broken(connection.target, error)
        if self._acceptance.is_given:
            error = lost
        self._events(Lost(now_ms, connection.target, error))
        entry.connection = None
        self.states.disconnected(entry.node.node_id, now_ms, error)
        self.requests.fail(connection, self._channels.close(connection), entry.node.node_id, lost)

    def _won(self, entry: NodeEntry, connection: Connection, now_ms: int) -> None:
        self._dialer.won(entry, connection, now_ms)
        self._dialer.abandon_racing()

    # --- small steps --------------------------------------------------------------------------------------------------

    def _can_send(self, entry: NodeEntry) -> bool:
        assert entry.connection is not None
        now_ms = self.clock.now_ms()
        is_open = now_ms >= entry.throttled_until_ms and entry.connection.takes_requests(now_ms)
        return is_open and len(entry.connection.in_flight) < self._max_in_flight

    def _hang_up(self, entry: NodeEntry, reason: str) -> None:
        self._dialer.abandon(entry, reason)
        if entry.connection is not None:
            connection, entry.connection = entry.connection, None
            orphans = self._channels.close(connection, reason)
            self.states.released(entry.node.node_id)
            error = ConnectionLost(f"{connection.target}: connection closed: {reason}")
            self.requests.fail(connection, orphans, entry.node.node_id, error)


def _states_of(config: ClientConfig, rng: Random) -> ClusterConnectionStates:
    backoff = ExponentialBackoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, rng)
    first_ms = config.reconnect_backoff_max_ms
    refusal_backoff = ExponentialBackoff(first_ms, max(first_ms, LONGEST_REFUSAL_BACKOFF_MS), rng)
    return ClusterConnectionStates(
        backoff,
        refusal_backoff,
        setup_timeout_ms=config.socket_connection_setup_timeout_ms,
        setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
        rng=rng,
    )
