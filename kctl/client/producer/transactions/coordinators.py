"""CoordinatorLink: which broker coordinates a transactional.id or a group, and a connection to it of our own.

Owns the look-up and its back-off, and notices when the coordinator is elsewhere or silent. The connection carries
nothing else, so that neither large batches nor a leader's slow acknowledgement hold up the end of a transaction.
Owned by the network loop. Shown by tests/unit/producer/transactions/test_coordinators.py.

Source: Java's TransactionManager. Differs: a connection of its own, and while the coordinator is silent, another broker
is asked every second who coordinates, so that one that stands still is left as soon as it is replaced.
"""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer, OnDone, Outgoing
from kctl.client.producer.transactions.error_table import Meaning, meaning
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.schema import Request

OF_TRANSACTIONS, OF_GROUPS = 1, 0
"""FindCoordinator's key types."""
KIND = {OF_TRANSACTIONS: "transaction coordinator", OF_GROUPS: "coordinator of group"}
CONNECTIONS = {OF_TRANSACTIONS: -(2**30), OF_GROUPS: -(2**30) - 1}
"""The ids of the connections, which no broker has."""
FIRST_VERSION_WITH_KEYS = 4
SECOND_LOOK_MS = 1000
"""So long it may be silent before another broker is asked, and asked again, who coordinates."""


class CoordinatorLink:
    """The coordinator of one key, looked for as soon as somebody wants to send to it.

    Attributes:
        error: the last thing that went wrong with it; None once it has answered.
        refusal: an error of the look-up that no repeat cures; whoever needs the coordinator takes it with `refused`.
    """

    def __init__(self, config: ProducerConfig, client: ClusterClient, chance: Random, key_type: int, key: str) -> None:
        self.key = key
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None
        self._key_type = key_type
        self._connection = CONNECTIONS[key_type]
        self._client = client
        self._request_timeout_ms = config.request_timeout_ms
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, chance)
        self._node: Node | None = None
        self._silent_id = NO_NODE
        """The coordinator that did not answer: it is not asked who coordinates."""
        self._is_wanted = False
        self._is_asking = False
        self._failures = 0
        self._retry_at_ms = 0
        self._looked_at_ms = 0
        self._silent_since_ms = FOREVER_MS
        self._noticed: KafkaError | None = None
        """The error of the connection for which it was last left, so that one failure is noticed once."""
        self._found = 0
        """How often it was found: answers of an earlier one say nothing about this one."""

    # --- for who sends to it --------------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Return whether a request can be sent now; if not, work towards it."""
        if self._node is None:
            self._is_wanted = True
            return False
        network = self._client.network
        if network.ready(self._connection):
            return True
        self._silent_since_ms = min(self._silent_since_ms, self._client.clock.now_ms())
        error = network.node_error(self._connection)
        if error is not None and error is not self._noticed:
            self.lost(error)
        return False

    def send(self, request: Request, on_done: OnDone, max_version: int | None = None) -> None:
        """Send to the coordinator, which is ready; an end without an answer makes it be looked for anew."""
        found = self._found
        self._silent_since_ms = self._client.clock.now_ms()

        def done(answer: Answer) -> None:
            if found == self._found:
                self._silent_since_ms = FOREVER_MS
                if answer.error is not None and meaning("FindCoordinator", answer.error) is Meaning.RETRY:
                    self._silent_id = NO_NODE if self._node is None else self._node.node_id
                    self.lost(answer.error)
            on_done(answer)

        self._client.send(Outgoing(self._connection, request, self._request_timeout_ms, done, max_version))

    def answered(self) -> None:
        """Note that it answered as a coordinator does."""
        self._failures = 0
        self.error = None
        self._silent_id = NO_NODE

    def lost(self, error: KafkaError) -> None:
        """Look for the coordinator anew: the one we know does not answer, or is not the one."""
        if self._node is None:
            return
        self.error = self._noticed = error
        self._node = None
        self._found += 1
        self._silent_since_ms = FOREVER_MS
        self._wait_before_next()
        self._client.network.disconnect(self._connection, "the coordinator is looked for anew")

    def refused(self) -> KafkaError | None:
        """Take the error of a look-up that no repeat cures."""
        error, self.refusal = self.refusal, None
        return error

    def feature(self, name: str) -> int | None:
        """Return the level of a finalized feature of the cluster, or None while the coordinator is not connected."""
        versions = self._client.network.versions(self._connection) if self._node is not None else None
        return None if versions is None else versions.features.get(name, 0)

    @property
    def waiting_for(self) -> str:
        """What a request to it has to wait for at present."""
        if self._node is None:
            return f"looking for the {KIND[self._key_type]} {self.key}"
        return f"waiting for a connection to node {self._node.node_id}, the {KIND[self._key_type]} {self.key}"

    # --- the look-up ----------------------------------------------------------------------------------------------

    def run(self, now_ms: int) -> int:
        """Ask who coordinates if that is due; return when to run again at the latest."""
        if self._is_asking or (self._node is None and not self._is_wanted):
            return FOREVER_MS
        due_at_ms = self._retry_at_ms
        if self._node is not None:
            if self._silent_since_ms == FOREVER_MS:
                return FOREVER_MS
            due_at_ms = max(self._silent_since_ms, self._looked_at_ms) + SECOND_LOOK_MS
        if now_ms < due_at_ms:
            return due_at_ms
        avoid = self._silent_id if self._node is None else self._node.node_id
        node = self._client.network.any_ready_node(avoid=() if avoid == NO_NODE else (avoid,))
        if node is None and self._node is None:
            node = self._client.network.any_ready_node()
        if node is None:
            return FOREVER_MS
        self._is_wanted, self._is_asking = False, True
        self._looked_at_ms = now_ms
        versions = self._client.network.versions(node.node_id)
        request = FindCoordinatorRequest(key_type=self._key_type)
        if versions is None or versions.supports(FindCoordinatorRequest, FIRST_VERSION_WITH_KEYS):
            request.coordinator_keys = [self.key]
        else:
            request.key = self.key
        self._client.send(Outgoing(node.node_id, request, self._request_timeout_ms, self._on_answer, is_for_any=True))
        return FOREVER_MS

    def _on_answer(self, answer: Answer) -> None:
        self._is_asking = False
        found = answer.response
        if isinstance(found, FindCoordinatorResponse):
            entry = found.coordinators[0] if found.coordinators else found
            if entry.error_code == ErrorCode.NONE:
                self._on_found(Node(entry.node_id, entry.host, entry.port))
                return
            error: KafkaError = broker_error(entry.error_code, f"FindCoordinator of {self.key}", entry.error_message)
        else:
            assert answer.error is not None
            error = answer.error
        if self._node is not None:
            return  # a second look that told nothing: the one we know gets all the time that it has
        self.error = error
        if meaning("FindCoordinator", error) is not Meaning.RETRY:
            self.refusal = error
        self._wait_before_next()

    def _on_found(self, node: Node) -> None:
        if self._node is not None:
            if self._node[:3] == node[:3]:
                return
            text = f"{self._node} was silent, and node {node.node_id} coordinates now"
            self.lost(broker_error(ErrorCode.NOT_COORDINATOR, f"FindCoordinator of {self.key}", text))
        self._node = node
        self._client.network.dedicate(Node(self._connection, node.host, node.port))

    def _wait_before_next(self) -> None:
        self._retry_at_ms = self._client.clock.now_ms() + self._backoff.backoff_ms(self._failures)
        self._failures += 1
