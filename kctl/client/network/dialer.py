"""Dialer: connects to nodes, until a connection is ready or the attempt has failed.

It owns the running attempts, with their name lookup, the race of the addresses, and the setup timeout.
"""

from collections import deque
from collections.abc import KeysView
from functools import partial

from kctl.client.clock import Clock
from kctl.client.errors import DnsError, KafkaError
from kctl.client.events import EventSink, Expired, Failed, Phase, PhaseDone, Started, Target
from kctl.client.network import connect_errors
from kctl.client.network.advertised import AdvertisedAddresses
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.connect_errors import LoginWait
from kctl.client.network.connection import Connection
from kctl.client.network.connection_factory import ConnectionFactory
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.node_timers import NodeTimers
from kctl.client.network.nodes import NodeAttempt, NodeEntry
from kctl.client.runtime import Address, Resolver, Selectable


class Dialer:
    def __init__(
        self,
        *,
        clock: Clock,
        selector: Selectable,
        resolver: Resolver,
        states: ClusterConnectionStates,
        channels: ChannelTable,
        factory: ConnectionFactory,
        idle_expiry: IdleExpiryManager,
        timers: NodeTimers,
        advertised: AdvertisedAddresses,
        attempt_delay_ms: int,
        longest_delay_ms: int,
        events: EventSink,
    ) -> None:
        self._clock = clock
        self._selector = selector
        self._resolver = resolver
        self._states = states
        self._channels = channels
        self._factory = factory
        self._idle_expiry = idle_expiry
        self._timers = timers
        self._advertised = advertised
        self._attempt_delay_ms = attempt_delay_ms
        self._longest_delay_ms = longest_delay_ms
        self._events = events
        self._attempting: dict[int, NodeEntry] = {}
        self._racing: dict[int, NodeEntry] = {}
        """Nodes to which it connected although no caller needs them; their attempts may have ended since."""
        self._looked_up: deque[NodeEntry | None] = deque()
        """Nodes with a finished lookup, or None for a token or ticket that is needed later; helper threads append to
        it.
        """
        self._last_number = 0
        self.attempts = 0
        """Number of attempts so far."""

    @property
    def is_busy(self) -> bool:
        return bool(self._attempting)

    @property
    def has_news(self) -> bool:
        """Whether a helper thread has finished a lookup since the last call of `advance_looked_up`."""
        return bool(self._looked_up)

    @property
    def connecting(self) -> KeysView[int]:
        return self._attempting.keys()

    @property
    def under_way(self) -> list[NodeEntry]:
        return list(self._attempting.values())

    @property
    def is_resolving(self) -> bool:
        attempts = [entry.attempt for entry in self._attempting.values()]
        return all(each is not None and each.is_resolving and self._waits_for(each) is None for each in attempts)

    def unfinished(self, now_ms: int, node_id: int | None = None) -> KafkaError | None:
        """Return the error of the oldest running attempt, for a caller whose deadline has passed; any thread.

        Args: node_id: node of the attempt; None for any.
        """
        for entry in self.under_way:
            attempt = entry.attempt
            if attempt is None or node_id not in (None, entry.node.node_id):
                continue
            elapsed_ms = now_ms - attempt.started_at_ms
            for connection in list(attempt.connecting.values()):
                return connect_errors.unfinished(
                    connection.target, connection.progress.phase, attempt.limit_ms, elapsed_ms
                )
            if attempt.is_resolving:
                target = Target(attempt.number, entry.node.node_id, entry.node.host, entry.node.port, "")
                waits_for = self._waits_for(attempt)
                phase = Phase.DNS if waits_for is None else Phase.SASL
                return connect_errors.unfinished(target, phase, attempt.limit_ms, elapsed_ms, waits_for=waits_for)
        return None

    def _waits_for(self, attempt: NodeAttempt) -> LoginWait | None:
        return self._factory.waits_for if attempt.is_reading else None

    def start(self, entry: NodeEntry) -> None:
        node = entry.node
        now_ms = self._clock.now_ms()
        limit_ms = self._states.setup_timeout_ms(node.node_id)
        deadline_at_ms = self._states.connecting(node.node_id, self._clock.start_ms())
        self.attempts += 1
        self._last_number += 1
        number = self._last_number
        target = Target(number, node.node_id, node.host, node.port, "")
        self._events(Started(now_ms, target, Phase.DNS, limit_ms))
        entry.attempt = NodeAttempt(
            self._resolver.lookup(node.host, node.port, partial(self._on_looked_up, entry)),
            self._factory.read_files(node.host, self._resolver, partial(self._on_looked_up, entry)),
            number=number,
            started_at_ms=now_ms,
            deadline_at_ms=deadline_at_ms,
            limit_ms=limit_ms,
            delay_ms=self._attempt_delay_ms,
            longest_delay_ms=self._longest_delay_ms,
        )
        self._attempting[node.node_id] = entry
        if not entry.is_wanted:
            self._racing[node.node_id] = entry
        self._advance(entry, entry.attempt, now_ms)

    def _on_looked_up(self, entry: NodeEntry | None) -> None:
        """Queue a finished lookup for `advance_looked_up`, and wake the poll; any thread."""
        self._looked_up.append(entry)
        self._selector.wakeup()

    def advance_looked_up(self, now_ms: int) -> None:
        """Continue attempts whose lookup has finished; start to get the next token or ticket if it is due."""
        self._factory.advance(now_ms, partial(self._on_looked_up, None))
        while self._looked_up:
            entry = self._looked_up.popleft()
            if entry is not None and entry.attempt is not None:
                self._advance(entry, entry.attempt, now_ms)

    def next_login_at_ms(self) -> int:
        """Return the time at which the next token or ticket is due; attempts have other timers."""
        return self._factory.next_deadline_at_ms()

    def won(self, entry: NodeEntry, connection: Connection, now_ms: int) -> None:
        """Give the node its first ready connection, and close the connections to its other addresses."""
        assert entry.attempt is not None
        del entry.attempt.connecting[connection.channel]
        self._drop_attempt(entry, "another connection attempt succeeded first")
        entry.connection = connection
        self._states.ready(entry.node.node_id)
        self._advertised.worked(entry.node)
        self._idle_expiry.connected(connection.channel, now_ms)

    def failed(self, entry: NodeEntry, connection: Connection, error: KafkaError, now_ms: int) -> None:
        elapsed_ms = now_ms - connection.progress.started_at_ms
        self._events(Failed(now_ms, connection.target, connection.progress.phase, elapsed_ms, error))
        self._ended(entry, connection, error, now_ms)

    def abandon_racing(self) -> None:
        """Abandon the attempts to connect to nodes that no caller needs."""
        racing, self._racing = self._racing, {}
        for entry in racing.values():
            if not entry.is_wanted:
                self.abandon(entry, "another connection attempt succeeded first")

    def expire_connecting(self, now_ms: int) -> None:
        for channel in self._idle_expiry.evict_connecting(now_ms):
            found = self._channels.find(channel)
            if found is None:
                continue  # closed just now with another address of the node
            entry, connection = found
            assert entry.attempt is not None
            limit_ms = entry.attempt.limit_ms
            error = connection.progress.expired(limit_ms, now_ms)
            elapsed_ms = now_ms - connection.progress.started_at_ms
            self._events(Expired(now_ms, connection.target, connection.progress.phase, limit_ms, elapsed_ms, error))
            self._ended(entry, connection, error, now_ms)

    def run(self, entry: NodeEntry, now_ms: int) -> None:
        for connection in list(entry.attempt.connecting.values() if entry.attempt is not None else ()):
            self._expire_handshake(entry, connection, now_ms)
        if entry.attempt is not None:
            self._advance(entry, entry.attempt, now_ms)

    def _expire_handshake(self, entry: NodeEntry, connection: Connection, now_ms: int) -> None:
        overdue = connection.in_flight.expired(now_ms)
        if overdue is None:
            return
        limit_ms, elapsed_ms = overdue.deadline_at_ms - overdue.sent_at_ms, now_ms - overdue.sent_at_ms
        assert entry.attempt is not None
        if limit_ms >= entry.attempt.limit_ms:
            return  # the connect timeout passes in this millisecond or the next
        error = connection.progress.expired(limit_ms, now_ms, overdue)
        self._events(Expired(now_ms, connection.target, connection.progress.phase, limit_ms, elapsed_ms, error))
        self._ended(entry, connection, error, now_ms)

    def abandon(self, entry: NodeEntry, reason: str) -> None:
        """Stop an attempt; this is not a failure of the node."""
        if entry.attempt is not None:
            self._drop_attempt(entry, reason)
            self._states.released(entry.node.node_id)

    def _advance(self, entry: NodeEntry, attempt: NodeAttempt, now_ms: int) -> None:
        node = entry.node
        target = Target(attempt.number, node.node_id, node.host, node.port, "")
        elapsed_ms = now_ms - attempt.started_at_ms
        lookup = attempt.ended_lookup()
        if lookup is not None and lookup.error is not None:
            error = connect_errors.located(target, Phase.DNS, DnsError(lookup.error, hint="check the name"))
            self._events(Failed(now_ms, target, Phase.DNS, elapsed_ms, error))
            self._attempt_failed(entry, error, now_ms)
            return
        if lookup is not None:
            addresses = ", ".join(str(address) for address in lookup.addresses)
            self._events(PhaseDone(now_ms, target, Phase.DNS, elapsed_ms, addresses))
            attempt.resolved(lookup.addresses, now_ms)
        while (address := attempt.pop_due(now_ms)) is not None:
            self._dial(entry, attempt, address, now_ms)
        if (address := attempt.pop_again(now_ms)) is not None:
            replaced = attempt.replace_second(self._dial(entry, attempt, address, now_ms))
            if replaced is not None:
                self._channels.close(replaced, "the server did not respond, so the client opened another connection")
        if attempt.is_resolving and now_ms >= attempt.deadline_at_ms:
            waits_for = self._waits_for(attempt)
            phase = Phase.DNS if waits_for is None else Phase.SASL
            error = connect_errors.expired(target, phase, attempt.limit_ms, elapsed_ms, waits_for=waits_for)
            self._events(Expired(now_ms, target, phase, attempt.limit_ms, elapsed_ms, error))
            self._attempt_failed(entry, error, now_ms)
        self._timers.note(entry, 0)

    def _dial(self, entry: NodeEntry, attempt: NodeAttempt, address: Address, now_ms: int) -> Connection:
        self._last_number += 1
        connection = self._factory.connection(
            self._last_number, entry.node, address, attempt=attempt.number, started_at_ms=now_ms
        )
        attempt.connecting[connection.channel] = connection
        self._events(Started(now_ms, connection.target, Phase.TCP, attempt.limit_ms))
        self._channels.dial(entry, connection, address, attempt.deadline_at_ms)
        return connection

    def _ended(self, entry: NodeEntry, connection: Connection, error: KafkaError, now_ms: int) -> None:
        self._channels.close(connection)
        if entry.attempt is not None and entry.attempt.failed(connection.channel, error, now_ms):
            self._attempt_failed(entry, error, now_ms)
        self._timers.note(entry, 0)

    def _attempt_failed(self, entry: NodeEntry, error: KafkaError, now_ms: int) -> None:
        self._drop_attempt(entry, "the connection attempt to the broker has ended")
        self._states.disconnected(entry.node.node_id, now_ms, self._advertised.attribute(entry.node, error, now_ms))

    def _drop_attempt(self, entry: NodeEntry, reason: str) -> None:
        attempt, entry.attempt = entry.attempt, None
        self._attempting.pop(entry.node.node_id, None)
        if attempt is not None:
            for connection in list(attempt.connecting.values()):
                self._channels.close(connection, reason)
