"""Failed addresses are dialled again as a client does, and the round is not longer for it."""

import itertools

from kctl.client.errors import ConnectionRefused
from kctl.client.events import Failed
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import ProbedCluster
from tests.sim.virtual import Hub


def test_refused_address_is_dialled_again_while_another_is_under_way() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1", Fault.SILENCE)
        prober = cluster.run("10.0.0.2:9092", "10.0.0.1:9092", redials=True)
        ended_at_ms = hub.now_ms
    refused = prober.reports[0]
    assert isinstance(refused.error, ConnectionRefused)
    failures = [event for event in cluster.events if isinstance(event, Failed) and event.target.node_id == -1]
    assert refused.attempts == len(failures) > 4
    waits = [later.at_ms - earlier.at_ms for earlier, later in itertools.pairwise(failures)]
    assert 30 <= waits[0] <= 70
    assert waits[-1] > waits[0]
    assert 2000 <= ended_at_ms < 2100, "the silent address has its connect timeout, and nothing waits longer"


def test_address_that_recovers_is_ready_with_its_attempts() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1", Fault.SILENCE)
        prober = cluster.begin("10.0.0.2:9092", "10.0.0.1:9092", redials=True)
        while hub.now_ms < 500:
            prober.poll(500)
        cluster.listen("10.0.0.2")
        while not prober.is_done:
            prober.poll(60_000)
        prober.close()
    assert prober.reports[0].is_ready
    assert prober.reports[0].attempts > 2


def test_addresses_that_fail_alone_are_dialled_once() -> None:
    with Hub() as hub:
        prober = ProbedCluster(hub).run("10.0.0.2:9092", redials=True)
        assert prober.reports[0].attempts == 1
        assert hub.now_ms < 100
