"""Idle test in virtual time: the wait ends on its millisecond, and an early end is reported."""

import pytest

from kctl.client.errors import ConnectionLost, RequestTimeout
from kctl.client.events import Lost, RequestSent
from kctl.client.probe.prober import IDLE_WAIT, NextLimit
from kctl.client.probe.report import AddressReport
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import ProbedCluster
from tests.sim.virtual import Hub

IDLE_MS = 400_000
READY_AT_MS = 6
"""A round trip of two milliseconds each for SYN, ApiVersions and Metadata."""
HOST = "10.0.0.1"


def idled(hub: Hub, cluster: ProbedCluster) -> AddressReport:
    (report,) = cluster.run(HOST, until_ms=2 * IDLE_MS, idle_ms=IDLE_MS, surveys=False).reports
    assert report.is_done
    return report


def test_a_connection_that_lives_is_asked_after_exactly_that_long() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen(HOST)
        report = idled(hub, cluster)
        assert report.is_ready
        assert report.idle == (IDLE_MS, None)
        sent = [(event.api, event.at_ms) for event in cluster.events if isinstance(event, RequestSent)]
        assert sent[-1] == ("ApiVersions", READY_AT_MS + IDLE_MS)
        assert report.elapsed_ms == READY_AT_MS


def test_a_path_that_forgot_the_connection_is_an_answer_that_does_not_come() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen(HOST)
        hub.call_later_ms(1000, "nat", lambda: node.faults.start(Fault.SILENCE))
        report = idled(hub, cluster)
        assert report.is_ready
        assert report.idle is not None
        assert report.idle.idle_ms == IDLE_MS
        assert isinstance(report.idle.error, RequestTimeout)
        lost = [event.at_ms for event in cluster.events if isinstance(event, Lost)]
        assert lost == [READY_AT_MS + IDLE_MS + 3000]


@pytest.mark.parametrize("how", ["close", "reset"])
def test_the_age_at_which_a_peer_ended_it_is_told(how: str) -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen(HOST)

        def end() -> None:
            getattr(node.wires[-1], how)()

        hub.call_later_ms(371_000, "balancer", end)
        report = idled(hub, cluster)
        assert report.is_ready
        assert report.idle is not None
        assert report.idle.idle_ms == 371_000 + 1 - READY_AT_MS
        assert isinstance(report.idle.error, ConnectionLost)


def test_next_limit_names_the_timeout_of_each_wait() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen(HOST)
        prober = cluster.begin(HOST, idle_ms=IDLE_MS, surveys=False)
        names: dict[str, int] = {}
        while not prober.is_done:
            limit = prober.next_limit()
            assert isinstance(limit, NextLimit)
            assert limit.at_ms >= hub.now_ms
            names[limit.name] = limit.at_ms
            prober.poll(hub.now_ms + IDLE_MS)
        prober.close()
        assert list(names) == ["socket.connection.setup.timeout.ms", "request.timeout.ms", IDLE_WAIT]
        assert names["socket.connection.setup.timeout.ms"] == 2000
        assert names[IDLE_WAIT] == READY_AT_MS + IDLE_MS
        assert prober.next_limit() is None
