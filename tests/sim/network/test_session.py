"""SASL sessions that expire (KIP-368): renewed in place, after the requests in flight."""

from itertools import pairwise

import pytest

from kctl.client.cluster import Node, TopicPartition
from kctl.client.config import AdminConfig
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import AuthenticationError
from kctl.client.events import Event, Failed, Lost, Ready
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.producer import Producer
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.sandbox.faults import Fault
from kctl.sandbox.identity import MECHANISMS, SaslUsers
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster, dotted
from tests.sim.virtual import Hub

_MODULES = {"PLAIN": "plain.Plain", "OAUTHBEARER": "oauthbearer.OAuthBearer"}


def login(mechanism: str) -> dict[str, str]:
    module = f"org.apache.kafka.common.security.{_MODULES.get(mechanism, 'scram.Scram')}LoginModule required "
    given = 'unsecuredLoginStringClaim_sub="alice"' if mechanism == "OAUTHBEARER" else 'username="alice" password="pw"'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": f"{module}{given};"}


class SessionCluster(SimCluster):
    """One node whose sessions last `lifetime_ms`, and a network client that logs in."""

    def __init__(self, mechanism: str = "PLAIN", *, lifetime_ms: int = 3000, **properties: object) -> None:
        self.passwords = {"alice": "pw"}
        super().__init__(
            Hub(1),
            nodes=1,
            topics={"t": 1},
            settings=ClusterSettings(connections_max_reauth_ms=lifetime_ms),
            security=ListenerSecurity(users=SaslUsers(self.passwords)),
        )
        self.config = {"bootstrap.servers": self.bootstrap, **login(mechanism), **dotted(properties)}

    def client(self) -> NetworkClient:
        client = NetworkClient(AdminConfig.parse(self.config), self.runtime, events=self.events.append)
        client.set_nodes([Node(-1, "10.0.0.1", 9092)])
        return client

    def count(self, kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def sent_at_ms(self, api: str) -> list[int]:
        """Return the times at which requests of an API were sent."""
        return [event.at_ms for event in self.sent(api)]


def ask_until(cluster: SessionCluster, until_ms: int, *, every_ms: int) -> list[Answer]:
    """Request metadata whenever the node is ready. Return the responses."""
    answers: list[Answer] = []

    def app() -> None:
        client = cluster.client()
        while client.clock.now_ms() < until_ms:
            if client.ready(-1):
                client.send(Outgoing(-1, MetadataRequest(), 1000, answers.append))
                next_at_ms = client.clock.now_ms() + every_ms
                while client.clock.now_ms() < next_at_ms:
                    client.poll(next_at_ms)
            else:
                client.poll(client.clock.now_ms() + every_ms)
        client.close()

    cluster.run(app)
    return answers


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_session_is_renewed_before_it_ends_without_losing_the_connection(mechanism: str) -> None:
    cluster = SessionCluster(mechanism)
    answers = ask_until(cluster, 20_000, every_ms=100)
    assert len(answers) > 150
    assert all(answer.response is not None for answer in answers)
    assert (cluster.count(Ready), cluster.count(Lost)) == (1, 0)
    handshakes = cluster.sent_at_ms("SaslHandshake")
    gaps = [later - earlier for earlier, later in pairwise(handshakes)]
    assert len(gaps) > 5
    assert all(3000 * 0.85 <= gap <= 3000 * 0.95 + 10 for gap in gaps)


def test_connection_that_paused_past_the_session_is_renewed_before_the_next_request() -> None:
    cluster = SessionCluster()
    answers: list[Answer] = []

    def app() -> None:
        client = cluster.client()
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        cluster.runtime.driver.wait(cluster.runtime.driver.waiter(), 10_000)  # a stopped process: no poll for 10 s
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        client.send(Outgoing(-1, MetadataRequest(), 1000, answers.append))
        while not answers:
            client.poll(client.clock.now_ms() + 1000)
        client.close()

    cluster.run(app)
    assert answers[0].response is not None
    assert cluster.count(Lost) == 0


def test_idle_connection_is_closed_though_its_session_is_renewed() -> None:
    cluster = SessionCluster(connections_max_idle_ms="7000")

    def app() -> None:
        client = cluster.client()
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        while client.clock.now_ms() < 20_000:
            client.poll(client.clock.now_ms() + 1000)
        assert client.versions(-1) is None
        client.close()

    cluster.run(app)
    assert len(cluster.sent_at_ms("SaslHandshake")) == 3, "at the start, and twice in 7 s"


def test_versions_of_a_node_that_is_not_connected_are_taken_for_supported() -> None:
    cluster = SessionCluster()
    answers: list[bool] = []

    def app() -> None:
        client = cluster.client()
        answers.append(client.supports(-1, MetadataRequest, 99))
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        answers.extend(client.supports(-1, MetadataRequest, version) for version in (0, 99))
        client.close()

    cluster.run(app)
    assert answers == [True, True, False]


def test_request_sent_during_the_renewal_is_answered_after_it() -> None:
    cluster = SessionCluster()
    answers: list[Answer] = []

    def app() -> None:
        client = cluster.client()
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        cluster.sandbox.start_fault(1, Fault.DELAY, ms=50)
        while len(cluster.sent_at_ms("SaslHandshake")) < 2:
            client.poll(client.clock.now_ms() + 10_000)
        assert not client.is_ready(-1)
        client.send(Outgoing(-1, MetadataRequest(), 1000, answers.append))
        assert not cluster.sent_at_ms("Metadata")
        while not answers:
            client.poll(client.clock.now_ms() + 1000)
        client.close()

    cluster.run(app)
    assert answers[0].response is not None
    assert cluster.count(Lost) == 0


def test_refused_renewal_ends_the_connection_and_says_why() -> None:
    cluster = SessionCluster()

    def revoke() -> None:
        cluster.passwords["alice"] = "changed"

    cluster.hub.call_later_ms(2000, "administrator", revoke)
    ask_until(cluster, 4000, every_ms=100)
    (lost,) = [event for event in cluster.events if isinstance(event, Lost)]
    assert "Authentication failed: Invalid username or password [phase sasl]" in str(lost.error)
    failed = [event.error for event in cluster.events if isinstance(event, Failed)]
    assert isinstance(failed[0], AuthenticationError), "the next connection"


def test_silent_broker_during_the_renewal_ends_the_connection_after_request_timeout() -> None:
    cluster = SessionCluster(request_timeout_ms="1500", socket_connection_setup_timeout_ms="1000")
    cluster.hub.call_later_ms(2000, "fault", lambda: cluster.sandbox.start_fault(1, Fault.SILENCE))

    def app() -> None:
        client = cluster.client()
        while not client.ready(-1):
            client.poll(client.clock.now_ms() + 1000)
        while client.versions(-1) is not None:
            client.poll(client.clock.now_ms() + 1000)
        client.close()

    cluster.run(app)
    (lost,) = [event for event in cluster.events if isinstance(event, Lost)]
    assert lost.at_ms == cluster.sent_at_ms("SaslHandshake")[1] + 1500


@pytest.mark.parametrize("acks", ["0", "all"])
def test_producer_loses_no_record_to_expiring_sessions(acks: str) -> None:
    cluster = SessionCluster(acks=acks, enable_idempotence=str(acks == "all").lower(), linger_ms="0")
    futures = []

    def app() -> None:
        driver = cluster.runtime.driver
        with Producer(cluster.config, cluster.runtime, events=cluster.events.append) as producer:
            for number in range(400):
                futures.append(producer.send("t", str(number).encode()))
                driver.wait(driver.waiter(), cluster.runtime.clock.now_ms() + 50)

    cluster.run(app)
    assert all(future.exception() is None for future in futures)
    assert cluster.count(Lost) == 0
    assert cluster.sandbox.cluster.topics["t"].partitions[0].log.end_offset == 400


def test_quiet_partition_stays_at_its_end_while_the_session_of_its_leader_is_renewed() -> None:
    cluster = SessionCluster(lifetime_ms=2000)
    t0 = TopicPartition("t", 0)
    kinds: set[WaitKind] = set()

    def app() -> None:
        with Consumer(cluster.config, cluster.runtime, events=cluster.events.append) as consumer:
            consumer.assign([t0])
            consumer.seek(t0, 0)
            consumer.poll(1)
            while cluster.clock.now_ms() < 8000:
                consumer.poll(0.001)
                kinds.add(consumer.waiting_for()[t0].kind)

    cluster.run(app)
    assert len(cluster.sent_at_ms("SaslHandshake")) > 3
    assert kinds == {WaitKind.AT_END}
