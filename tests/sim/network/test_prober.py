"""The prober in virtual time: every address of every node to its end, all at once, each with its own outcome."""

from kctl.client.cluster import Node
from kctl.client.config import AdminConfig
from kctl.client.errors import ConnectionRefused, DnsError
from kctl.client.events import Closed, Event, Expired, Failed, Phase, Ready
from kctl.client.network.prober import Prober
from kctl.sandbox.faults import Fault
from kctl.sandbox.sim import Hub, SimNetwork, SimResolver, sim_runtime
from tests.sim.network.scripted_node import ScriptedNode


def probe(hub: Hub, network: SimNetwork, resolver: SimResolver, hosts: list[str], until_ms: int) -> list[Event]:
    events: list[Event] = []
    config = AdminConfig.parse({"bootstrap.servers": "unused:1", "connections.timeout.ms": 2000})
    nodes = [Node(-number, host, 9092) for number, host in enumerate(hosts, 1)]
    prober = Prober(config, sim_runtime(hub, "app", network, resolver), nodes, events=events.append)
    while not prober.is_done and hub.now_ms < until_ms:
        prober.poll(until_ms - hub.now_ms)
    prober.close("the deadline passed")
    hub.run(hub.now_ms + 10)
    assert network.open_connections == 0
    return events


def listen(network: SimNetwork, ip: str, fault: Fault | None = None) -> None:
    node = ScriptedNode()
    if fault is not None:
        node.faults.start(fault)
    network.listen(ip, 9092, node)


def test_every_address_has_its_own_outcome_and_none_waits_for_another() -> None:
    with Hub() as hub:
        network, resolver = SimNetwork(hub), SimResolver(hub)
        listen(network, "10.0.0.1")
        listen(network, "10.0.0.2", Fault.BLACKHOLE)
        listen(network, "10.0.0.4", Fault.SILENCE)
        resolver.add("three.example", ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
        events = probe(hub, network, resolver, ["three.example", "10.0.0.4", "none.example"], 10_000)
        assert [(e.target.address, e.at_ms) for e in events if isinstance(e, Ready)] == [("10.0.0.1:9092", 4)]
        expired = [(e.target.address, e.phase, e.at_ms) for e in events if isinstance(e, Expired)]
        assert sorted(expired, key=str) == [
            ("10.0.0.2:9092", Phase.TCP, 2000),
            ("10.0.0.4:9092", Phase.APIVERSIONS, 2000),
        ]
        kinds = {e.target.host: type(e.error) for e in events if isinstance(e, Failed)}
        assert kinds == {"three.example": ConnectionRefused, "none.example": DnsError}


def test_what_is_under_way_at_the_deadline_is_told() -> None:
    with Hub() as hub:
        network, resolver = SimNetwork(hub), SimResolver(hub)
        listen(network, "10.0.0.1", Fault.BLACKHOLE)
        resolver.add("slow.example", ["10.0.0.1"], delay_ms=5000)
        events = probe(hub, network, resolver, ["10.0.0.1", "slow.example"], 500)
        closed = {e.target.host: e.reason for e in events if isinstance(e, Closed)}
        assert closed == {"10.0.0.1": "the deadline passed", "slow.example": "the deadline passed"}
