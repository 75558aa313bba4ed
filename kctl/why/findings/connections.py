"""What the probe found about addresses and certificates."""

from collections.abc import Iterator

from kctl.client.errors import CertificateExpired, HostnameMismatch
from kctl.client.probe import ProbeFinding
from kctl.why.finding import PROBE, Evidence, Finding
from kctl.why.look import Looks
from kctl.why.probing import WRONG_ADDRESS
from kctl.why.table import FINDINGS


def connections(looks: Looks) -> Iterator[Finding]:
    """Yield those findings of the probe that are in the table; a broker that does not respond has one already."""
    probed = looks.now.probed
    unreachable = {node_id for node_id, silence in looks.now.silent.items() if silence.is_certain} - probed.elsewhere
    for each in probed.findings:
        kind = FINDINGS.get(_id(each))
        if kind is not None and not (each.id == WRONG_ADDRESS and probed.broker_at(each.where) in unreachable):
            where = each.where or "the cluster"
            yield kind.found(
                {"where": where, "text": each.text, "hint": each.hint},
                [Evidence(PROBE, where, {"text": each.text})],
            )


def _id(found: ProbeFinding) -> str:
    """Return the id of a finding in the table: the probe names a refused handshake, and here its cause is named."""
    if isinstance(found.error, CertificateExpired):
        return "certificate-ended"
    if isinstance(found.error, HostnameMismatch):
        return "certificate-name"
    return found.id
