"""Prober: one probe of servers and the brokers that they advertise.

It tests every address in parallel, with the client's connections and timeouts.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.errors import DnsError, KafkaError, RequestTimeout, SaslRequired
from kctl.client.events import (
    Closed,
    EventSink,
    Expired,
    Failed,
    Lost,
    Phase,
    PhaseDone,
    RequestExpired,
    Started,
    Target,
)
from kctl.client.network import connect_errors
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.connection_factory import ConnectionFactory, socket_options
from kctl.client.network.idle_expiry import IdleExpiryManager
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.races import interleave
from kctl.client.probe.attempts import IdleHold, NameLookup, ProbeAttempt
from kctl.client.probe.conversation import Conversation, ask_mechanisms, ask_versions, mechanisms_of
from kctl.client.probe.logins import Logins
from kctl.client.probe.redials import Redials, other_protocol
from kctl.client.probe.report import AddressReport, CoordinatorReport, ReplicaReport, reports_of_addresses, tls_report
from kctl.client.protocol.schema import Response
from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received, Runtime
from kctl.client.wording import counted

_NEVER_IDLE = -1
MOST_NODES = 10_000
"""Maximum number of nodes in a probe, because responses can advertise any number."""
_NODES_PER_POLL = 100
"""Number of name lookups that start in one poll, so that callers can check their deadline between polls."""
CONNECT_LIMIT, REQUEST_LIMIT = "socket.connection.setup.timeout.ms", "request.timeout.ms"
IDLE_WAIT, PAUSE = "idle_ms", "another question"


class ProbeOptions(NamedTuple):
    """Options of a probe.

    Attributes:
        resolve: addresses by (host, port), in place of the resolver.
        sni: TLS server name, in place of the host.
        try_protocols: whether to try the other protocol once if TLS meets plaintext.
        follow: whether to probe advertised brokers.
        group: group whose coordinator is to be found.
        idle_ms: idle time after which each connection is tested; 0 for no test.
        surveys: whether to query fenced brokers and all replicas.
        redials: whether to retry failed addresses while others are in progress, as a client does.
    """

    resolve: Mapping[tuple[str, int], Sequence[Address]] = {}
    sni: str | None = None
    try_protocols: bool = True
    follow: bool = True
    group: str | None = None
    idle_ms: int = 0
    redials: bool = False
    surveys: bool = True


class NextLimit(NamedTuple):
    """Next timeout. Attributes: name: property that sets the timeout, or the name of the wait."""

    at_ms: int
    name: str
    target: Target


class Prober:
    """One probe. Call `poll` until `is_done`, then `close`."""

    def __init__(
        self,
        config: ClientConfig,
        runtime: Runtime,
        nodes: Sequence[Node],
        *,
        events: EventSink,
        options: ProbeOptions | None = None,
    ) -> None:
        self.clock = runtime.clock
        self.reports: list[AddressReport] = []
        self.coordinator: CoordinatorReport | None = None
        self.replicas: ReplicaReport | None = None
        """Replicas of all partitions from the first ready node."""
        self._is_surveyed = not (options or ProbeOptions()).surveys
        self._options = options or ProbeOptions()
        self._config = config
        self._runtime = runtime
        self._events = events
        self._limit_ms = config.socket_connection_setup_timeout_ms
        self._factory = ConnectionFactory(  # may raise: before anything is open
            config, runtime.entropy, events, sni=self._options.sni, watches_certificate_requests=True
        )
        self._selector = runtime.make_selector(socket_options(config))
        self._idle_expiry = IdleExpiryManager(_NEVER_IDLE)
        self._channels = ChannelTable(self._selector, self.clock, self._idle_expiry, events)
        backoff = ExponentialBackoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, runtime.rng)
        self._redials = Redials(backoff)
        self._logins = Logins(self._factory, runtime.resolver, self._selector.wakeup)
        self._last_number = 0
        self._names: list[NameLookup] = []
        self._attempts: dict[int, ProbeAttempt] = {}
        self._ready: dict[int, ProbeAttempt] = {}
        """Ready attempts."""
        self._known: dict[tuple[str, int], None] = {}
        """Host and port of known nodes, spelled as given."""
        self._next_nodes: deque[Node] = deque()
        """Advertised brokers whose lookup has not started."""
        self.left_out = 0
        """Number of advertised brokers beyond `MOST_NODES`, which are not probed."""
        for node in nodes:
            if self._note_node(node):
                self._look_up(node, advertised=False)

    @property
    def is_done(self) -> bool:
        first = (attempt for attempt in self._attempts.values() if not self._redials.is_redial(attempt.report))
        return not self._names and not self._next_nodes and next(first, None) is None

    @property
    def waiting(self) -> int:
        return len(self._next_nodes)

    def next_deadline_at_ms(self) -> int:
        names = min((name.deadline_at_ms for name in self._names), default=FOREVER_MS)
        asking = min((attempt.next_deadline_at_ms for attempt in self._ready.values()), default=FOREVER_MS)
        return min(self._idle_expiry.next_deadline_at_ms(), names, asking, self._redials.next_at_ms())

    def next_limit(self) -> NextLimit | None:
        """Return the next timeout; None if nothing is in progress."""
        limits = [NextLimit(name.deadline_at_ms, CONNECT_LIMIT, name.target) for name in self._names]
        for channel, attempt in self._attempts.items():
            target = attempt.connection.target
            if channel not in self._ready:
                limits.append(NextLimit(attempt.deadline_at_ms, CONNECT_LIMIT, target))
            elif attempt.idle is not None and not attempt.idle.is_asked:
                limits.append(NextLimit(attempt.next_deadline_at_ms, IDLE_WAIT, target))
            else:
                is_pausing = attempt.conversation is not None and attempt.conversation.again_at_ms is not None
                limits.append(NextLimit(attempt.next_deadline_at_ms, PAUSE if is_pausing else REQUEST_LIMIT, target))
        return min(limits, key=lambda limit: limit.at_ms, default=None)

    def poll(self, until_ms: int) -> None:
        """Advance all attempts; wait for I/O, a timeout, or `until_ms`."""
        for _ in range(min(_NODES_PER_POLL, len(self._next_nodes))):
            self._look_up(self._next_nodes.popleft(), advertised=True)
        self._advance_names(self.clock.now_ms())
        may_wait = not self.is_done and not self._next_nodes
        happened = self._selector.poll(min(until_ms, self.next_deadline_at_ms()) if may_wait else 0)
        now_ms = self.clock.now_ms()
        for event in happened:
            self._on_io(event, now_ms)
        for received in self._logins.released(self._attempts.values()):
            self._on_io(received, now_ms)
        self._expire(now_ms)
        self._advance_names(now_ms)
        for report in self._redials.due(now_ms):
            self._logins.begin(report.target.host)
            self._dial(report, _dialled(report), self.clock.start_ms() + self._limit_ms, now_ms)

    def wakeup(self) -> None:
        """End the current or next poll; any thread."""
        self._selector.wakeup()

    def close(self, reason: str = "close") -> None:
        """Close all connections, and report attempts in progress as closed for `reason`. Idempotent."""
        now_ms = self.clock.now_ms()
        for name in self._names:
            self._events(Closed(now_ms, name.target, reason))
        for attempt in self._attempts.values():
            self._channels.close(attempt.connection, reason)
        self._names = []
        self._attempts = {}
        self._ready = {}
        self._next_nodes.clear()
        self._selector.shutdown()

    # --- names --------------------------------------------------------------------------------------------------------

    def _note_node(self, node: Node) -> bool:
        place = (node.host, node.port)
        if place in self._known:
            return False
        self._known[place] = None
        return True

    def _look_up(self, node: Node, *, advertised: bool) -> None:
        place = (node.host, node.port)
        now_ms = self.clock.now_ms()
        target = Target(self._number(), node.node_id, node.host, node.port, "")
        report = AddressReport(target, advertised=advertised, started_at_ms=now_ms, limit_ms=self._limit_ms)
        self.reports.append(report)
        self._events(Started(now_ms, target, Phase.DNS, self._limit_ms))
        deadline_at_ms = self.clock.start_ms() + self._limit_ms
        self._logins.begin(node.host)
        lookup = None
        if place not in self._options.resolve:
            lookup = self._runtime.resolver.lookup(node.host, node.port, self._selector.wakeup)
        self._names.append(NameLookup(report, lookup, deadline_at_ms))

    def _advance_names(self, now_ms: int) -> None:
        names, self._names = self._names, []
        for name in names:
            if name.lookup is None or name.lookup.done:
                self._on_name(name, now_ms)
            elif now_ms >= name.deadline_at_ms:
                elapsed_ms = now_ms - name.started_at_ms
                error = connect_errors.expired(name.target, Phase.DNS, self._limit_ms, elapsed_ms)
                self._events(Expired(now_ms, name.target, Phase.DNS, self._limit_ms, elapsed_ms, error))
                self._name_failed(name, error, elapsed_ms)
            else:
                self._names.append(name)

    def _on_name(self, name: NameLookup, now_ms: int) -> None:
        elapsed_ms = max(0, now_ms - name.started_at_ms)  # brokers in Metadata start after this poll has read the clock
        if name.lookup is not None and name.lookup.error is not None:
            dns_error = DnsError(name.lookup.error, hint="check the name")
            error = connect_errors.located(name.target, Phase.DNS, dns_error)
            self._events(Failed(now_ms, name.target, Phase.DNS, elapsed_ms, error))
            self._name_failed(name, error, elapsed_ms)
            return
        target = name.target
        given = self._options.resolve.get((target.host, target.port), ())
        addresses = interleave(given if name.lookup is None else name.lookup.addresses)
        detail = ", ".join(str(address) for address in addresses)
        self._events(PhaseDone(now_ms, target, Phase.DNS, elapsed_ms, detail))
        name.report.phases_ms[Phase.DNS] = elapsed_ms
        for report, address in zip(
            reports_of_addresses(self.reports, name.report, len(addresses)), addresses, strict=True
        ):
            report.target = target._replace(attempt=self._number(), address=str(address))
            self._dial(report, address, name.deadline_at_ms, now_ms)

    def _name_failed(self, name: NameLookup, error: KafkaError, elapsed_ms: int) -> None:
        name.report.error, name.report.elapsed_ms, name.report.is_done = error, elapsed_ms, True

    # --- connections --------------------------------------------------------------------------------------------------

    def _dial(
        self,
        report: AddressReport,
        address: Address,
        deadline_at_ms: int,
        now_ms: int,
        *,
        instead: str | None = None,
    ) -> None:
        target = report.target
        node = Node(target.node_id, target.host, target.port)
        connection = self._factory.connection(
            self._number(), node, address, attempt=target.attempt, started_at_ms=now_ms, instead=instead
        )
        if instead is None:
            connection.progress.started_at_ms = report.started_at_ms  # the timeout includes the lookup
            report.phase = Phase.TCP
        self._attempts[connection.channel] = ProbeAttempt(
            connection, report, deadline_at_ms, is_retry=instead is not None
        )
        self._events(Started(now_ms, connection.target, Phase.TCP, self._limit_ms))
        self._channels.dial(NodeEntry(node), connection, address, deadline_at_ms)

    def _on_io(self, event: IoEvent, now_ms: int) -> None:
        attempt = self._attempts.get(event.channel)
        if attempt is None:
            return
        connection = attempt.connection
        if isinstance(event, Disconnected):
            self._failed(attempt, connection.progress.lost(event.error, now_ms), now_ms)
            return
        try:
            if isinstance(event, Received) and self._logins.holds(attempt, event.data):
                return
            if isinstance(event, Connected):
                connection.on_connected(event.local, now_ms)
            else:
                for request, response in connection.receive(event.data, now_ms):
                    self._on_answer(attempt, response, now_ms - request.sent_at_ms, now_ms)
            self._take_notes(attempt, now_ms)
            if connection.is_ready:
                self._go_on(attempt, now_ms)
        except KafkaError as error:
            self._channels.flush(connection)
            self._failed(attempt, error, now_ms)
            return
        self._channels.flush(connection)

    def _on_answer(self, attempt: ProbeAttempt, response: Response, elapsed_ms: int, now_ms: int) -> None:
        if attempt.idle is not None:
            attempt.report.idle = attempt.idle.ended(now_ms, None)
            return
        if attempt.is_retry:
            attempt.report.sasl_mechanisms = mechanisms_of(response)
            return
        assert attempt.conversation is not None
        is_first = attempt.report.view is None
        attempt.conversation.on_answer(response, elapsed_ms, now_ms)
        view = attempt.report.view
        if is_first and view is not None:
            self._redials.succeeded(attempt.report, self.reports)
            detail = f"{counted(len(view.brokers), 'broker')} of cluster {view.cluster_id}"
            self._events(PhaseDone(now_ms, attempt.connection.target, Phase.METADATA, elapsed_ms, detail))

    def _go_on(self, attempt: ProbeAttempt, now_ms: int) -> None:
        report, connection = attempt.report, attempt.connection
        if attempt.is_retry:
            self._go_on_again(attempt, now_ms)
            return
        if attempt.conversation is None:
            self._idle_expiry.connected(connection.channel, now_ms)
            self._ready[connection.channel] = attempt
            report.phase = Phase.METADATA
            is_first, self._is_surveyed = not self._is_surveyed, True
            attempt.conversation = Conversation(
                report,
                connection,
                self._on_brokers,
                self._ask_group(),
                wants_fenced=self._options.surveys,
                wants_replicas=is_first,
            )
        if connection.in_flight or attempt.conversation.check_pause(now_ms):
            return
        deadline_at_ms = self.clock.start_ms() + self._config.request_timeout_ms
        if attempt.idle is not None:
            self._done(attempt, now_ms)
        elif not attempt.conversation.ask_next(now_ms, deadline_at_ms):
            if attempt.conversation.coordinator is not None:
                self.coordinator = attempt.conversation.coordinator
            self.replicas = attempt.conversation.replicas or self.replicas
            self._asked_all(attempt, now_ms)

    def _go_on_again(self, attempt: ProbeAttempt, now_ms: int) -> None:
        if not attempt.wants_mechanisms:
            attempt.report.works_with = other_protocol(self._config.security_protocol)
        elif not attempt.is_asked:
            attempt.is_asked = True
            if ask_mechanisms(attempt.connection, now_ms, attempt.deadline_at_ms):
                return
        if not attempt.connection.in_flight:
            self._done(attempt, now_ms)

    def _asked_all(self, attempt: ProbeAttempt, now_ms: int) -> None:
        report = attempt.report
        report.elapsed_ms = now_ms - report.started_at_ms
        if self._options.idle_ms:
            attempt.idle = IdleHold(self.clock.start_ms(), self._options.idle_ms)
        else:
            self._done(attempt, now_ms)

    def _ask_group(self) -> str | None:
        if self._options.group is None or self.coordinator is not None:
            return None
        self.coordinator = CoordinatorReport(self._options.group, None, None)
        return self._options.group

    def _on_brokers(self, brokers: Sequence[Node]) -> None:
        if self._options.follow:
            for broker in brokers:
                if len(self._known) >= MOST_NODES:
                    self.left_out += (broker.host, broker.port) not in self._known
                elif self._note_node(broker):
                    self._next_nodes.append(broker)

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _failed(self, attempt: ProbeAttempt, error: KafkaError, now_ms: int) -> None:
        connection = attempt.connection
        if attempt.idle is not None:
            attempt.report.idle = attempt.idle.ended(now_ms, error)
            self._events(Lost(now_ms, connection.target, error))
            self._done(attempt, now_ms)
            return
        if attempt.is_retry:
            self._events(Closed(now_ms, connection.target, "second attempt failed"))
            self._done(attempt, now_ms)
            return
        elapsed_ms = now_ms - connection.progress.started_at_ms
        phase = Phase.METADATA if connection.is_ready else connection.progress.phase
        self._events(Failed(now_ms, connection.target, phase, elapsed_ms, error))
        self._ended_with(attempt, error, now_ms)

    def _ended_with(self, attempt: ProbeAttempt, error: KafkaError, now_ms: int) -> None:
        report = attempt.report
        self._take_notes(attempt, now_ms)
        self._done(attempt, now_ms)
        if attempt.is_retry:
            return
        if self._redials.is_redial(report):
            self._redials.schedule(report, error, now_ms)
            return
        report.error = error
        instead = ""
        if self._options.try_protocols:
            own = self._config.security_protocol
            instead = own if isinstance(error, SaslRequired) else other_protocol(own, error)
        if instead:
            report.is_done = False
            self._dial(report, _dialled(report), self.clock.start_ms() + self._limit_ms, now_ms, instead=instead)
        elif self._options.redials:
            self._redials.schedule(report, error, now_ms)

    def _done(self, attempt: ProbeAttempt, now_ms: int) -> None:
        report = attempt.report
        report.is_done = True
        if not attempt.is_retry and attempt.idle is None:
            report.elapsed_ms = now_ms - report.started_at_ms
        del self._attempts[attempt.connection.channel]
        self._ready.pop(attempt.connection.channel, None)
        self._channels.close(attempt.connection)

    def _expire(self, now_ms: int) -> None:
        for channel in self._idle_expiry.evict_connecting(now_ms):
            attempt = self._attempts[channel]
            connection = attempt.connection
            elapsed_ms = now_ms - connection.progress.started_at_ms
            error = self._logins.expired(attempt, self._limit_ms, elapsed_ms)
            error = error or connection.progress.expired(self._limit_ms, now_ms)
            self._events(
                Expired(now_ms, connection.target, connection.progress.phase, self._limit_ms, elapsed_ms, error)
            )
            self._ended_with(attempt, error, now_ms)
        for attempt in list(self._ready.values()):
            if now_ms >= attempt.next_deadline_at_ms:
                self._expire_ready(attempt, now_ms)

    def _expire_ready(self, attempt: ProbeAttempt, now_ms: int) -> None:
        connection = attempt.connection
        if attempt.conversation is not None and attempt.conversation.again_at_ms is not None:
            self._go_on(attempt, now_ms)
            self._channels.flush(connection)
            return
        if attempt.idle is not None and attempt.idle.is_due(now_ms):
            attempt.idle.is_asked = True
            deadline_at_ms = self.clock.start_ms() + self._config.request_timeout_ms
            ask_versions(connection, now_ms, deadline_at_ms)
            self._channels.flush(connection)
            return
        self._expire_request(attempt, now_ms)

    def _expire_request(self, attempt: ProbeAttempt, now_ms: int) -> None:
        connection = attempt.connection
        request = connection.in_flight.expired(now_ms)
        if request is not None:
            limit_ms = self._config.request_timeout_ms
            self._events(RequestExpired(now_ms, connection.target, request.api, request.correlation_id, limit_ms))
            if attempt.conversation is not None and attempt.conversation.on_expired():
                self._asked_all(attempt, now_ms)
                return
            waiting_for = f"waiting for the {request.api} response from {connection.target}"
            elapsed_ms = now_ms - request.sent_at_ms
            error = RequestTimeout(waiting_for, timeout_ms=limit_ms, elapsed_ms=elapsed_ms)
            error.address = connection.target.place
            self._failed(attempt, error, now_ms)

    def _take_notes(self, attempt: ProbeAttempt, now_ms: int) -> None:
        if attempt.is_retry or attempt.idle is not None:
            return
        report, connection = attempt.report, attempt.connection
        if attempt.conversation is None:
            report.phase = connection.progress.phase
        report.phases_ms.update(connection.progress.phases_ms)
        report.tls = tls_report(connection.tls_channel()) or report.tls
        report.sasl_mechanisms = connection.mechanisms_offered
        if connection.versions is not None:
            report.versions = connection.versions.ranges
            report.features = connection.versions.features
        report.elapsed_ms = now_ms - report.started_at_ms

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number


def _dialled(report: AddressReport) -> Address:
    host, _, port = report.target.address.rpartition(":")
    return Address(host.strip("[]"), int(port), host.startswith("["))
