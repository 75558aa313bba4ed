"""ScriptedCluster: scripted nodes with a network client or a prober, in virtual time."""

from collections.abc import Callable
from typing import TypeVar

from kctl.client.cluster import Node
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError
from kctl.client.events import Event
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.probe.prober import ProbeOptions, Prober
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.schema import Response
from kctl.sandbox.faults import Fault
from tests.sim.kit.cluster import dotted
from tests.sim.kit.scripted_node import ScriptedNode
from tests.sim.virtual import Hub, LinkProfile, SimNetwork, SimResolver, sim_runtime

E = TypeVar("E", bound=Event)


class ScriptedCluster:
    """Addresses with scripted nodes on a simulated network, and the events of its one client."""

    def __init__(
        self,
        hub: Hub,
        *,
        latency_ms: int = 1,
        network: SimNetwork | None = None,
        resolver: SimResolver | None = None,
    ) -> None:
        self.hub = hub
        self.network = network or SimNetwork(hub, LinkProfile(latency_ms=latency_ms))
        self.resolver = resolver or SimResolver(hub)
        self.runtime = sim_runtime(hub, "app", self.network, self.resolver)
        self.nodes: list[ScriptedNode] = []
        self.events: list[Event] = []

    def listen(self, ip: str, fault: Fault | None = None) -> ScriptedNode:
        """Return a node at this address, port 9092."""
        node = ScriptedNode()
        if fault is not None:
            node.faults.start(fault)
        self.nodes.append(node)
        self.network.listen(ip, 9092, node)
        return node

    def seen(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


class NetworkClientCluster(ScriptedCluster):
    """`nodes` scripted nodes at 10.0.0.1, 10.0.0.2, ... and one client that knows them as bootstrap servers."""

    def __init__(self, hub: Hub, nodes: int = 1, *, latency_ms: int = 1, **properties: object) -> None:
        super().__init__(hub, latency_ms=latency_ms)
        ips = [f"10.0.0.{number}" for number in range(1, nodes + 1)]
        for ip in ips:
            self.listen(ip)
        servers = ",".join(f"{ip}:9092" for ip in ips)
        config = AdminConfig.parse({"bootstrap.servers": servers, **dotted(properties)})
        self.client = NetworkClient(config, self.runtime, events=self.events.append)
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
        """Send a Metadata request. The response will be in the returned list."""
        answers: list[Answer] = []
        self.client.send(Outgoing(node_id, MetadataRequest(), timeout_ms, answers.append))
        return answers

    def fetch_metadata(self, *, until_ms: int = 60_000) -> Response | KafkaError | None:
        """Request metadata from any node. Return the response, its error, or None after the timeout."""
        if not self.connect_any(until_ms=until_ms):
            return None
        node = self.client.any_ready_node()
        assert node is not None
        answers = self.ask(node.node_id)
        self.poll_until(lambda: bool(answers), until_ms=until_ms)
        return (answers[0].response or answers[0].error) if answers else None


class ProbedCluster(ScriptedCluster):
    """Addresses for one round of a prober; hosts without a port are probed at 9092."""

    def begin(self, *hosts: str, **options: object) -> Prober:
        """Return a prober of these hosts that has not been polled."""
        nodes = [Node(-number, *split(host)) for number, host in enumerate(hosts, 1)]
        return Prober(
            AdminConfig.parse(PROBE_CONFIG),
            self.runtime,
            nodes,
            events=self.events.append,
            options=ProbeOptions(**options),  # type: ignore[arg-type]  # passed on
        )

    def run(self, *hosts: str, until_ms: int = 60_000, **options: object) -> Prober:
        """Probe these hosts to the end, or until an instant, and return the closed prober."""
        prober = self.begin(*hosts, **options)
        while not prober.is_done and self.hub.now_ms < until_ms:
            prober.poll(until_ms)
        prober.close("the deadline passed")
        self.hub.run(self.hub.now_ms + 10)
        assert self.network.open_connections == 0
        return prober


PROBE_CONFIG = {"bootstrap.servers": "unused:1", "connections.timeout.ms": 2000, "request.timeout.ms": 3000}


def split(place: str) -> tuple[str, int]:
    host, _, port = place.partition(":")
    return host, int(port or 9092)


def is_metadata(found: object) -> bool:
    return isinstance(found, MetadataResponse)
