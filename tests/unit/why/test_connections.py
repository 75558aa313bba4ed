"""Findings of the probe in the table of `kctl why`, under their own ids."""

import pytest

from kctl.client import probe
from kctl.client.errors import CertificateExpired, HostnameMismatch, KafkaError, UntrustedCertificate
from kctl.why import Look, Severity
from kctl.why.probing import Probed
from kctl.why.table_connections import CONNECTION_FINDINGS
from tests.unit.why.looks import NODES, WALL_MS, found


def test_certificate_that_expires_soon_is_a_finding_with_its_place() -> None:
    expires = probe.ProbeFinding(
        "certificate-ends", probe.Severity.WARNING, "b1:9093", "certificate of b1 expires soon", "renew it"
    )
    finding = found(Look(WALL_MS, NODES, probed=Probed((), (expires,))))["certificate-ends"]
    assert finding.severity is Severity.WARNING
    assert (finding.subject, finding.sentence, finding.cure, finding.show) == (
        "b1:9093", "b1:9093: certificate of b1 expires soon", "renew it", "kctl probe",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (CertificateExpired("expired"), {"certificate-ended"}),
        (HostnameMismatch("another name"), {"certificate-name"}),
        (UntrustedCertificate("unknown issuer"), set()),
    ],
)
def test_refused_handshake_is_named_by_its_certificate(error: KafkaError, names: set[str]) -> None:
    refused = probe.ProbeFinding("tls-failed", probe.Severity.WARNING, "b1:9093", str(error), "renew it", error)
    assert found(Look(WALL_MS, NODES, probed=Probed((), (refused,)))).keys() == names


def test_finding_that_has_no_row_is_left_to_the_probe() -> None:
    idle = probe.ProbeFinding("idle-closed", probe.Severity.NOTE, "b1:9093", "the connection was closed", "harmless")
    assert found(Look(WALL_MS, NODES, probed=Probed((), (idle,)))) == {}


def test_every_row_is_a_finding_of_the_probe() -> None:
    from pathlib import Path

    source = Path(probe.findings.__file__).read_text(encoding="utf-8")
    for kind in CONNECTION_FINDINGS:
        assert f'Finding("{kind.id}"' in source
