"""What the probe found about addresses and certificates. Shown by tests/unit/why/test_connections.py."""

from collections.abc import Iterator

from kctl.why.finding import PROBE, Evidence, Finding
from kctl.why.looking import Looks
from kctl.why.table import FINDINGS


def connections(looks: Looks) -> Iterator[Finding]:
    """Yield those findings of the probe that are in the table; a broker that does not respond has one already."""
    for each in looks.now.probed.findings:
        kind = FINDINGS.get(each.id)
        if kind is not None:
            where = each.where or "the cluster"
            yield kind.found(
                {"where": where, "text": each.text, "hint": each.hint},
                [Evidence(PROBE, where, {"text": each.text})],
            )
