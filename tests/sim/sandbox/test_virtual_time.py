"""Sandbox in virtual time: every response and every fault on its exact millisecond."""

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.sandbox import Fault, Sandbox
from tests.sim.sandbox.peer import Lost, SimPeer
from tests.sim.virtual import Hub, LinkProfile, SimNetwork, SimResolver
from tests.unit.sandbox.scenario import batch

LATENCY_MS = 5


def _world(nodes: int = 3) -> tuple[Hub, Sandbox, SimPeer, SimNetwork]:
    hub = Hub()
    network = SimNetwork(hub, LinkProfile(latency_ms=LATENCY_MS))
    sandbox = Sandbox(nodes, topics={"t": nodes})
    sandbox.attach(network)
    return hub, sandbox, SimPeer(hub, network), network


def _ask(peer: SimPeer, channel: int = 1, limit_ms: int = 1_000) -> bool:
    return peer.call(channel, ApiVersionsRequest(), ApiVersionsResponse, 0, limit_ms) is not None


def test_addresses_and_names() -> None:
    hub = Hub()
    network = SimNetwork(hub)
    resolver = SimResolver(hub)
    assert Sandbox(2).attach(network, resolver) == "node-1:9092,node-2:9092"
    lookup = resolver.lookup("node-2", 9092, lambda: None)
    hub.run()
    assert [address.ip for address in lookup.addresses] == ["10.0.0.2"]
    assert Sandbox(2).attach(SimNetwork(Hub())) == "10.0.0.1:9092,10.0.0.2:9092"


def test_a_connect_and_a_call_take_two_latencies_each() -> None:
    hub, _, peer, _ = _world()
    assert peer.connect(1, 2)
    assert hub.now_ms == 2 * LATENCY_MS
    response = peer.call(1, MetadataRequest(topics=None), MetadataResponse, 9)
    assert hub.now_ms == 4 * LATENCY_MS
    assert response is not None
    assert [node.node_id for node in response.brokers] == [1, 2, 3]


def test_a_long_poll_ends_to_the_millisecond() -> None:
    hub, sandbox, peer, _ = _world()
    asked = [FetchPartition(partition=0, partition_max_bytes=1_000)]
    request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="t", partitions=asked)])
    peer.connect(1, 1)
    begin_ms = hub.now_ms
    peer.call(1, request, FetchResponse, 12)
    assert hub.now_ms - begin_ms == 500 + 2 * LATENCY_MS
    begin_ms = hub.now_ms
    log = sandbox.cluster.topics["t"].partitions[0].log
    hub.call_later_ms(123, "writer", lambda: log.append(batch(b"v"), 0, 1_700_000_000_000))
    peer.call(1, request, FetchResponse, 12)
    assert hub.now_ms - begin_ms == 123 + LATENCY_MS


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.RESET, Fault.BLACKHOLE])
def test_connect_faults(fault: Fault) -> None:
    hub, sandbox, peer, network = _world()
    peer.connect(1, 1)
    sandbox.start_fault(1, fault)
    hub.call_later_ms(10_000, "plan", lambda: sandbox.heal(1))
    begin_ms = hub.now_ms
    reached = peer.connect(2, 1, limit_ms=9_000)
    if fault is Fault.BLACKHOLE:
        assert (reached, hub.now_ms - begin_ms) == (False, 9_000)
        peer.selector.close(2)
    else:
        assert 2 in peer.lost or reached
        assert hub.now_ms - begin_ms == 2 * LATENCY_MS
    assert _ask(peer, 1)
    hub.run(until_ms=11_000)
    assert peer.connect(3, 1)
    assert _ask(peer, 3)
    peer.selector.shutdown()
    hub.run()
    assert network.open_connections == 0


def test_silence_freeze_and_delay() -> None:
    hub, sandbox, peer, _ = _world()
    for channel, node_id in ((1, 1), (2, 2), (3, 3)):
        peer.connect(channel, node_id)
    sandbox.start_fault(1, Fault.SILENCE)
    sandbox.start_fault(2, Fault.FREEZE)
    sandbox.start_fault(3, Fault.DELAY, ms=700)
    begin_ms = hub.now_ms
    ids = {channel: peer.send(channel, ApiVersionsRequest(), 0) for channel in (1, 2, 3)}
    hub.call_later_ms(2_000, "plan", sandbox.heal)
    assert peer.receive(3, ApiVersionsResponse, 0, ids[3]) is not None
    assert hub.now_ms - begin_ms == 700 + 2 * LATENCY_MS
    assert peer.receive(2, ApiVersionsResponse, 0, ids[2], 5_000) is not None
    assert hub.now_ms - begin_ms == 2_000 + LATENCY_MS
    assert peer.receive(1, ApiVersionsResponse, 0, ids[1], 5_000) is None


def test_reset_on_request() -> None:
    _, sandbox, peer, _ = _world()
    peer.connect(1, 1)
    sandbox.start_fault(1, Fault.RESET_ON_REQUEST)
    with pytest.raises(Lost, match="reset"):
        _ask(peer)


def test_actors_share_a_sandbox() -> None:
    with Hub() as hub:
        network = SimNetwork(hub, LinkProfile(latency_ms=LATENCY_MS))
        Sandbox(3).attach(network)
        ends: list[tuple[str, int]] = []

        def client(name: str, node_id: int) -> None:
            peer = SimPeer(hub, network, name)
            peer.connect(1, node_id)
            for _ in range(node_id):
                assert _ask(peer)
            ends.append((name, hub.now_ms))
            peer.selector.shutdown()

        for node_id in (1, 2, 3):
            hub.spawn(f"c{node_id}", lambda node_id=node_id: client(f"c{node_id}", node_id))  # type: ignore[misc]  # a bound default
        hub.run()
        assert ends == [("c1", 20), ("c2", 30), ("c3", 40)]
