"""Node whose connections stay dead after a fault: a second connection is started in parallel."""

import pytest

from kctl.client.events import Expired, Phase, Started
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import NetworkClientCluster
from tests.sim.virtual import Hub

DELAY_MS, LONGEST_MS, CONNECT_TIMEOUT_MS = 100, 1000, 10_000


def dials(cluster: NetworkClientCluster) -> list[int]:
    """Return when each TCP connection was begun."""
    return [event.at_ms for event in cluster.seen(Started) if event.phase is Phase.TCP]


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.SILENCE])
@pytest.mark.parametrize("length_ms", [20, 99, 150, 700, 3000, 9000])
def test_node_that_heals_is_reached_long_before_the_connect_timeout(fault: Fault, length_ms: int) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.nodes[0].faults.start(fault)
        hub.call_later_ms(length_ms, "healing", lambda: cluster.nodes[0].faults.stop(fault))
        assert cluster.connect(until_ms=CONNECT_TIMEOUT_MS)
        assert hub.now_ms - length_ms <= min(max(length_ms, DELAY_MS), LONGEST_MS) + 8
        cluster.client.close()
        hub.run(hub.now_ms + 10)
        assert cluster.network.open_connections == 0


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.SILENCE])
def test_silent_node_has_one_attempt_beside_the_first_with_growing_waits(fault: Fault) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.nodes[0].faults.start(fault)
        most = 0
        while hub.now_ms < CONNECT_TIMEOUT_MS:
            cluster.client.ready(-1)
            cluster.client.poll(hub.now_ms + 10)
            most = max(most, cluster.network.open_connections)
        silent_from_ms = 0 if fault is Fault.BLACKHOLE else 2
        later = [at + silent_from_ms for at in (100, 300, 700, 1500, 2500)]
        assert dials(cluster)[:6] == [0, *later]
        assert len([at for at in dials(cluster) if at < CONNECT_TIMEOUT_MS]) == 13
        assert most <= 2
        assert [event.at_ms for event in cluster.seen(Expired)] == [CONNECT_TIMEOUT_MS]


@pytest.mark.parametrize("latency_ms", [1, 40])
def test_healthy_nodes_are_dialled_once(latency_ms: int) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 5, latency_ms=latency_ms)
        for node_id in range(-5, 0):
            assert cluster.connect(node_id)
        assert len(dials(cluster)) == 5
