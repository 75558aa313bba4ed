"""MetadataUpdater: sends due metadata requests to any broker, and returns to bootstrap.servers if needed (rebootstrap).

Source: KIP-899 and KIP-1102. Differs: the trigger of KIP-1102 counts from the first failed refresh instead of the last
success, so a single failure of a client with rare refreshes has no effect.
"""

from collections.abc import Sequence

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.errors import BrokerError, KafkaError, RemoteProtocolError
from kctl.client.hedged_requests import HedgedRequest, HedgedRequests
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.protocol.api.metadata import MetadataResponse


class MetadataUpdater:
    def __init__(
        self, config: ClientConfig, network: NetworkClient, hedged: HedgedRequests, metadata: Metadata, clock: Clock
    ) -> None:
        self._network = network
        self._hedged = hedged
        self._metadata = metadata
        self._clock = clock
        self._request_timeout_ms = config.request_timeout_ms
        self._may_rebootstrap = config.metadata_recovery_strategy == "rebootstrap"
        self._trigger_ms = config.metadata_recovery_rebootstrap_trigger_ms
        self._bootstrap = bootstrap_nodes(config)
        self._nodes: Sequence[Node] = self._bootstrap
        self._seen_failures = 0
        self._request: HedgedRequest | None = None
        self._sources: tuple[int, ...] = ()
        """Brokers that got the last refresh request."""
        network.set_nodes(self._bootstrap)

    @property
    def is_in_flight(self) -> bool:
        return self._request is not None

    @property
    def asked(self) -> list[str]:
        return [] if self._request is None else [str(self._network.node(node_id)) for node_id in self._request.asked]

    def run(self, now_ms: int) -> int:
        """Do due work; return the time of the next call, unless I/O comes earlier."""
        if self._request is not None:
            return FOREVER_MS
        if self._metadata.failing_since_ms is not None:
            self._rebootstrap_if_due(now_ms)
        if self._network.states.failures != self._seen_failures:
            self._refresh_after_failures()
        due_at_ms = self._metadata.due_at_ms()
        if due_at_ms > now_ms:
            return due_at_ms
        node = self._source()
        if node is not None:
            self._send(node, now_ms)
            return FOREVER_MS
        if self._network.all_unavailable():
            if self._may_rebootstrap and self._nodes is not self._bootstrap:
                self._rebootstrap()
                return now_ms
            self._note_failure(now_ms)
        return self._trigger_at_ms()

    def _source(self) -> Node | None:
        node = self._network.any_ready_node(self._sources) if self._metadata.is_source_doubted else None
        return node or self._network.any_ready_node()

    def _refresh_after_failures(self) -> None:
        self._seen_failures = self._network.states.failures
        if self._nodes is not self._bootstrap:
            self._metadata.request_update()

    def _send(self, node: Node, now_ms: int) -> None:
        self._metadata.is_source_doubted = False
        request = self._metadata.begin(now_ms)
        self._request = self._hedged.send(Outgoing(node.node_id, request, self._request_timeout_ms, self._on_done))

    def _on_done(self, answer: Answer) -> None:
        if self._request is not None:
            self._sources = tuple(self._request.asked)
        self._request = None
        now_ms = self._clock.now_ms()
        if isinstance(answer.response, MetadataResponse):
            if self._metadata.apply(answer.response, now_ms):
                self._nodes = tuple(self._metadata.cluster.nodes.values())
                self._network.set_nodes(self._nodes)
            elif _asks_to_rebootstrap(self._metadata.last_error) and self._may_rebootstrap:
                self._rebootstrap()
        else:
            self._metadata.failed(answer.error or RemoteProtocolError("no response", api="Metadata"), now_ms)

    # --- starting again -----------------------------------------------------------------------------------------------

    def _note_failure(self, now_ms: int) -> None:
        if self._metadata.failing_since_ms is None:
            self._metadata.failing_since_ms = now_ms

    def _trigger_at_ms(self) -> int:
        failing_since_ms = self._metadata.failing_since_ms
        if not self._may_rebootstrap or failing_since_ms is None or self._nodes is self._bootstrap:
            return FOREVER_MS
        return failing_since_ms + self._trigger_ms

    def _rebootstrap_if_due(self, now_ms: int) -> None:
        if now_ms >= self._trigger_at_ms():
            self._rebootstrap()

    def _rebootstrap(self) -> None:
        self._nodes = self._bootstrap
        self._metadata.rebootstrapped()
        self._network.set_nodes(self._bootstrap)


def bootstrap_nodes(config: ClientConfig) -> tuple[Node, ...]:
    """Return the servers of bootstrap.servers as nodes with the ids -1, -2, ..."""
    return tuple(Node(-1 - i, entry.host, entry.port) for i, entry in enumerate(config.bootstrap_servers))


def _asks_to_rebootstrap(error: KafkaError | None) -> bool:
    return isinstance(error, BrokerError) and error.code == ErrorCode.REBOOTSTRAP_REQUIRED
