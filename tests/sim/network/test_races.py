"""Races over bootstrap nodes and over the addresses of one name: the living wins soon, the losers are closed."""

import pytest

from kctl.client.events import Closed, Failed, Ready, Started
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import NetworkClientCluster, is_metadata
from tests.sim.virtual import Hub


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.SILENCE, Fault.REFUSE, Fault.RESET, Fault.RESET_ON_REQUEST])
@pytest.mark.parametrize("dead", [1, 3, 7])
def test_one_living_node_among_dead_ones_answers_soon(fault: Fault, dead: int) -> None:
    for seed in range(20):
        with Hub(seed) as hub:
            cluster = NetworkClientCluster(hub, dead + 1)
            for node in cluster.nodes[:-1]:
                node.faults.start(fault)
            assert is_metadata(cluster.fetch_metadata())
            assert hub.now_ms <= 100 * (dead + 1) + 10
            cluster.client.close()
            hub.run(hub.now_ms + 1000)
            assert cluster.network.open_connections == 0


def test_with_the_first_healthy_no_other_node_is_dialled() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 4)
        assert is_metadata(cluster.fetch_metadata())
        assert len({event.target.node_id for event in cluster.seen(Started)}) == 1


def test_losers_are_closed_and_not_blamed() -> None:
    with Hub(3) as hub:
        cluster = NetworkClientCluster(hub, 3)
        for node in cluster.nodes[:2]:
            node.faults.start(Fault.BLACKHOLE)
        assert cluster.connect_any()
        losers = [
            event for event in cluster.seen(Closed) if event.reason == "another connection attempt succeeded first"
        ]
        assert {loser.target.node_id for loser in losers} == {
            event.target.node_id for event in cluster.seen(Started)
        } - {-3}
        assert cluster.client.status.errors() == []


def test_a_node_that_is_needed_itself_goes_on_when_another_wins() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 2)
        cluster.network.profiles["10.0.0.2"] = cluster.network.profile._replace(latency_ms=300)
        cluster.client.ready(-2)
        assert cluster.connect_any()
        assert cluster.connect(-2)
        assert [ready.target.node_id for ready in cluster.seen(Ready)] == [-1, -2]


def test_a_dead_ipv6_does_not_hide_a_live_ipv4() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, bootstrap_servers="both.example:9092")
        cluster.resolver.add("both.example", ["fd00::1", "fd00::2", "10.0.0.1"])
        for ip in ("fd00::1", "fd00::2"):
            blackhole = type(cluster.nodes[0])()
            blackhole.faults.start(Fault.BLACKHOLE)
            cluster.network.listen(ip, 9092, blackhole)
        assert cluster.connect(-1)
        (ready,) = cluster.seen(Ready)
        assert ready.target.address == "10.0.0.1:9092"
        assert hub.now_ms == 104  # one head start of 100 ms, then a connect and an exchange of 1 ms each way
        dialled = [event.target.address for event in cluster.seen(Started) if event.target.address]
        assert dialled == ["[fd00::1]:9092", "10.0.0.1:9092"]


def test_an_address_that_fails_at_once_costs_no_head_start() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, bootstrap_servers="two.example:9092")
        cluster.resolver.add("two.example", ["10.0.0.9", "10.0.0.1"])
        assert cluster.connect(-1)
        assert len(cluster.seen(Failed)) == 1
        assert hub.now_ms == 6
