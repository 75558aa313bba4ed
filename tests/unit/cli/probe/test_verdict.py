"""The exit code of a probe, rule by rule."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.verdict import verdict
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.errors import (
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    KafkaError,
    RequestTimeout,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.probe.findings import diagnose
from kctl.client.probe.report import AddressReport, ClusterView, CoordinatorReport

A, B = Node(1, "a.example", 9092), Node(2, "b.example", 9092)
TIMEOUT = ConnectTimeout("no SYN-ACK", limit_ms=1, elapsed_ms=1)


def address(
    host: str,
    error: KafkaError | None = None,
    *,
    advertised: bool = False,
    brokers: tuple[Node, ...] = (A, B),
    cluster_id: str = "c",
    answers_as: int | None = None,
    phase: Phase = Phase.READY,
) -> AddressReport:
    target = Target(1, 1 if advertised else -1, host, 9092, "10.0.0.1:9092")
    made = AddressReport(target, advertised=advertised, started_at_ms=0, limit_ms=1000)
    made.error, made.phase, made.answers_as = error, phase, answers_as
    made.is_done = error is not None or phase is Phase.READY
    if made.is_ready:
        made.view = ClusterView(cluster_id, 1, brokers)
    return made


def code(*reports: AddressReport, coordinator: CoordinatorReport | None = None, strict: bool = False) -> ExitCode:
    return verdict(reports, coordinator, diagnose(reports, coordinator, wall_ms=0), strict=strict)


GOOD = address("a.example", brokers=(A,))


def test_usable_is_0_and_with_strictness_only_when_nothing_is_wrong() -> None:
    dead = address("d.example", DnsError("no"))
    assert code(GOOD) is code(GOOD, strict=True) is ExitCode.OK
    assert code(GOOD, dead) is ExitCode.OK
    assert code(GOOD, dead, strict=True) is ExitCode.PARTIAL_FAILURE


def test_a_note_is_not_held_against_anybody() -> None:
    other = address("a.example", brokers=(A,))
    GOOD.versions, other.versions = {3: (0, 12)}, {3: (0, 13)}
    assert [finding.id for finding in diagnose([GOOD, other], wall_ms=0)] == []  # the same place twice is one
    other = address("b.example", brokers=(A,))
    other.versions = {3: (0, 13)}
    assert [finding.id for finding in diagnose([GOOD, other], wall_ms=0)] == ["version-skew"]
    assert code(GOOD, other, strict=True) is ExitCode.OK


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        ((DnsError("no"),), ExitCode.DNS),
        ((ConnectionRefused("no"), DnsError("no")), ExitCode.REFUSED),
        ((ConnectionRefused("no"), TIMEOUT), ExitCode.CONNECT_TIMEOUT),
        ((TIMEOUT, WrongPeerError("ssh")), ExitCode.WRONG_PROTOCOL),
        ((RequestTimeout("Metadata", timeout_ms=1, elapsed_ms=1), TIMEOUT), ExitCode.REQUEST_TIMEOUT),
    ],
)
def test_without_a_bootstrap_node_it_is_the_worst_cause(errors: tuple[KafkaError, ...], wanted: ExitCode) -> None:
    assert code(*(address(f"h{number}", error) for number, error in enumerate(errors))) is wanted


def test_where_the_other_protocol_works_ours_was_the_fault() -> None:
    hung_up = address("a.example", ConnectionLost("the server closed the connection"))
    assert code(hung_up) is ExitCode.REFUSED
    hung_up.works_with = "SSL"
    assert code(hung_up) is ExitCode.WRONG_PROTOCOL


def test_unfinished_bootstrap_node_has_the_code_that_other_commands_end_with() -> None:
    refused = address("b.example", DnsError("no"))
    assert code(address("a.example", phase=Phase.TLS), refused) is ExitCode.CONNECT_TIMEOUT
    assert code(address("a.example", phase=Phase.METADATA), refused) is ExitCode.API_TIMEOUT


def test_no_broker_where_it_is_advertised() -> None:
    alias = address("bootstrap.example")
    dead = [address(node.host, TIMEOUT, advertised=True) for node in (A, B)]
    assert code(alias, *dead) is ExitCode.ADVERTISED_ADDRESS
    assert code(alias, *(address(node.host, advertised=True) for node in (A, B))) is ExitCode.OK
    assert code(alias, dead[0], address("b.example", advertised=True)) is ExitCode.PARTIAL_FAILURE


def test_an_unusable_broker_of_the_cluster_is_3() -> None:
    assert code(address("a.example"), address("b.example", TIMEOUT, advertised=True)) is ExitCode.PARTIAL_FAILURE
    assert code(address("a.example"), address("b.example", TIMEOUT)) is ExitCode.PARTIAL_FAILURE
    assert code(address("a.example"), address("b.example", phase=Phase.APIVERSIONS)) is ExitCode.PARTIAL_FAILURE
    assert code(address("a.example"), address("b.example")) is ExitCode.OK


def test_misrouted_and_mixed_clusters() -> None:
    assert code(address("a.example", answers_as=2)) is ExitCode.ADVERTISED_ADDRESS
    assert code(address("a.example"), address("b.example", cluster_id="other")) is ExitCode.ADVERTISED_ADDRESS


def test_the_coordinator_that_was_asked_for() -> None:
    missing = CoordinatorReport("g", None, broker_error(15, "FindCoordinator"))
    refused = CoordinatorReport("g", None, broker_error(30, "FindCoordinator"))
    assert code(GOOD, coordinator=missing) is ExitCode.UNAVAILABLE
    assert code(GOOD, coordinator=CoordinatorReport("g", None, None)) is ExitCode.UNAVAILABLE
    assert code(GOOD, coordinator=refused) is ExitCode.NOT_AUTHORIZED
    assert code(GOOD, coordinator=CoordinatorReport("g", A, None)) is ExitCode.OK
    assert code(address("a.example", DnsError("no")), coordinator=missing) is ExitCode.DNS
