"""Ctrl-C at every point of a round of the prober: it closes, and leaves no connection open."""

import pytest

from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.kit.network import ProbedCluster
from tests.sim.virtual import Hub


@pytest.mark.slow
def test_prober_interrupted_anywhere_closes_and_leaves_no_connection() -> None:
    def scene(interrupted: Interrupted) -> None:
        with Hub() as hub:
            cluster = ProbedCluster(hub)
            cluster.listen("10.0.0.1")
            cluster.resolver.add("two.example", ["10.0.0.1", "10.0.0.2"], delay_ms=1)
            prober = cluster.begin("two.example")

            def poll() -> None:
                while not prober.is_done:
                    prober.poll(60_000)

            interrupted(poll)
            prober.close()
            hub.run(hub.now_ms + 10)
            assert cluster.network.open_connections == 0

    assert each_boundary(scene, most=20_000, step=21) > 500
