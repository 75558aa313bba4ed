"""Findings of `kctl probe` that `kctl why` does not have, with fixes."""

from kctl.cli.explanations.page import Page

PROBE_FINDINGS: dict[str, tuple[str, str]] = {
    "under-replicated": ("Some replicas are not in sync", "list them with: kctl topics list --under-replicated"),
    "no-coordinator": ("The group has no coordinator", "check __consumer_offsets with: kctl why cluster"),
    "idle-dropped": (
        "An idle connection stopped working",
        "lower connections.max.idle.ms below the limit of the firewall or proxy",
    ),
    "idle-closed": (
        "An idle connection was closed",
        "no fix needed if the limit is connections.max.idle.ms of the broker: clients reconnect",
    ),
    "unfinished": ("The test of an address did not finish within --api-timeout", "use a longer --api-timeout"),
    "untried": ("Advertised addresses were not tested", "use a longer --api-timeout"),
}
"""Problem and fix by ID."""


def probe_finding_page(name: str) -> Page:
    problem, try_ = PROBE_FINDINGS[name]
    return Page("finding", name, f"finding {name}: {problem}", ("kctl probe reports this finding.",), (try_,))
