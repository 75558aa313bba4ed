"""Timers of nodes against a scan of all nodes: in each poll of a run no timer is late, and both name one instant."""

from collections.abc import Iterator

import pytest

from kctl.client.clock import FOREVER_MS
from kctl.client.network.network_client import NetworkClient
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.settings import ClusterSettings
from tests.sim.chaos.commands import failure_line, plan_of, run
from tests.sim.kit import SimCluster
from tests.sim.network.test_session import login
from tests.sim.virtual import Hub


class _Scans:
    """Compares in each poll, and counts the polls in which some node was due later."""

    def __init__(self) -> None:
        self.polls = 0

    def check(self, client: NetworkClient) -> None:
        now_ms = client.clock.now_ms()
        due = {entry: entry.due_at_ms(now_ms) for entry in client._entries.values()}
        assert all(entry.timer_at_ms <= due_at_ms for entry, due_at_ms in due.items())
        scanned_ms = min(due.values(), default=FOREVER_MS)
        assert client._timers.next_at_ms(now_ms) == scanned_ms
        self.polls += scanned_ms < FOREVER_MS


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Scans]:
    found = _Scans()
    next_deadline_at_ms = NetworkClient.next_deadline_at_ms

    def checked(client: NetworkClient) -> int:
        found.check(client)
        return next_deadline_at_ms(client)

    monkeypatch.setattr(NetworkClient, "next_deadline_at_ms", checked)
    yield found
    assert found.polls > 100


@pytest.mark.slow
@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize("plan", ["1", "producer:1"])
def test_timers_amid_faults_are_those_of_a_scan(plan: str) -> None:
    outcome = run(plan_of(plan))
    assert not outcome.violations, failure_line(outcome, plan)


@pytest.mark.slow
@pytest.mark.usefixtures("scans")
def test_timers_of_sasl_sessions_are_those_of_a_scan() -> None:
    with Hub(seed=1) as hub:
        cluster = SimCluster(
            hub,
            settings=ClusterSettings(connections_max_reauth_ms=3000),
            security=ListenerSecurity(users=SaslUsers({"alice": "pw"})),
        )

        def app() -> None:
            with cluster.producer(login("PLAIN")) as producer:
                for number in range(60):
                    producer.send("t", b"%d" % number, partition=number % 3)
                    hub.sleep_ms(500)

        cluster.run(app)
