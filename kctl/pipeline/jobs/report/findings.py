"""Findings: what a report tells first, from the gravest on. The ids are stable and listed in docs/pipeline-report.md.

Pure; shown by tests/unit/pipeline/report/test_page.py and, against fleets with a known truth, test_truth.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median_low

from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.limits import Limit, Wanted
from kctl.pipeline.jobs.report.result import Finding, NodeReport, PlaceReport
from kctl.pipeline.jobs.report.words import days_words, duration_words, share_words

DAY_MS = 86_400_000
CERT_WARN_MS = 21 * DAY_MS
SLOWER_BY = 3
SLOW_PLACE_MS = 50
SLOW_NODE_MS = 20
"""So much slower than the median of the others, at least, in its own median."""
FLAPPING_CHANGES = 6
FLAPPING_RATE = 0.01
EXPIRING_RATE = 0.01

_SEVERITIES = ("error", "warning", "note")


def is_flapping(changes: int, looks: int) -> bool:
    """Whether a node goes and comes back too often to be one outage, or a few in a long time."""
    return changes >= FLAPPING_CHANGES and changes >= FLAPPING_RATE * max(1, looks - 1)


def find(places: Sequence[PlaceReport], fleet: Fleet, wanted: Wanted, cert_warn_ms: int) -> list[Finding]:
    """Return all findings, the gravest first."""
    found = [
        *_of_files(fleet),
        *_slow_places(places),
        *(finding for place in places for finding in _of_place(place, wanted, cert_warn_ms)),
    ]
    return sorted(found, key=lambda each: (_SEVERITIES.index(each.severity), each.place, each.node, each.id))


def _of_files(fleet: Fleet) -> Iterator[Finding]:
    if fleet.bad_lines:
        text = f"{fleet.bad_lines} of {fleet.lines} lines could not be used"
        yield Finding("bad-lines", "warning", "", "", text, "the first of them are listed with file, line and reason")


def _slow_places(places: Sequence[PlaceReport]) -> Iterator[Finding]:
    medians = {place.place: place.setup.p50_ms for place in places if place.setup.p50_ms is not None}
    for place, mine in medians.items():
        others = [ms for name, ms in medians.items() if name != place]
        if others and _is_slow(mine, median_low(others), SLOW_PLACE_MS):
            text = f"half of its connects take over {mine} ms; at the other places {median_low(others)} ms"
            yield Finding("slow-place", "warning", place, "", text, "it needs limits of its own; the way there is long")


def _of_place(place: PlaceReport, wanted: Wanted, cert_warn_ms: int) -> Iterator[Finding]:
    yield from _of_limits(place, wanted)
    medians = {node.node: node.setup.p50_ms for node in place.nodes if node.setup.p50_ms is not None}
    for node in place.nodes:
        others = [ms for name, ms in medians.items() if name != node.node]
        for finding_id, severity, text, hint in _of_node(node, others, cert_warn_ms):
            yield Finding(finding_id, severity, place.place, node.node, text, hint)


def _of_limits(place: PlaceReport, wanted: Wanted) -> Iterator[Finding]:
    connect, request, _ = place.limits
    used = [node.connect_limits_ms[1] for node in place.nodes if node.connect_limits_ms is not None]
    if connect is not None and used and max(used) < connect.limit_ms:
        text = f"its --connect-timeout was {duration_words(max(used))}; {duration_words(connect.limit_ms)} is advised"
        yield Finding("limit-short", "warning", place.place, "", text, "expired attempts there may have been slow only")
    for flag, limit in (("--connect-timeout", connect), ("--request-timeout", request)):
        if limit is not None and limit.is_lower_bound:
            text = f"too much was cut off to tell {flag}: at least {duration_words(limit.limit_ms)}"
            hint = "probe it with a longer limit: kctl probe --watch --connect-timeout 30s --output jsonl"
            yield Finding("tail-unseen", "warning", place.place, "", text, hint)
        elif limit is not None and not limit.is_certain:
            yield _few_samples(place, flag, limit, wanted)


def _few_samples(place: PlaceReport, flag: str, limit: Limit, wanted: Wanted) -> Finding:
    text = f"{flag} stands on too few samples of {limit.decided_by} for {share_words(wanted.quantile)}"
    return Finding("few-samples", "note", place.place, "", text, "twice the slowest was taken, with headroom")


def _of_node(node: NodeReport, others_ms: Sequence[int], cert_warn_ms: int) -> Iterable[tuple[str, str, str, str]]:
    mine_ms = node.setup.p50_ms
    if node.attempts and not node.ready:
        text = f"never ready in {node.attempts} attempts ({_causes(node)})"
        yield "never-ready", "error", text, "no limit helps there: kctl probe tells what is wrong"
    elif node.expiry_rate is not None and node.expiry_rate >= EXPIRING_RATE:
        where = ", ".join(f"{phase} {count}" for phase, count in node.expired_in.items())
        text = f"{share_words(node.expiry_rate)} of {node.attempts} attempts expired ({where})"
        yield "expires", "warning", text, "the curve shows whether a longer limit would have helped"
    if node.is_flapping:
        text = f"changed {node.changes} times between ready and not, in {node.looks} looks"
        yield (
            "flapping",
            "error",
            text,
            "look for a restarting broker, a full backlog or a balancer with a dead backend",
        )
    if node.requests_expired and node.ready:
        text = f"{node.requests_expired} requests were not answered in their limit"
        yield "requests-expire", "warning", text, "a broker that stops now and then (collection, disk), or a lossy way"
    if mine_ms is not None and others_ms and _is_slow(mine_ms, median_low(others_ms), SLOW_NODE_MS):
        text = f"half of its connects take over {mine_ms} ms; at the other nodes {median_low(others_ms)} ms"
        yield "slow-node", "warning", text, "compare its phases with those of the others"
    dead = [name for name, counts in node.addresses.items() if name and not counts.ready]
    if node.ready and dead:
        text = f"{len(dead)} of {len(node.addresses)} addresses never ready: {', '.join(dead[:5])}"
        yield "dead-address", "warning", text, "take the address out of DNS, or repair what is behind it"
    yield from _of_certificate(node, cert_warn_ms)


def _of_certificate(node: NodeReport, cert_warn_ms: int) -> Iterator[tuple[str, str, str, str]]:
    ends = node.certificate
    if ends is not None and ends.days_left * DAY_MS <= cert_warn_ms:
        has_ended = ends.days_left <= 0
        text = f"{ends.subject} {'ended' if has_ended else 'ends'} {days_words(ends.days_left)}"
        yield (
            "certificate-ended" if has_ended else "certificate-ends",
            "error" if has_ended else "warning",
            text,
            "renew it",
        )


def _causes(node: NodeReport) -> str:
    return ", ".join(f"{name} {count}" for name, count in node.errors.items()) or f"expired {node.expired}"


def _is_slow(mine_ms: int, others_ms: int, least_ms: int) -> bool:
    return mine_ms >= SLOWER_BY * others_ms and mine_ms - others_ms >= least_ms
