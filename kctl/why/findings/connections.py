"""Findings of the probe about addresses and certificates."""

from collections.abc import Iterator

from kctl.client.errors import (
    CertificateExpired,
    HostnameMismatch,
    TlsNotAnswered,
    UnsupportedVersionError,
    UntrustedCertificate,
    WrongPeerError,
)
from kctl.client.probe import ProbeFinding
from kctl.why.finding import PROBE, Evidence, Finding
from kctl.why.look import Look, Looks
from kctl.why.probing import GAPS, WRONG_ADDRESS
from kctl.why.table import FINDINGS

NOT_PROBED = {
    "broker-fenced": "DescribeCluster shows fenced brokers",
    "broker-missing": "Metadata shows the replicas of brokers that are not registered",
    "under-replicated": "Metadata shows replicas that are not in sync",
    "no-coordinator": "kctl why finds coordinators by requests for groups",
    "idle-dropped": "the probe does not wait for idle connections",
    "idle-closed": "the probe does not wait for idle connections",
}
"""Dict from a probe finding that is not reported here to the reason."""
_CERTIFICATES = ("certificate-expired", "certificate-expiring", "certificate-name", "certificate-untrusted")
"""Findings about the cause of a failed handshake."""
_BY_ERROR = {
    CertificateExpired: "certificate-expired",
    HostnameMismatch: "certificate-name",
    UntrustedCertificate: "certificate-untrusted",
    WrongPeerError: "other-protocol",
    TlsNotAnswered: "other-protocol",
}
"""Findings by the error of an attempt, because the fix depends on the error."""
_LOOPBACK = ("127.", "[::1]:")
"""Addresses of localhost: servers often listen on only one of them, and clients fall back without delay."""
NO_HINT = "check the listener and the log of the broker"


def connections(looks: Looks) -> Iterator[Finding]:
    """Yield probe findings. For brokers that have another finding, yield only those about certificates."""
    look = looks.now
    targets = {str(report.target): report.target for report in look.probed.reports}
    named = _places_with_findings(look)
    for each in look.probed.findings:
        if each.id in GAPS or each.id in NOT_PROBED or (each.id == "no-controller" and _has_quorum(look)):
            continue
        name, target = _id(each), targets.get(each.where)
        if target is not None and name == "dead-address" and target.address.startswith(_LOOPBACK):
            continue
        if name in _CERTIFICATES or target is None or (target.host, target.port) not in named:
            where = each.where or "the cluster"
            yield FINDINGS[name].found(
                {"where": where, "text": each.text, "hint": each.hint or NO_HINT},
                [Evidence(PROBE, where, {"text": each.text})],
            )


def _places_with_findings(look: Look) -> set[tuple[str, int]]:
    silent = {node_id for node_id, silence in look.silent.items() if silence.is_certain} - look.probed.elsewhere
    return {(node.host, node.port) for node in look.nodes if node.node_id in silent} | {
        (node.host, node.port) for node in look.fenced
    }


def _has_quorum(look: Look) -> bool:
    return not any(
        gap.request == "DescribeQuorum" and isinstance(gap.error, UnsupportedVersionError) for gap in look.gaps
    )


def _id(found: ProbeFinding) -> str:
    if found.id == WRONG_ADDRESS:
        return found.id
    return next((name for error, name in _BY_ERROR.items() if isinstance(found.error, error)), found.id)
