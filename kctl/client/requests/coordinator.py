"""Coordinator: broker that coordinates a group or a transactional.id, with separate connections to it.

Brokers respond in order on each connection, so fetches, large batches, and held JoinGroups would delay heartbeats,
commits, LeaveGroup, or the end of a transaction. The network thread uses this module.
"""

from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error, code_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ClientConfig
from kctl.client.errors import BrokerError, KafkaError, LocalProtocolError, RequestTimeout, UnsupportedVersionError
from kctl.client.events import CoordinatorFound, CoordinatorLost, GroupChanged, group_logger
from kctl.client.network.in_flight import Answer, OnDone, Outgoing
from kctl.client.protocol.api.find_coordinator import FindCoordinatorResponse
from kctl.client.protocol.schema import Request
from kctl.client.requests.find_coordinator import KeyType, coordinators_in, find_coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import ELSEWHERE, RetryPause, RetryRule, retry_backoff

PROMPT = -(2**30)
"""Connection id of a consumer for requests with immediate responses: heartbeats, commits, LeaveGroup."""
HELD = PROMPT - 1
"""Connection id of a consumer for requests that the broker may hold: JoinGroup and SyncGroup."""
RECHECK_MS = 1000
"""Time without a response after which another broker is queried for the coordinator, repeatedly."""


class Coordinator:
    """Coordinator of one key. It is found when a request needs it, and found again after it was lost.

    Args:
        connections: ids of the connections to it, which no broker has; the first one shows whether it responds.
        patience_ms: minimum timeout of a request whose timeout counts against the coordinator.

    Attributes:
        key: the group.id or transactional.id.
        error: last error of the coordinator, or of finding it; None after a valid response.
        refusal: error that ends the search; the next poll resets it.
        is_recheck_pending: whether another broker was queried for the coordinator.

    Source: Java's CoordinatorRequestManager and TransactionManager. Differs: while the coordinator does not respond,
        another broker is queried every second, to leave a frozen coordinator as soon as it is replaced.
    """

    def __init__(
        self,
        config: ClientConfig,
        client: ClusterClient,
        rng: Random,
        key: str,
        rule: RetryRule,
        *,
        key_type: KeyType = KeyType.GROUP,
        connections: tuple[int, ...] = (PROMPT,),
        patience_ms: int = 0,
    ) -> None:
        self.key = key
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None
        self._name = key_type.name_of(key)
        self._key_type = key_type
        self._rule = rule
        self._connections = connections
        self._client = client
        self._request_timeout_ms = config.request_timeout_ms
        self._patience_ms = min(config.request_timeout_ms, patience_ms or config.request_timeout_ms)
        self._pause = RetryPause(retry_backoff(config, rng))
        self._node: Node | None = None
        self._found = 0
        """Number of times that a coordinator was found; responses of earlier coordinators are ignored."""
        self._is_wanted = False
        self._is_in_flight = False
        self._connect_errors: dict[int, KafkaError] = {}
        """Last error of each connection, to count each failure once."""
        self._pending: dict[int, int] = {}
        """Send time of each request on the first connection without a response, oldest first."""
        self._sent = 0
        self._connecting_since_ms: dict[int, int] = {}
        """Time since which each wanted connection is not ready."""
        self._looked_up_at_ms = 0
        self.is_recheck_pending = False
        self._next_recheck_at_ms = 0
        self._silent_id = NO_NODE
        """Coordinator that was lost because it did not respond; it is not queried for the next one."""

    # --- sending to it ----------------------------------------------------------------------------------------------

    def ready(self, connection: int | None = None) -> bool:
        """Return whether a connection (by default, the first) is ready; if not, connect."""
        if self._node is None:
            self._is_wanted = True
            return False
        if connection is None:
            connection = self._connections[0]
        network = self._client.network
        error = network.status.node_error(connection)
        if network.ready(connection):
            self._connecting_since_ms.pop(connection, None)
            return True
        if connection not in self._connecting_since_ms:
            # The error of an earlier idle connection does not prevent another attempt.
            self._connecting_since_ms[connection] = self._client.clock.now_ms()
            if error is not None:
                self._connect_errors[connection] = error
        error = network.status.node_error(connection)
        if error is not None and error is not self._connect_errors.get(connection):
            self._connect_errors[connection] = error
            self.lost(error)
        return False

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        return self._client.network.supports(connection, kind, at_least)

    def feature(self, name: str) -> int | None:
        versions = self._client.network.versions(self._connections[0]) if self._node is not None else None
        return None if versions is None else versions.features.get(name, 0)

    def outgoing(
        self, connection: int, request: Request, timeout_ms: int, on_done: OnDone, max_version: int | None = None
    ) -> Outgoing:
        """Return the request for a connection; if the connection is lost, so is the coordinator."""
        found = self._found
        self._sent = number = self._sent + 1
        if connection == self._connections[0]:
            self._pending[number] = self._client.clock.now_ms()

        def done(answer: Answer) -> None:
            self._pending.pop(number, None)
            if answer.error is not None and found == self._found and self._is_its_fault(answer.error):
                self.lost(answer.error)
            on_done(answer)

        return Outgoing(connection, request, timeout_ms, done, max_version)

    def send(self, request: Request, on_done: OnDone, max_version: int | None = None) -> None:
        self._client.send(self.outgoing(self._connections[0], request, self._request_timeout_ms, on_done, max_version))

    def check(self, code: int, action: str) -> KafkaError | None:
        """Return the error of a response code, or None; a wrong coordinator is lost.

        Args: action: imperative whose object is the name of the coordinator's key, such as `join`.
        """
        return self.noted(code_error(code, f"{action} {self._name}"))

    def noted(self, error: KafkaError | None) -> KafkaError | None:
        """Record the error of a response and return it; a wrong coordinator is lost."""
        if error is None:
            self.answered()
        elif isinstance(error, BrokerError) and error.code in ELSEWHERE:
            self.lost(error)
        return error

    def answered(self) -> None:
        self._pause.succeeded()
        self.error = None

    def lost(self, error: KafkaError) -> None:
        """Find the coordinator again, because it does not respond, or is no longer the coordinator."""
        if self._node is None:
            return
        self.error = error
        self.note(CoordinatorLost(self._client.clock.now_ms(), self._name, *self._node[:3], error))
        self._silent_id = NO_NODE if isinstance(error, BrokerError) else self._node.node_id
        self._node = None
        self.is_recheck_pending = False
        self._connecting_since_ms.clear()
        self._pending.clear()
        self._pause.failed(self._client.clock.now_ms())
        for connection in self._connections:
            self._client.network.disconnect(connection, "the client looks up the coordinator again")

    def note(self, event: GroupChanged | CoordinatorFound | CoordinatorLost) -> None:
        group_logger.info("%s", event)
        self._client.report(event)

    def recheck(self) -> None:
        """Query whether the known coordinator is current, and keep it until a broker reports another.

        With `lost`, a held JoinGroup would leave a member behind for which the group waits.
        """
        if self._node is not None:
            self.is_recheck_pending = True
            self._next_recheck_at_ms = self._client.clock.now_ms()

    @property
    def name(self) -> str:
        return f"the coordinator of {self._name}" if self._node is None else str(self._node)

    @property
    def waiting_for(self) -> str:
        node = "" if self._node is None else f" {self._node}"
        return f"waiting for the coordinator{node} of {self._name}"

    @property
    def known_error(self) -> KafkaError | None:
        """`error`; if FindCoordinator could not be sent, the last error of the network."""
        is_asked = self.error is not None or self._node is not None or self._is_in_flight
        return self.error if is_asked else self._client.failure()

    def last_error(self) -> KafkaError | None:
        """Return `error`, or the reason why the connection to the coordinator, or FindCoordinator, is not ready."""
        if self.error is not None or self._is_in_flight:
            return self.error
        if self._node is None:
            return self._client.last_error()
        return self._client.network.status.unfinished(self._connections[0])

    # --- the look-up ------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        """Return the FindCoordinator request if it is due; call this after the polls of all its users."""
        self.refusal = None
        if self._is_in_flight or (self._node is None and not self._is_wanted):
            return Poll([])
        due_at_ms = self._pause.until_ms if self._node is None else self._recheck_at_ms
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        node = self._node_to_ask()
        if node is None:
            return Poll([])
        self._is_wanted = False
        self._is_in_flight = True
        self._looked_up_at_ms = now_ms
        if self.is_recheck_pending:
            self._next_recheck_at_ms = now_ms + RECHECK_MS
        request = find_coordinator(self._key_type, [self.key], self._client.network.versions(node.node_id))
        is_for_any = self._node is None  # otherwise the silent coordinator would be queried as well
        timeout_ms = self._request_timeout_ms
        return Poll([Outgoing(node.node_id, request, timeout_ms, self._on_answer, is_for_any=is_for_any)])

    def run(self, now_ms: int) -> int:
        wanted = self.poll(now_ms)
        for each in wanted.requests:
            self._client.send(each)
        return wanted.next_deadline_at_ms

    def _node_to_ask(self) -> Node | None:
        network = self._client.network
        silent_id = self._silent_id if self._node is None else self._node.node_id
        node = network.any_ready_node(avoid=() if silent_id == NO_NODE else (silent_id,))
        if node is None and (self._node is None or self.is_recheck_pending):
            node = network.any_ready_node()
        return node

    @property
    def _recheck_at_ms(self) -> int:
        if self.is_recheck_pending:
            return self._next_recheck_at_ms
        silent_since_ms = next(iter(self._pending.values()), FOREVER_MS)
        silent_since_ms = min(silent_since_ms, self._connecting_since_ms.get(self._connections[0], FOREVER_MS))
        if silent_since_ms == FOREVER_MS:
            return FOREVER_MS
        return max(silent_since_ms, self._looked_up_at_ms) + RECHECK_MS

    def _on_answer(self, answer: Answer) -> None:
        self._is_in_flight = False
        found: Node | KafkaError
        if isinstance(answer.response, FindCoordinatorResponse):
            found = coordinators_in(answer.response, self._key_type, [self.key])[self.key]
        else:
            assert answer.error is not None
            found = answer.error
        if self._node is not None:
            if isinstance(found, Node):
                self._on_recheck(found, self._node)
        elif isinstance(found, Node):
            self._on_found(found)
        else:
            self.error = found
            if not self._rule.is_retried(found):
                self.refusal = found
            self._pause.failed(self._client.clock.now_ms())

    def _on_recheck(self, node: Node, known: Node) -> None:
        """Move to the reported coordinator if it differs; otherwise the known one keeps its full timeout."""
        self.is_recheck_pending = False
        if node[:3] != known[:3]:
            text = f"{known} is no longer the coordinator, broker {node.node_id} is"
            self.lost(broker_error(ErrorCode.NOT_COORDINATOR, f"use the coordinator of {self._name}", text))
            self._on_found(node)

    def _on_found(self, node: Node) -> None:
        self._node = node
        self._found += 1
        self.note(CoordinatorFound(self._client.clock.now_ms(), self._name, *node[:3]))
        for connection in self._connections:
            self._client.network.dedicate(Node(connection, node.host, node.port))

    def _is_its_fault(self, error: KafkaError) -> bool:
        """Return whether a request without a response counts against the coordinator.

        After a short timeout it does not, because a later request may still get a response.
        """
        if isinstance(error, UnsupportedVersionError | LocalProtocolError):
            return False
        return not isinstance(error, RequestTimeout) or error.timeout_ms >= self._patience_ms
