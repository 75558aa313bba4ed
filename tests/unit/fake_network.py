"""FakeNetwork: a NetworkClient without connections; a test says who is ready and answers what was sent."""

from collections.abc import KeysView, Sequence
from random import Random
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient, Steps
from kctl.client.config import ClientConfig
from kctl.client.errors import KafkaError
from kctl.client.events import Event, EventLog
from kctl.client.hedged_requests import HedgedRequests
from kctl.client.metadata import Metadata
from kctl.client.metadata_updater import MetadataUpdater
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.in_flight import Answer, OnDone, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.network.network_status import NetworkStatus
from kctl.client.protocol.schema import Request, Response


class SentRequest(NamedTuple):
    """One request that waits for the test to answer it."""

    node_id: int
    request: Request
    timeout_ms: int
    on_done: OnDone
    at_ms: int
    max_version: int | None

    def answer(self, response: Response, version: int = 9) -> None:
        self.on_done(Answer(self.node_id, response, None, version, 0))

    def fail(self, error: KafkaError, *, was_sent: bool = True) -> None:
        self.on_done(Answer(self.node_id, None, error, -1, 0, was_sent))


class FakeStatus(NetworkStatus):
    """Says what the test has set: `failures` by node, and the refusal that is `fatal`."""

    def __init__(self) -> None:
        self.fatal: KafkaError | None = None
        self.failures: dict[int, KafkaError] = {}

    @property
    def attempts(self) -> int:
        return 0

    @property
    def connecting(self) -> KeysView[int]:
        return dict[int, None]().keys()

    def node_error(self, node_id: int) -> KafkaError | None:
        return self.failures.get(node_id)

    def errors(self) -> list[KafkaError]:
        return list(self.failures.values())

    def unfinished(self, node_id: int | None = None) -> KafkaError | None:
        return None

    def fatal_error(self) -> KafkaError | None:
        return self.fatal

    def clear_refusals(self) -> None:
        self.fatal = None

    def activity(self) -> str:
        return "connecting"

    def throttling(self) -> list[tuple[Node, int]]:
        return []


class FakeNetwork(NetworkClient):
    """`up`: the nodes a request can be sent to; `sent`: what was, oldest first; `polls`: how long each was to wait."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.is_only_woken = False
        self.up: list[int] = []
        self.nodes: Sequence[Node] = ()
        self.node_sets: list[Sequence[Node]] = []
        self.sent: list[SentRequest] = []
        self.polls: list[int] = []
        self.unavailable = False
        self.status: FakeStatus = FakeStatus()
        backoff = ExponentialBackoff(50, 1000, Random(1))
        self.states = ClusterConnectionStates(
            backoff, backoff, setup_timeout_ms=10_000, setup_timeout_max_ms=30_000, rng=Random(1)
        )

    def set_nodes(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.node_sets.append(nodes)

    def ready(self, node_id: int) -> bool:
        return node_id in self.up

    def is_ready(self, node_id: int) -> bool:
        return node_id in self.up

    def node(self, node_id: int) -> Node:
        return next((node for node in self.nodes if node.node_id == node_id), Node(node_id, "broker.example", 9092))

    def any_ready_node(self, avoid: Sequence[int] = ()) -> Node | None:
        return next((node for node in self.nodes if node.node_id in self.up and node.node_id not in avoid), None)

    def all_unavailable(self) -> bool:
        return self.unavailable

    def send(self, outgoing: Outgoing) -> None:
        assert outgoing.node_id in self.up
        node_id, request, timeout_ms, on_done, max_version, *_ = outgoing
        self.sent.append(SentRequest(node_id, request, timeout_ms, on_done, self.clock.now_ms(), max_version))

    def next_deadline_at_ms(self) -> int:
        return FOREVER_MS

    def poll(self, until_ms: int) -> None:
        """Let the time pass that the caller is willing to wait."""
        timeout_ms = max(0, until_ms - self.clock.now_ms())
        self.polls.append(timeout_ms)
        self.clock.advance(timeout_ms)  # type: ignore[attr-defined]  # a ManualClock

    def wakeup(self) -> None:
        return

    def close(self) -> None:
        self.up = []

    def take(self) -> SentRequest:
        """Return the oldest request that was not taken yet."""
        return self.sent.pop(0)


class FakeClient(ClusterClient):
    """A ClusterClient on a FakeNetwork."""

    def __init__(self, config: ClientConfig, clock: ManualClock, metadata: Metadata) -> None:
        self.clock = clock
        self.told: list[Event] = []
        self.metadata = metadata
        self._config = config
        self._spent_ms = {}
        self._events = EventLog("", self.told.append)
        self.steps = Steps()
        self.use(FakeNetwork(clock))

    def use(self, network: FakeNetwork) -> None:
        """Stand on another network from now on."""
        self.fake = self.network = network
        self._hedged = HedgedRequests(network, self.clock)
        self._updater = MetadataUpdater(self._config, network, self._hedged, self.metadata, self.clock)
