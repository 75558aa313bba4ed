"""Coordinator: which broker coordinates a group or a transactional.id, and connections to it that carry nothing else.

Owns the look-up (FindCoordinator, to any node) and its back-off, and notices when the coordinator is elsewhere or
silent. The connections are its own because a broker answers each in order: neither fetches, large batches nor a
JoinGroup that the broker holds may delay a heartbeat, a commit, a LeaveGroup or the end of a transaction. Owned by the
network thread.
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
"""The connection of a consumer for requests that the broker answers at once: heartbeats, commits, LeaveGroup."""
HELD = PROMPT - 1
"""The connection of a consumer for requests that the broker may hold back: JoinGroup and SyncGroup."""
RECHECK_MS = 1000
"""How long the coordinator may be silent before another broker is asked, and asked again, which one coordinates."""


class Coordinator:
    """The coordinator of one key; looked up as soon as a request is to be sent to it, and again when it is lost.

    Args:
        rule: after which errors the look-up is repeated.
        connections: ids of its connections, which no broker has; silence is measured on the first.
        patience_ms: a request that timed out counts against the coordinator if its timeout was at least this long.
    Attributes:
        key: the group.id or transactional.id.
        error: the last error of it or its look-up; None once it has answered.
        refusal: an error after which the look-up is not repeated; kept for one turn of the loop, until the next poll.
        is_recheck_pending: a broker was asked whether the known coordinator is current, and has not responded yet.

    Source: Java's CoordinatorRequestManager and TransactionManager. Differs: connections of its own, two for a group
    member. While it is silent, another broker is asked every second which one coordinates, so that one that hangs is
    left as soon as it is replaced.
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
        """How often it was found: responses of an earlier one do not count for this one."""
        self._is_wanted = False
        self._is_in_flight = False
        self._connect_errors: dict[int, KafkaError] = {}
        """The last error of each connection, so that one failure is noticed once."""
        self._pending: dict[int, int] = {}
        """When each request on the first connection was sent that has no response yet, oldest first."""
        self._sent = 0
        self._connecting_since_ms: dict[int, int] = {}
        """Since when each connection is wanted and not ready."""
        self._looked_up_at_ms = 0
        self.is_recheck_pending = False
        self._next_recheck_at_ms = 0
        self._silent_id = NO_NODE
        """The coordinator that was lost because it did not answer; it would not answer the look-up either."""

    # --- sending to it ----------------------------------------------------------------------------------------------

    def ready(self, connection: int | None = None) -> bool:
        """Return whether a request can be sent on a connection now, by default the first; if not, work towards it."""
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
            # The error of an earlier connection, closed while idle, does not prevent another attempt.
            self._connecting_since_ms[connection] = self._client.clock.now_ms()
            if error is not None:
                self._connect_errors[connection] = error
        error = network.status.node_error(connection)
        if error is not None and error is not self._connect_errors.get(connection):
            self._connect_errors[connection] = error
            self.lost(error)
        return False

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        """Return whether a connection that is ready takes a request in that version or a newer one."""
        return self._client.network.supports(connection, kind, at_least)

    def feature(self, name: str) -> int | None:
        """Return the level of a finalized feature of the cluster, or None while the coordinator is not connected."""
        versions = self._client.network.versions(self._connections[0]) if self._node is not None else None
        return None if versions is None else versions.features.get(name, 0)

    def outgoing(
        self, connection: int, request: Request, timeout_ms: int, on_done: OnDone, max_version: int | None = None
    ) -> Outgoing:
        """Return the request for that connection; losing the connection on the way is noticed here."""
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
        """Send on the first connection, which is ready."""
        self._client.send(self.outgoing(self._connections[0], request, self._request_timeout_ms, on_done, max_version))

    def check(self, code: int, action: str) -> KafkaError | None:
        """Return the error of a code in a response of the coordinator, or None; note a wrong coordinator.

        Args: action: an imperative whose object is the name of the coordinator: `join`.
        """
        return self.noted(code_error(code, f"{action} {self._name}"))

    def noted(self, error: KafkaError | None) -> KafkaError | None:
        """Return the error in a response of the coordinator; a wrong coordinator is noticed here."""
        if error is None:
            self.answered()
        elif isinstance(error, BrokerError) and error.code in ELSEWHERE:
            self.lost(error)
        return error

    def answered(self) -> None:
        """Note that it answered as a coordinator does."""
        self._pause.succeeded()
        self.error = None

    def lost(self, error: KafkaError) -> None:
        """Look the coordinator up again: the known one does not answer, or is not the coordinator."""
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
            self._client.network.disconnect(connection, "the coordinator is looked up again")

    def note(self, event: GroupChanged | CoordinatorFound | CoordinatorLost) -> None:
        """Pass an event on to the event sink and to the log."""
        group_logger.info("%s", event)
        self._client.report(event)

    def recheck(self) -> None:
        """Ask whether the known coordinator is current; it stays until another one is named.

        Unlike `lost` it ends no connection: a JoinGroup that is held there would leave a member behind that no client
        has, and that the group waits for.
        """
        if self._node is not None:
            self.is_recheck_pending = True
            self._next_recheck_at_ms = self._client.clock.now_ms()

    @property
    def name(self) -> str:
        """How messages name the broker: by its address while it is known."""
        return f"the coordinator of {self._name}" if self._node is None else str(self._node)

    @property
    def waiting_for(self) -> str:
        """What a request to it has to wait for at present."""
        node = "" if self._node is None else f" {self._node}"
        return f"waiting for the coordinator{node} of {self._name}"

    @property
    def known_error(self) -> KafkaError | None:
        """Return `error`, or if no look-up could be sent, what the network knows: the last error of any node."""
        is_asked = self.error is not None or self._node is not None or self._is_in_flight
        return self.error if is_asked else self._client.failure()

    def last_error(self) -> KafkaError | None:
        """Return `error`, else what keeps a connection to it, or its look-up, from being ready."""
        if self.error is not None or self._is_in_flight:
            return self.error
        if self._node is None:
            return self._client.last_error()
        return self._client.network.status.unfinished(self._connections[0])

    # --- the look-up ------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        """Return the look-up that is due; poll it after all that may want to send to the coordinator."""
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
        is_for_any = self._node is None  # else the silent coordinator would be asked as well
        timeout_ms = self._request_timeout_ms
        return Poll([Outgoing(node.node_id, request, timeout_ms, self._on_answer, is_for_any=is_for_any)])

    def run(self, now_ms: int) -> int:
        """Send the look-up that is due; return when to run again at the latest."""
        wanted = self.poll(now_ms)
        for each in wanted.requests:
            self._client.send(each)
        return wanted.next_deadline_at_ms

    def _node_to_ask(self) -> Node | None:
        """Return a node that is ready, another one than a silent coordinator where possible."""
        network = self._client.network
        silent_id = self._silent_id if self._node is None else self._node.node_id
        node = network.any_ready_node(avoid=() if silent_id == NO_NODE else (silent_id,))
        if node is None and (self._node is None or self.is_recheck_pending):
            node = network.any_ready_node()
        return node

    @property
    def _recheck_at_ms(self) -> int:
        """When to check whether the known coordinator is current: it is silent, and may stay so."""
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
        """Move to another coordinator at once if there is one; else the known one keeps its full timeout."""
        self.is_recheck_pending = False
        if node[:3] != known[:3]:
            text = f"{known} is no longer the coordinator, node {node.node_id} is"
            self.lost(broker_error(ErrorCode.NOT_COORDINATOR, f"use the coordinator of {self._name}", text))
            self._on_found(node)

    def _on_found(self, node: Node) -> None:
        self._node = node
        self._found += 1
        self.note(CoordinatorFound(self._client.clock.now_ms(), self._name, *node[:3]))
        for connection in self._connections:
            self._client.network.dedicate(Node(connection, node.host, node.port))

    def _is_its_fault(self, error: KafkaError) -> bool:
        """Return whether a request that ended without a response counts against the coordinator.

        One that a call gave a short time only ends its connection; a later one may still be answered in time.
        """
        if isinstance(error, UnsupportedVersionError | LocalProtocolError):
            return False
        return not isinstance(error, RequestTimeout) or error.timeout_ms >= self._patience_ms
