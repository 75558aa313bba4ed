"""NetworkStatus: reasons why a client cannot send: errors, running attempts, and refusals that end calls early.

It serves messages and decisions of callers, and changes no connection.
"""

from collections.abc import KeysView

from kctl.client.clock import Clock
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.network import connect_errors
from kctl.client.network.advertised import AdvertisedAddresses
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.dialer import Dialer
from kctl.client.network.node_list import NodeList
from kctl.client.network.refusals import Acceptance, BootstrapRefusal
from kctl.client.network.request_table import RequestTable


class NetworkStatus:
    def __init__(
        self,
        clock: Clock,
        nodes: NodeList,
        states: ClusterConnectionStates,
        dialer: Dialer,
        advertised: AdvertisedAddresses,
        acceptance: Acceptance,
        requests: RequestTable,
        bootstrap_refusal: BootstrapRefusal,
    ) -> None:
        self._clock = clock
        self._nodes = nodes
        self._states = states
        self._dialer = dialer
        self._advertised = advertised
        self._acceptance = acceptance
        self._requests = requests
        self._bootstrap_refusal = bootstrap_refusal

    @property
    def attempts(self) -> int:
        return self._dialer.attempts

    @property
    def connecting(self) -> KeysView[int]:
        """Ids of the nodes with a running attempt, as a live view."""
        return self._dialer.connecting

    def node_error(self, node_id: int) -> KafkaError | None:
        return self._states.error(node_id) or self._advertised.error(node_id)

    def has_heard(self, node_id: int, asked_at_ms: int) -> bool:
        """Return whether the node has sent bytes on a ready connection since `asked_at_ms`."""
        entry = self._nodes.entries.get(node_id)
        return entry is not None and entry.heard_at_ms >= asked_at_ms

    def errors(self) -> list[KafkaError]:
        """Return the last error of each node, latest phase first; any thread."""
        advertised = self._advertised.errors
        found = [error for node_id in list(self._nodes.entries) if (error := self._states.error(node_id)) is not None]
        return connect_errors.furthest_first([*found, *(error for error in advertised if error not in found)])

    def unfinished(self, node_id: int | None = None) -> KafkaError | None:
        """Return the error of the oldest running attempt, for a caller whose deadline has passed; any thread."""
        return self._dialer.unfinished(self._clock.now_ms(), node_id)

    def fatal_error(self) -> KafkaError | None:
        """Return an error that waiting cannot fix, or None: a refusal of a client that no broker has accepted."""
        if self._acceptance.is_final:
            return None
        members = self._nodes.members()
        error = self._acceptance.fatal_error(members)
        if error is not None or self._acceptance.is_given:
            return error
        return self._bootstrap_refusal.error((entry.node.node_id for entry in members), self._clock.now_ms())

    def clear_refusals(self) -> None:
        """Allow another attempt to connect to nodes that refused the client, for a new call."""
        self._bootstrap_refusal.clear()
        for node_id in self._nodes.entries:
            self._states.clear_refusal(node_id)

    def activity(self) -> str:
        """Return what the network waits for, as a part of the time in a timeout error."""
        if self._requests.in_flight:
            return "waiting for a response"
        if self._dialer.is_busy:
            return "dns" if self._dialer.is_resolving else "connecting"
        if not self._requests.throttled_until_ms:
            return "back-off"
        throttling = [str(node) for node, _ in self.throttling()]
        return f"throttled by {', '.join(throttling)}" if throttling else "back-off"

    def throttling(self) -> list[tuple[Node, int]]:
        """Return the connected brokers that throttle this client, with the remaining ms."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._requests.throttled_until_ms:
            return []
        connected = [entry for entry in self._nodes.entries.values() if entry.connection is not None]
        left_ms = [(entry.node, entry.throttled_until_ms - now_ms) for entry in connected]
        return [(node, ms) for node, ms in left_ms if ms > 0]
