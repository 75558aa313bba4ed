"""Diagnosis of one or two looks: findings by severity, and the ids of checked and unchecked findings. Does no I/O."""

from typing import NamedTuple

from kctl.why.finding import NEWEST_TIMESTAMPS, Finding, FindingKind, Scope, Severity
from kctl.why.findings.brokers import brokers
from kctl.why.findings.connections import connections
from kctl.why.findings.group_members import group_members
from kctl.why.findings.group_offsets import group_offsets
from kctl.why.findings.group_progress import group_progress
from kctl.why.findings.group_quotas import group_quotas
from kctl.why.findings.partitions import partitions
from kctl.why.findings.transactions import transactions
from kctl.why.look import Gap, Looks
from kctl.why.table import FINDINGS, is_at_least, kinds_of

FAMILIES = (group_progress, group_members, group_offsets, group_quotas, transactions, partitions, brokers, connections)

CONTROLLER_IDS = ("no-quorum", "controller-unreachable")
"""Findings about missing responses of the controller. One of them counts as a check of both."""
_READ_AFTER = {
    "Metadata": ("ListOffsets", NEWEST_TIMESTAMPS),
    "ListGroups": ("DescribeGroups", "OffsetFetch"),
    "DescribeGroups": ("OffsetFetch",),
}
"""Dict from request to the requests that depend on its response, because they read only the topics and groups in it."""


class Unchecked(NamedTuple):
    """Findings that were not checked, or only partly, because of a gap."""

    gap: Gap
    ids: tuple[str, ...]


class Diagnosis(NamedTuple):
    """Result of a diagnosis.

    Attributes:
        checked: ids of findings that were checked completely.
        unchecked: findings that were not checked, with the reason.
        needs_samples: ids of findings that need two looks, or a longer time between them.
    """

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unchecked: tuple[Unchecked, ...]
    needs_samples: tuple[str, ...]

    @property
    def is_bad(self) -> bool:
        return any(is_at_least(finding.severity, Severity.WARNING) for finding in self.findings)


def diagnose(
    looks: Looks,
    scopes: tuple[Scope, ...],
    *,
    only: frozenset[str] = frozenset(),
    ignored: frozenset[str] = frozenset(),
    severity: Severity = Severity.NOTE,
) -> Diagnosis:
    """Return the findings of these scopes, the most severe first.

    Args:
        only: ids to report. Empty for all.
        severity: lowest severity to report.
    """
    kinds = [
        kind
        for kind in kinds_of(scopes)
        if (not only or kind.id in only) and kind.id not in ignored and is_at_least(kind.severity, severity)
    ]
    wanted = {kind.id for kind in kinds}
    found = [finding for family in FAMILIES for finding in family(looks) if finding.id in wanted]
    ids = list(FINDINGS)
    order = list(Severity)
    found.sort(key=lambda finding: (order.index(finding.severity), ids.index(finding.id)))
    needs_samples = tuple(
        kind.id for kind in kinds if (kind.looks > 1 and looks.before is None) or kind.apart_ms > looks.apart_ms
    )
    seen = {finding.id for finding in found}
    seen |= set(CONTROLLER_IDS) if seen.intersection(CONTROLLER_IDS) else set()
    unchecked = _unchecked(looks, [kind for kind in kinds if kind.id not in {*needs_samples, *seen}])
    blocked = {name for each in unchecked for name in each.ids} | set(needs_samples)
    checked = tuple(kind.id for kind in kinds if kind.id not in blocked)
    return Diagnosis(tuple(found), checked, unchecked, needs_samples)


def _unchecked(looks: Looks, kinds: list[FindingKind]) -> tuple[Unchecked, ...]:
    found: dict[tuple[str, str], Unchecked] = {}
    for gap in looks.now.gaps:
        requests = {gap.request, *_READ_AFTER.get(gap.request, ())}
        ids = tuple(kind.id for kind in kinds if requests.intersection(kind.requests))
        if ids:
            found.setdefault((gap.request, gap.reason), Unchecked(gap, ids))
    return tuple(found.values())
