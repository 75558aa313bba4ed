"""A network client among scripted nodes, in virtual time."""

from collections.abc import Callable
from typing import TypeVar

from kctl.client.cluster import Node
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError
from kctl.client.events import Event
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.schema import Response
from tests.sim.network.scripted_node import ScriptedNode
from tests.sim.virtual import Hub, LinkProfile, SimNetwork, SimResolver, sim_runtime

E = TypeVar("E", bound=Event)


class Bench:
    """`nodes` scripted nodes at 10.0.0.1, 10.0.0.2, ... and one client that knows them as bootstrap servers."""

    def __init__(self, hub: Hub, nodes: int = 1, *, latency_ms: int = 1, **properties: object) -> None:
        self.hub = hub
        self.network = SimNetwork(hub, LinkProfile(latency_ms=latency_ms))
        self.resolver = SimResolver(hub)
        self.nodes = [ScriptedNode() for _ in range(nodes)]
        for number, node in enumerate(self.nodes, 1):
            self.network.listen(f"10.0.0.{number}", 9092, node)
        self.events: list[Event] = []
        servers = ",".join(f"10.0.0.{number}:9092" for number in range(1, nodes + 1))
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = AdminConfig.parse({"bootstrap.servers": servers, **given})
        runtime = sim_runtime(hub, "app", self.network, self.resolver)
        self.client = NetworkClient(config, runtime, events=self.events.append)
        entries = enumerate(config.bootstrap_servers, 1)
        self.client.set_nodes([Node(-number, entry.host, entry.port) for number, entry in entries])
        self.polls = 0

    def poll_until(self, condition: Callable[[], bool], *, until_ms: int) -> bool:
        """Poll as an API call does: until the condition holds or its time is up."""
        while not condition():
            if self.client.clock.now_ms() >= until_ms:
                return False
            self.polls += 1
            self.client.poll(until_ms)
        return True

    def connect(self, node_id: int = -1, *, until_ms: int = 60_000) -> bool:
        """Work towards a connection to one node."""
        return self.poll_until(lambda: self.client.ready(node_id), until_ms=until_ms)

    def connect_any(self, *, until_ms: int = 60_000) -> bool:
        """Work towards a connection to any node."""
        return self.poll_until(lambda: self.client.any_ready_node() is not None, until_ms=until_ms)

    def ask(self, node_id: int = -1, *, timeout_ms: int = 1000) -> list[Answer]:
        """Send a Metadata request; the answer will be in the list."""
        answers: list[Answer] = []
        self.client.send(Outgoing(node_id, MetadataRequest(), timeout_ms, answers.append))
        return answers

    def fetch_metadata(self, *, until_ms: int = 60_000) -> Response | KafkaError | None:
        """Ask any node for metadata and return the answer, its error, or None when the time was up."""
        if not self.connect_any(until_ms=until_ms):
            return None
        node = self.client.any_ready_node()
        assert node is not None
        answers = self.ask(node.node_id)
        self.poll_until(lambda: bool(answers), until_ms=until_ms)
        return (answers[0].response or answers[0].error) if answers else None

    def seen(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


def is_metadata(found: object) -> bool:
    return isinstance(found, MetadataResponse)
