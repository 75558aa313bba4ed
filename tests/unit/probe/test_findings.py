"""Findings, one test an id: said when it is so, and not said when it is not."""

import pytest

from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import (
    AuthenticationError,
    CertificateExpired,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    KafkaError,
    RequestTimeout,
    SaslRequired,
    UntrustedCertificate,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.probe.findings import DAY_MS, ProbeFinding, Severity, diagnose, is_for
from kctl.client.probe.report import AddressReport, ClusterView, CoordinatorReport, IdleReport, ReplicaReport, TlsReport
from kctl.client.security.tls.certificates import PeerCertificate

NOW_MS = 1_700_000_000_000
A, B = Node(1, "a.example", 9092), Node(2, "b.example", 9092)


def report(
    host: str = "a.example",
    *,
    node_id: int = -1,
    address: str = "10.0.0.1:9092",
    advertised: bool = False,
    error: KafkaError | None = None,
    cluster_id: str = "c",
    brokers: tuple[Node, ...] = (A,),
    controller_id: int = 1,
    answers_as: int | None = None,
) -> AddressReport:
    made = AddressReport(Target(1, node_id, host, 9092, address), advertised=advertised, started_at_ms=0, limit_ms=1000)
    made.is_done = True
    made.error = error
    if error is None:
        made.phase = Phase.READY
        made.view = ClusterView(cluster_id, controller_id, brokers)
        made.answers_as = answers_as
    return made


def led(leads: dict[int, int]) -> ReplicaReport:
    return ReplicaReport(sum(leads.values()), leads, {}, ())


def found(*reports: AddressReport, **more: object) -> dict[str, ProbeFinding]:
    return {finding.id: finding for finding in diagnose(reports, wall_ms=NOW_MS, **more)}  # type: ignore[arg-type]  # passed on


def timeout(phase: str = "tcp") -> ConnectTimeout:
    error = ConnectTimeout("no SYN-ACK within 1s", limit_ms=1000, elapsed_ms=1000)
    error.phase = phase
    return error


def test_a_healthy_cluster_has_none() -> None:
    assert diagnose([report(), report(node_id=1, advertised=True, answers_as=1)], wall_ms=NOW_MS) == []


def test_dead_bootstrap_is_an_error_only_where_no_other_works() -> None:
    dead = report("b.example", node_id=-2, error=ConnectionRefused("connection refused"))
    assert found(dead)["bootstrap-unreachable"].severity is Severity.ERROR
    assert found(dead, report())["bootstrap-unreachable"].severity is Severity.WARNING


def test_a_listener_that_wants_sasl_is_told_with_its_mechanisms() -> None:
    refused = report(error=SaslRequired("the server closed the connection", hint="it requires SASL"))
    refused.sasl_mechanisms = ("PLAIN",)
    assert found(refused)["authentication-failed"].hint == "it requires SASL (offered mechanisms: PLAIN)"


def test_hung_broker_is_named_with_its_duties() -> None:
    hung = report("b.example", node_id=-2, error=timeout("apiversions"))
    hung.phase = Phase.APIVERSIONS
    finding = found(hung, report(brokers=(A, B), controller_id=2), replicas=led({2: 12}))["broker-unusable"]
    assert finding.severity is Severity.ERROR
    assert finding.text.startswith("broker 2, controller, leads 12 partitions, does not respond: ")
    assert "check the process" in finding.hint
    finding = found(hung, report(brokers=(A, B)), replicas=led({1: 12}))["broker-unusable"]
    assert finding.text.startswith("broker 2, leads 0 partitions, does not respond: ")
    finding = found(hung, report(brokers=(A, B)))["broker-unusable"]
    assert finding.text.startswith("broker 2, does not respond: ")


def test_hung_broker_that_was_only_advertised_has_no_wrong_address() -> None:
    hung = report("b.example", node_id=2, advertised=True, error=timeout("apiversions"))
    hung.phase = Phase.APIVERSIONS
    assert "advertised-unusable" not in found(hung, report(brokers=(A, B)))
    assert "broker-unusable" in found(hung, report(brokers=(A, B)))


def test_refused_broker_is_named_and_refused_credentials_are_no_dead_address() -> None:
    down = report("b.example", node_id=-2, error=ConnectionRefused("connection refused"))
    down.phase = Phase.TCP
    text = found(down, report(brokers=(A, B)), replicas=led({2: 1}))["broker-unusable"].text
    assert text == "broker 2, leads 1 partition, cannot be used: connection refused"
    wrong = report("b.example", node_id=2, advertised=True, error=AuthenticationError("SCRAM-SHA-512 refused"))
    assert set(found(wrong, report(brokers=(A, B)))) == {"authentication-failed"}


def test_fenced_broker_is_an_error_whether_it_responds_or_not() -> None:
    reporter = report(brokers=(A,))
    assert reporter.view is not None
    reporter.view = reporter.view._replace(fenced=(B,))
    fenced = found(reporter, report("b.example", node_id=2, advertised=True))["broker-fenced"]
    assert (fenced.severity, fenced.where) == (Severity.ERROR, "broker 2")
    silent = report("b.example", node_id=2, advertised=True, error=timeout("apiversions"))
    silent.phase = Phase.APIVERSIONS
    findings = found(reporter, silent)
    assert findings["broker-unusable"].text.startswith("broker 2, fenced, does not respond: ")
    assert "broker-fenced" not in findings


def test_replicas_on_unregistered_brokers_and_replicas_out_of_sync_are_reported() -> None:
    replicas = ReplicaReport(3, {1: 3}, {1: 3, 2: 2}, (TopicPartition("t", 0), TopicPartition("t", 1)))
    findings = found(report(), replicas=replicas)
    assert findings["broker-missing"].text == "broker 2 has replicas of 2 partitions but is not registered"
    assert findings["under-replicated"].text == "2 of 3 partitions under-replicated: t-0, t-1"
    assert found(report(), replicas=led({1: 3})) == {}


def test_dead_address_of_a_name_that_has_others() -> None:
    finding = found(report(), report(address="10.0.0.7:9092", error=timeout()))["dead-address"]
    assert finding.severity is Severity.WARNING
    assert "1 of 2 addresses of a.example work" in finding.text
    assert "filtered" in finding.text
    assert "10.0.0.7" in finding.where


def test_other_protocol_names_the_one_that_works() -> None:
    wrong = report(error=WrongPeerError("the server is a TLS listener"))
    wrong.works_with = "SSL"
    finding = found(wrong)["other-protocol"]
    assert finding.hint == "use security.protocol=SSL"
    assert "bootstrap-unreachable" not in found(wrong)


def test_advertised_unusable_puts_both_names_side_by_side() -> None:
    finding = found(report(), report("no-such", node_id=1, advertised=True, error=timeout("dns")))[
        "advertised-unusable"
    ]
    assert finding.severity is Severity.ERROR
    assert finding.text.startswith("bootstrap ok, but broker 1 advertises no-such:9092")


def test_advertised_loopback_is_told_to_those_who_came_from_outside() -> None:
    local = Node(1, "127.0.0.1", 9092)
    assert "but the bootstrap server is a.example" in found(report(brokers=(local,)))["advertised-loopback"].text
    assert "advertised-loopback" not in found(report(address="127.0.0.1:9092", brokers=(local,)))


def test_misrouted_names_who_answers() -> None:
    wrong = report(node_id=1, advertised=True, answers_as=5, brokers=(A, B))
    assert found(wrong)["misrouted"].text == "advertised as broker 1, but broker 5 responds there"


def test_two_clusters_in_one_list() -> None:
    text = found(report(), report("b.example", node_id=-2, cluster_id="other"))["two-clusters"].text
    assert "c at a.example" in text
    assert "other at b.example" in text


def test_no_controller() -> None:
    assert "no-controller" in found(report(controller_id=-1))
    assert "no-controller" not in found(report(controller_id=-1), report())


def test_controller_is_not_missing_if_the_connection_was_lost_before_the_response() -> None:
    lost = report(controller_id=-1)
    lost.error = ConnectionLost("connection lost")
    assert "no-controller" not in found(lost)


def test_no_coordinator_has_the_brokers_reason() -> None:
    error = broker_error(15, "find the coordinator of group g")
    finding = found(report(), coordinator=CoordinatorReport("g", None, error))["no-coordinator"]
    assert "COORDINATOR_NOT_AVAILABLE" in finding.text
    assert finding.error is error
    assert "creates __consumer_offsets" in finding.hint
    assert found(report(), coordinator=CoordinatorReport("g", A, None)) == {}


def test_no_coordinator_names_the_partition_and_its_leader() -> None:
    coordinator = CoordinatorReport("g", None, broker_error(15, "find the coordinator of group g"), 23, -1)
    assert "__consumer_offsets-23, no leader" in found(report(), coordinator=coordinator)["no-coordinator"].text
    unanswered = CoordinatorReport("g", None, None)
    assert "no response" in found(report(), coordinator=unanswered)["no-coordinator"].text


def test_a_connection_that_was_forgotten_while_idle_is_an_error_and_one_that_was_ended_a_note() -> None:
    dropped, closed, alive = report(), report("b.example", node_id=-2), report("c.example", node_id=-3)
    dropped.idle = IdleReport(400_000, RequestTimeout("waiting for the answer", timeout_ms=3000, elapsed_ms=3000))
    closed.idle = IdleReport(371_500, ConnectionLost("the server closed the connection"))
    alive.idle = IdleReport(400_000, None)
    findings = found(dropped, closed, alive)
    assert "after 400 s of idle time" in findings["idle-dropped"].text
    assert findings["idle-dropped"].severity is Severity.ERROR
    assert "after 371.5 s of idle time" in findings["idle-closed"].text
    assert findings["idle-closed"].severity is Severity.NOTE
    assert len(findings) == 2


def test_certificate_ends_within_the_days_asked_for() -> None:
    ready = report()
    ends_ms = NOW_MS + 10 * DAY_MS
    certificate = PeerCertificate("CN=a", "CN=ca", 0, ends_ms, "2023-01-01", "2023-11-24", ("a.example",))
    ready.tls = TlsReport("TLSv1.3", "x", (certificate,))
    assert "in 10 days" in found(ready)["certificate-expiring"].text
    assert found(ready, cert_warn_ms=9 * DAY_MS) == {}


def test_all_faults_of_a_refused_certificate_are_told_beside_the_one_that_refused_it() -> None:
    certificate = PeerCertificate("CN=a", "CN=ca", 0, NOW_MS - DAY_MS, "2022-11-24", "2023-11-13", ("other.example",))
    untrusted = report(error=UntrustedCertificate("issuer unknown"))
    untrusted.tls = TlsReport("", "", (certificate,), asked_for="a.example")
    assert set(found(untrusted)) == {"tls-failed", "certificate-expired", "certificate-name"}
    expired = report(error=CertificateExpired("expired"))
    expired.tls = untrusted.tls
    assert set(found(expired)) == {"tls-failed", "certificate-name"}


@pytest.mark.parametrize(
    ("name", "host", "covers"),
    [
        ("a.example", "A.example", True),
        ("*.example", "a.example", True),
        ("*.example", "a.b.example", False),
        ("*.example", "example", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("FD00:0:0:0:0:0:0:1", "[fd00::1]", True),
        ("10.0.0.1", "a.example", False),
    ],
)
def test_names_of_certificates(name: str, host: str, covers: bool) -> None:
    assert is_for(name, host) is covers


def test_unfinished_attempt_is_reported_with_its_phase() -> None:
    pending = report("b.example", node_id=-2)
    pending.is_done, pending.phase = False, Phase.TLS
    assert found(pending)["unfinished"].severity is Severity.ERROR
    assert found(pending, report())["unfinished"].severity is Severity.WARNING
    assert "timed out in phase tls" in found(pending)["unfinished"].text


def test_version_skew_names_the_api_and_both_offers() -> None:
    first, second = report(), report("b.example", node_id=-2)
    first.versions, second.versions = {3: (0, 13), 0: (3, 12)}, {3: (0, 12), 0: (3, 12)}
    finding = found(first, second)["version-skew"]
    assert finding.severity is Severity.NOTE
    assert finding.text.startswith("Metadata: 0 to 13 at a.example")
    assert "0 to 12 at b.example" in finding.text
    assert "Produce" not in finding.text


def test_version_skew_is_one_finding_however_many_apis_differ() -> None:
    first, second = report(), report("b.example", node_id=-2)
    first.versions, second.versions = dict.fromkeys(range(9), (0, 3)), dict.fromkeys(range(9), (0, 2))
    findings = diagnose([first, second], wall_ms=NOW_MS)
    assert [finding.id for finding in findings] == ["version-skew"]
    assert findings[0].text.endswith("and 6 more")


def test_the_gravest_come_first() -> None:
    first, second = report(controller_id=-1), report("b.example", node_id=-2, cluster_id="other", controller_id=-1)
    assert [finding.severity for finding in diagnose([first, second], wall_ms=NOW_MS)] == [
        Severity.ERROR,
        Severity.WARNING,
    ]


def test_brokers_that_were_not_tried_are_a_warning() -> None:
    (finding,) = diagnose([report()], wall_ms=0, untried=7)
    assert (finding.id, finding.severity) == ("untried", Severity.WARNING)
    assert finding.text.startswith("7 advertised brokers were not tried")
