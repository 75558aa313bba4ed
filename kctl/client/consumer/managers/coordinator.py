"""Coordinator: which broker keeps the group, and two connections to it that nothing else uses.

Owns the look-up (FindCoordinator, to any node) and its back-off, and notices when the coordinator is elsewhere. Two
connections, because a broker answers each in order: JoinGroup and SyncGroup are held until all members are there, and
neither they nor the long waits of fetching may hold up a heartbeat, a commit or the goodbye.
Shown by tests/unit/consumer/test_coordinator.py.
"""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.managers.leaders import may_pass
from kctl.client.consumer.managers.requests import Outgoing, Poll
from kctl.client.errors import BrokerError, KafkaError, LocalProtocolError, RequestTimeout, UnsupportedVersionError
from kctl.client.network.in_flight import Answer, OnDone
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.schema import Request

PROMPT = -(2**30)
"""The connection of what is answered at once: heartbeats, commits, LeaveGroup."""
HELD = PROMPT - 1
"""The connection of what the broker may hold back: JoinGroup and SyncGroup."""
GROUP = 0
"""FindCoordinator's key type of groups."""
FIRST_VERSION_WITH_KEYS = 4
SECOND_LOOK_MS = 1000
"""So long it may be silent before another node is asked, and asked again, who coordinates."""

ELSEWHERE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""Codes that mean that the broker asked is not, or no longer, the coordinator."""


class Coordinator:
    """The coordinator of one group; looked for as soon as somebody wants to send to it, and again when it is lost.

    Attributes:
        group_id: whose coordinator it is.
        error: the last thing that went wrong with it; None while it is known and answers.
        refusal: an error of the look-up that trying again does not cure; it is there for one turn of the loop.
        is_doubted: it was asked whether the one we know is still the one, and there is no answer yet.

    Source: Java's CoordinatorRequestManager. Differs: two connections instead of one. While it is silent, another node
    is asked every second who coordinates, so that one that stands still is left as soon as it is replaced.
    """

    def __init__(self, config: ConsumerConfig, group_id: str, client: ClusterClient, chance: Random) -> None:
        self.group_id = group_id
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None
        self._client = client
        self._request_timeout_ms = config.request_timeout_ms
        self._patience_ms = min(config.request_timeout_ms, config.session_timeout_ms // 2)
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, chance)
        self._node: Node | None = None
        self._found = 0
        """How often it was found: answers on connections to an earlier one say nothing about this one."""
        self._is_wanted = False
        self._is_in_flight = False
        self._failures = 0
        self._retry_at_ms = 0
        self._connect_errors: dict[int, KafkaError] = {}
        """The last error of each connection, so that one failure is noticed once."""
        self._unanswered: dict[int, int] = {}
        """When each request on PROMPT was sent that has no answer yet, oldest first."""
        self._sent = 0
        self._connecting_since_ms: dict[int, int] = {}
        """Since when each connection is wanted and not ready."""
        self._looked_at_ms = 0
        self.is_doubted = False
        self._doubt_at_ms = 0
        self._silent_id = NO_NODE
        """Who was lost because it did not answer; it would not answer the look-up either."""

    # --- for those who send to it -----------------------------------------------------------------------------------

    def ready(self, connection: int) -> bool:
        """Return whether a request can be sent on PROMPT or HELD now; if not, work towards it."""
        if self._node is None:
            self._is_wanted = True
            return False
        network = self._client.network
        error = network.node_error(connection)
        if network.ready(connection):
            self._connecting_since_ms.pop(connection, None)
            return True
        if connection not in self._connecting_since_ms:
            # How an earlier connection ended, idle as it was, does not keep us from making another one.
            self._connecting_since_ms[connection] = self._client.clock.now_ms()
            if error is not None:
                self._connect_errors[connection] = error
        error = network.node_error(connection)
        if error is not None and error is not self._connect_errors.get(connection):
            self._connect_errors[connection] = error
            self.lost(error)
        return False

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        """Return whether a connection that is ready takes a request in that version or a newer one."""
        versions = self._client.network.versions(connection)
        return versions is None or versions.supports(kind, at_least)

    def outgoing(
        self, connection: int, request: Request, timeout_ms: int, on_done: OnDone, max_version: int | None = None
    ) -> Outgoing:
        """Return the request for that connection; losing the connection on the way is noticed here."""
        found = self._found
        self._sent = number = self._sent + 1
        if connection == PROMPT:
            self._unanswered[number] = self._client.clock.now_ms()

        def done(answer: Answer) -> None:
            self._unanswered.pop(number, None)
            if answer.error is not None and found == self._found and self._is_its_fault(answer.error):
                self.lost(answer.error)
            on_done(answer)

        return Outgoing(connection, request, timeout_ms, done, max_version)

    def check(self, code: int, what: str) -> KafkaError | None:
        """Return the error of a code in an answer of the coordinator, or None; a wrong coordinator is noticed here."""
        if code == ErrorCode.NONE:
            self._failures = 0
            self.error = None
            return None
        error = broker_error(code, f"{what} of group {self.group_id}")
        if code in ELSEWHERE:
            self.lost(error)
        return error

    def lost(self, error: KafkaError) -> None:
        """Look for the coordinator anew: the one we know does not answer, or is not the one."""
        if self._node is None:
            return
        self.error = error
        self._silent_id = NO_NODE if isinstance(error, BrokerError) else self._node.node_id
        self._node = None
        self.is_doubted = False
        self._connecting_since_ms.clear()
        self._unanswered.clear()
        self._wait_before_next()
        for connection in (PROMPT, HELD):
            self._client.network.disconnect(connection, "the coordinator is looked for anew")

    def doubt(self) -> None:
        """Ask whether the one we know is still the one; it stays until another one is named.

        Unlike `lost` it ends no connection: a JoinGroup that is held there would leave a member behind that nobody is,
        and for which the group waits.
        """
        if self._node is not None:
            self.is_doubted = True
            self._doubt_at_ms = self._client.clock.now_ms()

    @property
    def waiting_for(self) -> str:
        """What a request to it has to wait for at present."""
        if self._node is None:
            return f"waiting for the coordinator of group {self.group_id}"
        return f"waiting for the coordinator {self._node} of group {self.group_id}"

    # --- the look-up ------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        """Send the look-up that somebody wants; polled after all who may want it."""
        self.refusal = None
        if self._is_in_flight or (self._node is None and not self._is_wanted):
            return Poll([])
        due_at_ms = self._retry_at_ms if self._node is None else self._second_look_at_ms
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        node = self._whom_to_ask()
        if node is None:
            return Poll([])
        self._is_wanted = False
        self._is_in_flight = True
        self._looked_at_ms = now_ms
        versions = self._client.network.versions(node.node_id)
        has_keys = versions is None or versions.supports(FindCoordinatorRequest, FIRST_VERSION_WITH_KEYS)
        request = FindCoordinatorRequest(key_type=GROUP)
        if has_keys:
            request.coordinator_keys = [self.group_id]
        else:
            request.key = self.group_id
        if self.is_doubted:
            self._doubt_at_ms = now_ms + SECOND_LOOK_MS
        is_for_any = self._node is None  # else whoever is silent is known, and is not to be asked
        timeout_ms = self._request_timeout_ms
        return Poll([Outgoing(node.node_id, request, timeout_ms, self._on_answer, is_for_any=is_for_any)])

    def _whom_to_ask(self) -> Node | None:
        """Return a node that is ready, another one than a silent coordinator where there is one."""
        network = self._client.network
        silent_id = self._silent_id if self._node is None else self._node.node_id
        others = [node for node in self._client.metadata.cluster.nodes if node.node_id != silent_id]
        ready = next((node for node in others if network.is_ready(node.node_id)), None)
        if self._node is None:
            return network.any_ready_node() if ready is None or silent_id == NO_NODE else ready
        if ready is None and others:
            network.ready(others[0].node_id)  # so that there is one the next time
        if ready is None and self.is_doubted:
            return network.any_ready_node()
        return ready

    @property
    def _second_look_at_ms(self) -> int:
        """When to ask whether the one we know is still the one: it is silent, and may stand still for ever."""
        if self.is_doubted:
            return self._doubt_at_ms
        silent_since_ms = next(iter(self._unanswered.values()), FOREVER_MS)
        silent_since_ms = min(silent_since_ms, self._connecting_since_ms.get(PROMPT, FOREVER_MS))
        if silent_since_ms == FOREVER_MS:
            return FOREVER_MS
        return max(silent_since_ms, self._looked_at_ms) + SECOND_LOOK_MS

    def _on_answer(self, answer: Answer) -> None:
        self._is_in_flight = False
        if self._node is not None:
            self._on_second_look(answer, self._node)
            return
        error = answer.error
        if isinstance(answer.response, FindCoordinatorResponse):
            found = answer.response.coordinators[0] if answer.response.coordinators else answer.response
            if found.error_code == ErrorCode.NONE:
                self._on_found(Node(found.node_id, found.host, found.port))
                return
            error = broker_error(found.error_code, f"FindCoordinator of group {self.group_id}")
        assert error is not None
        self.error = error
        if not may_pass(error):
            self.refusal = error
        self._wait_before_next()

    def _on_second_look(self, answer: Answer, known: Node) -> None:
        """Go to another coordinator at once if there is one; else the one we know gets all the time that it has."""
        if not isinstance(answer.response, FindCoordinatorResponse):
            return
        found = answer.response.coordinators[0] if answer.response.coordinators else answer.response
        if found.error_code != ErrorCode.NONE:
            return
        self.is_doubted = False
        if (found.node_id, found.host, found.port) != known[:3]:
            text = f"{known} was asked, and node {found.node_id} coordinates now"
            self.lost(broker_error(ErrorCode.NOT_COORDINATOR, f"FindCoordinator of group {self.group_id}", text))
            self._on_found(Node(found.node_id, found.host, found.port))

    def _on_found(self, node: Node) -> None:
        self._node = node
        self._found += 1
        for connection in (PROMPT, HELD):
            self._client.network.dedicate(Node(connection, node.host, node.port))

    def _wait_before_next(self) -> None:
        self._retry_at_ms = self._client.clock.now_ms() + self._backoff.backoff_ms(self._failures)
        self._failures += 1

    def _is_its_fault(self, error: KafkaError) -> bool:
        """Return whether a request that ended without an answer says something about the coordinator.

        One that a call gave a short time only ends its connection; what it wanted may still be done in time.
        """
        if isinstance(error, UnsupportedVersionError | LocalProtocolError):
            return False
        return not isinstance(error, RequestTimeout) or error.timeout_ms >= self._patience_ms
