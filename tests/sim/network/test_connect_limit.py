"""The connection setup limit in virtual time: exact in each phase; doubled per failure; never jittered."""

import pytest

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import ConnectionRefused, ConnectTimeout
from kctl.client.events import Expired, Failed, Phase, PhaseDone, Started
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import NetworkClientCluster
from tests.sim.virtual import Hub

LIMIT = {"socket_connection_setup_timeout_ms": 1000, "socket_connection_setup_timeout_max_ms": 3000}


@pytest.mark.parametrize(
    ("fault", "phase"),
    [(Fault.BLACKHOLE, Phase.TCP), (Fault.SILENCE, Phase.APIVERSIONS), (Fault.FREEZE, Phase.APIVERSIONS)],
)
def test_expires_on_its_millisecond(fault: Fault, phase: Phase) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, **LIMIT)
        cluster.nodes[0].faults.start(fault)
        assert not cluster.connect(until_ms=1000)
        (expired,) = cluster.seen(Expired)
        assert (expired.at_ms, expired.elapsed_ms, expired.limit_ms, expired.phase) == (1000, 1000, 1000, phase)
        assert isinstance(expired.error, ConnectTimeout)
        assert cluster.client.status.node_error(-1) is expired.error
        assert "within 1s (socket.connection.setup.timeout.ms)" in str(expired.error)
        cluster.client.close()
        hub.run(hub.now_ms + 10)
        assert cluster.network.open_connections == 0


def test_a_slow_resolver_is_under_the_same_limit() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, bootstrap_servers="slow.example:9092", **LIMIT)
        cluster.resolver.add("slow.example", ["10.0.0.1"], delay_ms=5000)
        assert not cluster.connect(until_ms=1000)
        (expired,) = cluster.seen(Expired)
        assert (expired.at_ms, expired.phase) == (1000, Phase.DNS)


def test_a_token_that_does_not_come_is_named_and_not_dns() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(
            hub,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_callback=lambda: "t",
            **LIMIT,
        )
        cluster.resolver.hold_work()
        assert not cluster.connect(until_ms=500)
        assert "no OAUTHBEARER token yet" in str(cluster.client.status.unfinished(-1))
        assert cluster.client.status.activity() == "connecting"
        assert not cluster.connect(until_ms=1000)
        (expired,) = cluster.seen(Expired)
        assert (expired.at_ms, expired.phase) == (1000, Phase.SASL)
        assert "no OAUTHBEARER token within 1s (socket.connection.setup.timeout.ms)" in str(expired.error)


def test_time_spent_in_dns_is_taken_from_the_rest() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, bootstrap_servers="slow.example:9092", **LIMIT)
        cluster.resolver.add("slow.example", ["10.0.0.1"], delay_ms=600)
        cluster.nodes[0].faults.start(Fault.BLACKHOLE)
        assert not cluster.connect(until_ms=1000)
        assert [(expired.at_ms, expired.phase) for expired in cluster.seen(Expired)] == [(1000, Phase.TCP)]


def test_the_limit_doubles_per_failed_attempt_up_to_its_max_and_starts_afresh_after_a_success() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, **LIMIT)
        node = cluster.nodes[0]
        node.faults.start(Fault.BLACKHOLE)
        cluster.connect(until_ms=9_900)
        assert [expired.limit_ms for expired in cluster.seen(Expired)] == [1000, 2000, 3000, 3000]
        for expired, started in zip(cluster.seen(Expired), dns_starts(cluster), strict=False):
            assert expired.at_ms == started.at_ms + expired.limit_ms
        node.faults.heal()
        assert cluster.connect(until_ms=20_000)
        cluster.client.disconnect(-1, "test")
        node.faults.start(Fault.BLACKHOLE)
        cluster.connect(until_ms=hub.now_ms + 1000)
        assert cluster.seen(Expired)[-1].limit_ms == 1000


@pytest.mark.parametrize("name", ["socket.connection.setup.timeout.ms", "connections.timeout.ms"])
def test_a_connect_timeout_given_alone_is_the_limit_of_every_attempt(name: str) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, **{name.replace(".", "_"): 1000})
        cluster.nodes[0].faults.start(Fault.BLACKHOLE)
        cluster.connect(until_ms=9_900)
        limits = [(expired.limit_ms, expired.elapsed_ms) for expired in cluster.seen(Expired)]
        assert len(limits) >= 4
        assert set(limits) == {(1000, 1000)}


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE])
def test_a_request_of_the_handshake_expires_after_the_request_timeout(fault: Fault) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, request_timeout_ms=400, **LIMIT)
        cluster.nodes[0].faults.start(fault)
        cluster.connect(until_ms=999)
        first = cluster.seen(Expired)[0]
        tcp_done_at_ms = next(event.at_ms for event in cluster.seen(PhaseDone) if event.phase is Phase.TCP)
        assert (first.phase, first.limit_ms, first.at_ms) == (Phase.APIVERSIONS, 400, tcp_done_at_ms + 400)
        assert "within 400ms (request.timeout.ms)" in str(first.error)
        cluster.nodes[0].faults.heal()
        assert cluster.connect(until_ms=2000)


def test_all_connections_that_expire_together_are_evicted_in_one_poll() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 8, **LIMIT)
        for node in cluster.nodes:
            node.faults.start(Fault.BLACKHOLE)
        for number in range(1, 9):
            cluster.client.ready(-number)
        cluster.poll_until(lambda: bool(cluster.seen(Expired)), until_ms=5000)
        assert [expired.at_ms for expired in cluster.seen(Expired)] == [1000] * 8


def test_the_poll_waits_for_the_connect_deadline_and_for_nothing_less() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, bootstrap_attempt_delay_ms=2000, **LIMIT)
        cluster.nodes[0].faults.start(Fault.BLACKHOLE)
        cluster.client.ready(-1)
        cluster.client.poll(FOREVER_MS)
        while not cluster.seen(Expired):
            cluster.client.poll(FOREVER_MS)
            cluster.polls += 1
        assert hub.now_ms == 1000
        assert cluster.polls <= 3


def test_a_refused_node_is_dialled_again_after_the_back_off_only() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, reconnect_backoff_ms=50, reconnect_backoff_max_ms=1000)
        cluster.nodes[0].faults.start(Fault.REFUSE)
        cluster.connect(until_ms=5000)
        assert isinstance(cluster.client.status.node_error(-1), ConnectionRefused)
        failed = [event.at_ms for event in cluster.seen(Failed)]
        again = [event.at_ms for event in dns_starts(cluster)][1:]
        waits = [start - end for start, end in zip(again, failed, strict=False)]
        for wait, base in zip(waits, (50, 100, 200, 400, 800), strict=False):
            assert 0.8 * base - 1 <= wait <= 1.2 * base
        assert cluster.polls < 60


def dns_starts(cluster: NetworkClientCluster) -> list[Started]:
    return [event for event in cluster.seen(Started) if event.phase is Phase.DNS]
