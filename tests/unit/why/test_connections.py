"""Findings of the probe in the table of `kctl why`, under their own ids."""

import inspect
import re

import pytest

from kctl.client import probe
from kctl.client.errors import (
    CertificateExpired,
    ConnectionRefused,
    HostnameMismatch,
    KafkaError,
    NoCommonTls,
    TlsNotAnswered,
    UnsupportedVersionError,
    UntrustedCertificate,
    WrongPeerError,
)
from kctl.client.events import Target
from kctl.client.probe.findings import ProbeFinding
from kctl.client.probe.findings import Severity as Gravity
from kctl.client.probe.report import AddressReport
from kctl.why import Look, Severity
from kctl.why.findings.connections import _BY_ERROR, NOT_PROBED
from kctl.why.look import Gap, Silence
from kctl.why.probing import GAPS, Probed
from kctl.why.table_connections import CONNECTION_FINDINGS
from tests.unit.why.looks import NODES, WALL_MS, found

PROBE_IDS = set(re.findall(r'ProbeFinding\(\s*"([a-z-]+)"', inspect.getsource(probe.findings)))


def probed(*findings: ProbeFinding) -> Probed:
    """Return a round that tried the addresses of these findings."""
    places = [each.where.rsplit(":", 1) for each in findings if each.where]
    targets = [Target(1, -1, host, int(port), "") for host, port in places]
    reports = (AddressReport(each, advertised=False, started_at_ms=0, limit_ms=1000) for each in targets)
    return Probed(tuple(reports), findings)


def test_certificate_that_expires_soon_is_a_finding_with_its_place() -> None:
    expires = probe.ProbeFinding(
        "certificate-expiring", probe.Severity.WARNING, "b1:9093", "certificate of b1 expires soon", "renew it"
    )
    finding = found(Look(WALL_MS, NODES, probed=Probed((), (expires,))))["certificate-expiring"]
    assert finding.severity is Severity.WARNING
    assert (finding.subject, finding.sentence, finding.cure, finding.show) == (
        "b1:9093", "b1:9093: certificate of b1 expires soon", "renew it", "kctl probe",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (CertificateExpired("expired"), {"certificate-expired"}),
        (HostnameMismatch("another name"), {"certificate-name"}),
        (UntrustedCertificate("unknown issuer"), {"certificate-untrusted"}),
        (NoCommonTls("no common version"), {"tls-failed"}),
    ],
)
def test_refused_handshake_is_named_by_its_certificate(error: KafkaError, names: set[str]) -> None:
    refused = ProbeFinding("tls-failed", Gravity.WARNING, "b1:9093", str(error), "renew it", error)
    assert found(Look(WALL_MS, NODES, probed=probed(refused))).keys() == names


@pytest.mark.parametrize(
    ("id_", "error", "name", "severity"),
    [
        ("bootstrap-unreachable", ConnectionRefused("connection refused"), "bootstrap-unreachable", Severity.NOTE),
        ("bootstrap-unreachable", WrongPeerError("an SSH server"), "other-protocol", Severity.ERROR),
        ("bootstrap-unreachable", TlsNotAnswered("a plaintext listener"), "other-protocol", Severity.ERROR),
        ("advertised-unusable", WrongPeerError("an SSH server"), "advertised-unusable", Severity.ERROR),
        ("authentication-failed", None, "authentication-failed", Severity.ERROR),
        ("dead-address", None, "dead-address", Severity.NOTE),
    ],
)
def test_address_that_does_not_work_is_a_finding(
    id_: str, error: KafkaError | None, name: str, severity: Severity
) -> None:
    dead = ProbeFinding(id_, Gravity.WARNING, "old:9092", "the cause", error=error)
    [finding] = found(Look(WALL_MS, NODES, probed=probed(dead))).values()
    assert (finding.id, finding.severity, finding.sentence) == (name, severity, "old:9092: the cause")
    assert finding.cure


@pytest.mark.parametrize(("host", "address"), [("localhost", "[::1]"), ("localhost", "127.0.0.1")])
def test_address_of_localhost_without_a_server_is_no_finding(host: str, address: str) -> None:
    for place, count in ((address, 0), ("10.0.0.9", 1)):
        report = AddressReport(
            Target(1, -1, host, 9092, f"{place}:9092"), advertised=False, started_at_ms=0, limit_ms=1
        )
        dead = ProbeFinding("dead-address", Gravity.WARNING, str(report.target), "connection refused")
        assert len(found(Look(WALL_MS, NODES, probed=Probed((report,), (dead,))))) == count


@pytest.mark.parametrize(
    ("name", "error", "is_found"),
    [
        ("broker-unusable", None, False),
        ("authentication-failed", None, False),
        ("tls-failed", UntrustedCertificate("unknown issuer"), True),
    ],
)
def test_broker_with_a_finding_has_no_other_but_its_certificate(
    name: str, error: KafkaError | None, is_found: bool
) -> None:
    refused = ConnectionRefused("connection refused")
    dead = ProbeFinding(name, Gravity.ERROR, "b2:9092", "the cause", error=error)
    silent = Look(WALL_MS, NODES, silent={2: Silence("refused", refused, "tcp")}, probed=probed(dead))
    fenced = Look(WALL_MS, (NODES[0], NODES[2]), (NODES[1],), probed=probed(dead))
    for look, first in ((silent, "broker-unreachable"), (fenced, "broker-fenced")):
        assert found(look).keys() == {first, *(("certificate-untrusted",) if is_found else ())}
    assert len(found(silent._replace(silent={}))) == 1


def test_missing_controller_is_a_finding_of_clusters_without_a_quorum() -> None:
    absent = probed(ProbeFinding("no-controller", Gravity.WARNING, "", "no broker reports a controller"))
    unsupported = Gap("DescribeQuorum", "the cluster", UnsupportedVersionError("no quorum"), "no quorum")
    assert found(Look(WALL_MS, NODES, probed=absent)) == {}
    assert found(Look(WALL_MS, NODES, probed=absent, gaps=(unsupported,))).keys() == {"no-controller"}


def test_each_finding_of_the_probe_is_a_row_a_gap_or_left_out_with_a_reason() -> None:
    rows = {kind.id for kind in CONNECTION_FINDINGS}
    assert rows | NOT_PROBED.keys() | set(GAPS) == PROBE_IDS | set(_BY_ERROR.values())
    assert not rows & NOT_PROBED.keys()
    assert not set(GAPS) & (rows | NOT_PROBED.keys())
    assert all(NOT_PROBED.values())
