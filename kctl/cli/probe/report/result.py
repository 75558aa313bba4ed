"""Report computed from statistics, also as JSON (docs/schemas/probe-report.v1.json)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kctl.cli.probe.report.statistics import Histogram, NodeStatistics, Statistics
from kctl.cli.probe.report.timeouts import Timeouts, suggest
from kctl.version import VERSION

SCHEMA_VERSION = 1
DAY_MS = 86_400_000
EXPIRING_RATE = 0.01


class ReportFinding(NamedTuple):
    """Problem. `id` is stable. `node` is empty if the problem concerns a whole place."""

    id: str
    severity: str
    place: str
    node: str
    text: str


class Report(NamedTuple):
    """Statistics, suggested timeouts by place, and findings. `now_ms`: present time, for certificates."""

    statistics: Statistics
    timeouts: dict[str, Timeouts]
    findings: list[ReportFinding]
    now_ms: int


def summarise(statistics: Statistics, *, now_ms: int, cert_warn_ms: int) -> Report:
    places = sorted(statistics.places.items())
    timeouts = {place: suggest(each.nodes) for place, each in places}
    findings = []
    for place, each in places:
        for name, node in sorted(each.nodes.items()):
            for finding, severity, text in _of_node(node, now_ms, cert_warn_ms):
                findings.append(ReportFinding(finding, severity, place, name, text))
    if statistics.bad_lines:
        findings.append(ReportFinding("bad-lines", "warning", "", "", f"{statistics.bad_lines} lines are invalid"))
    findings.sort(key=lambda each: each.severity)  # errors first
    return Report(statistics, timeouts, findings, now_ms)


def days_left(node: NodeStatistics, now_ms: int) -> float | None:
    return None if node.certificate is None else (-node.certificate[1] - now_ms) / DAY_MS


def latency(histogram: Histogram) -> dict[str, int | None]:
    shares = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}
    counts = {"samples": sum(histogram.completed.values()), "expired": sum(histogram.expired.values())}
    percentiles = {name: histogram.quantile_ms(share) for name, share in shares.items()}
    return {**counts, **percentiles, "slowest_ms": histogram.slowest_ms}


def as_object(report: Report) -> dict[str, Any]:
    read = report.statistics
    return {
        "v": SCHEMA_VERSION,
        "kctl": VERSION,
        "now_ms": report.now_ms,
        "lines": read.lines,
        "bad_lines": read.bad_lines,
        "bad_samples": [{"file": file, "line": line, "reason": reason} for file, line, reason in read.bad_samples],
        "findings": [each._asdict() for each in report.findings],
        "places": [
            {
                "place": name,
                "files": place.files,
                "rounds": place.rounds,
                "traces": place.traces,
                "timeouts": {option: each and each._asdict() for option, each in timeouts._asdict().items()},
                "total": _node(place.total(), report.now_ms),
                "nodes": [{"node": host, **_node(each, report.now_ms)} for host, each in sorted(place.nodes.items())],
            }
            for name, timeouts in report.timeouts.items()
            for place in (read.places[name],)
        ],
    }


def _node(node: NodeStatistics, now_ms: int) -> dict[str, Any]:
    found = node.certificate
    return {
        "attempts": node.attempts,
        "ready": node.ready,
        "expired": node.expired,
        "failed": node.failed,
        "errors": dict(node.errors),
        "setup": latency(node.setup),
        "phases": {name: latency(each) for name, each in node.phases.items()},
        "requests": {api: latency(each) for api, each in node.requests.items()},
        "certificate": found and _certificate(found, days_left(node, now_ms)),
    }


def _of_node(node: NodeStatistics, now_ms: int, cert_warn_ms: int) -> Iterator[tuple[str, str, str]]:
    if node.attempts and not node.ready:
        causes = ", ".join(f"{name} {count}" for name, count in node.errors.items())
        yield "never-ready", "error", f"all {node.attempts} attempts failed ({causes})"
    elif node.expired and node.expired >= EXPIRING_RATE * node.attempts:
        phases = ", ".join(f"{name} {sum(each.expired.values())}" for name, each in node.phases.items() if each.expired)
        yield "expires", "warning", f"{node.expired} of {node.attempts} attempts timed out ({phases})"
    requests = sum(sum(each.expired.values()) for each in node.requests.values())
    if requests:
        yield "requests-expire", "warning", f"{requests} requests timed out"
    days = days_left(node, now_ms)
    subject = node.certificate[2] if node.certificate else ""
    if days is not None and days <= 0:
        yield "certificate-expired", "error", f"certificate {subject} expired {-days:.0f} days ago"
    elif days is not None and days * DAY_MS <= cert_warn_ms:
        yield "certificate-expires", "warning", f"certificate {subject} expires in {days:.0f} days"


def _certificate(found: tuple[int, int, str], left_days: float | None) -> dict[str, Any]:
    seen_at_ms, negative_ms, subject = found
    return {"not_after_ms": -negative_ms, "days_left": left_days, "subject": subject, "seen_at_ms": seen_at_ms}
