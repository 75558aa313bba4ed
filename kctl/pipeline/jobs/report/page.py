"""A report as one HTML page that needs nothing else: no script, no font, no picture, no address to ask.

It is read on a telephone (400 px) and on a wide screen, light and dark, printed, and without colour. Whatever comes
from files is escaped. Shown by tests/unit/pipeline/report/test_page.py and, in a browser, by
tests/pipeline/test_report_page.py.
"""

from collections.abc import Iterator
from html import escape

from kctl.pipeline.jobs.report import plots
from kctl.pipeline.jobs.report.limits import Limit
from kctl.pipeline.jobs.report.page_style import STYLE
from kctl.pipeline.jobs.report.result import Finding, FleetReport, NodeReport, PlaceReport
from kctl.pipeline.jobs.report.words import date_words, days_words, duration_words, line_words, ms_words, share_words

MOST_NODES = 40
MOST_FINDINGS = 200
MOST_CERTIFICATES = 100
MARKS = (("dot", "p50"), ("ring", "p99"), ("diamond", "p99.9"), ("slowest", "slowest"), ("limit", "advised limit"))


def page(report: FleetReport) -> str:
    """Return the page."""
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Kafka connections of {len(report.places)} places</title><style>{STYLE}</style></head><body>",
            plots.patterns(),
            *_head(report),
            *_limits(report),
            *_findings(report),
            *(part for place in report.places for part in _place(place)),
            *_certificates(report),
            *_bad_lines(report),
            *_method(report),
            "</body></html>\n",
        ]
    )


def _head(report: FleetReport) -> Iterator[str]:
    times = [ms for place in report.places for ms in (place.first_ms, place.last_ms) if ms is not None]
    yield "<header><h1>Kafka connections: what was seen, and which limits to use</h1><p>"
    yield f"{_counted(report.files, 'file')} with {_counted(report.lines, 'line')} from "
    yield _counted(len(report.places), "place")
    if times:
        yield f", {date_words(min(times))} to {date_words(max(times))}"
    yield f". Days count from {date_words(report.now_ms)} UTC. kctl {escape(report.kctl)}.</p></header>"


def _limits(report: FleetReport) -> Iterator[str]:
    yield "<section><h2>Limits</h2><p>What to give each place, so that of healthy attempts not more than "
    yield f"{share_words(1 - report.wanted.quantile)} expire. Below each place: how long it takes until a connection "
    yield "is ready, from the median to the slowest, on one scale for all.</p>"
    shown = [
        ms
        for place in report.places
        for ms in (place.setup.p50_ms, place.setup.slowest_ms, place.limits.connect and place.limits.connect.limit_ms)
        if ms is not None
    ]
    scale = plots.scale_of(shown)
    yield '<p class="legend">' + " ".join(
        f'<span class="key">{plots.mark_swatch(shape)} {words}</span>' for shape, words in MARKS
    )
    yield '</p><div class="places">'
    for place in report.places:
        connect = place.limits.connect
        yield f'<article class="place"><h3>{escape(place.place)}</h3><dl class="limits">'
        for flag, limit in zip(("--connect-timeout", "--request-timeout", "--api-timeout"), place.limits, strict=True):
            yield f'<div><dt>{flag}</dt><dd>{_limit_words(limit)}</dd><dd class="small">{_rate_words(limit)}</dd></div>'
        yield "</dl>"
        limit_ms = None if connect is None else connect.limit_ms
        yield plots.range_plot(place.setup, limit_ms, scale, f"{place.place}: setup times and limit")
        yield "</article>"
    yield f"</div>{plots.axis(scale)}</section>"


def _limit_words(limit: Limit | None) -> str:
    if limit is None:
        return "not known"
    return ("at least " if limit.is_lower_bound else "") + duration_words(limit.limit_ms)


def _rate_words(limit: Limit | None) -> str:
    if limit is None:
        return "no samples"
    words = f"false expiries {share_words(limit.false_expiries)}, at most {share_words(limit.false_expiries_at_most)}"
    return words + ("" if limit.is_certain else "; few samples" if not limit.is_lower_bound else "; cut off too early")


def _findings(report: FleetReport) -> Iterator[str]:
    yield f'<section><h2>Findings</h2>{"" if report.findings else "<p>None.</p>"}<ul class="findings">'
    for finding in report.findings[:MOST_FINDINGS]:
        yield _finding(finding)
    yield "</ul>" + _more(len(report.findings), MOST_FINDINGS) + "</section>"


def _finding(finding: Finding) -> str:
    where = ", ".join(escape(word) for word in (finding.place, finding.node) if word)
    return (
        f'<li class="{finding.severity}"><span class="severity">{finding.severity}</span> '
        f"<b>{where}</b> {escape(finding.text)} <code>{finding.id}</code>"
        f'<span class="small hint">{escape(finding.hint)}</span></li>'
    )


def _place(place: PlaceReport) -> Iterator[str]:
    connect = place.limits.connect
    yield f"<section><h2>{escape(place.place)}</h2><p>{place.attempts:,} attempts, "
    yield f"{share_words(place.expiry_rate)} expired; {_counted(place.rounds, 'round')} of probes, "
    yield f"{_counted(place.traces, 'trace')}.</p>"
    if place.curve:
        limit_ms = None if connect is None else connect.limit_ms
        scale = plots.scale_of([place.curve[0].ms, place.curve[-1].ms, *([limit_ms] if limit_ms else [])])
        yield "<figure><figcaption>Share of connections that are ready by then</figcaption>"
        yield plots.curve_plot(place.curve, limit_ms, scale, f"{place.place}: share ready over time")
        yield plots.axis(scale) + "</figure>"
    yield from _nodes(place)
    yield "</section>"


def _nodes(place: PlaceReport) -> Iterator[str]:
    shown = sorted(place.nodes, key=lambda node: (node.ready - node.attempts, node.node))[:MOST_NODES]
    longest_ms = max((_sum_of_medians(node) for node in shown), default=0)
    used = [name for name in plots.PHASE_PATTERNS if any(name in node.phases for node in shown)]
    yield '<p class="legend">Median of each phase: '
    yield " ".join(f'<span class="key">{plots.swatch(name)} {name}</span>' for name in used) + "</p>"
    for node in shown:
        yield f'<article class="node"><h3>{escape(node.node)}{" <em>flapping</em>" if node.is_flapping else ""}</h3>'
        yield plots.phases_plot(node.phases, longest_ms, f"{node.node}: median of each phase")
        yield f'<p class="small">ready {node.ready:,}, expired {node.expired:,} ({share_words(node.expiry_rate)}), '
        yield f"failed {node.failed:,}, changes {node.changes:,}; until ready p50 {ms_words(node.setup.p50_ms)}, "
        yield f"p99 {ms_words(node.setup.p99_ms)}, slowest {ms_words(node.setup.slowest_ms)} ms</p>"
        if node.expiry_rate:
            yield plots.share_plot(node.expiry_rate, f"{node.node}: {share_words(node.expiry_rate)} expired")
        yield _phase_table(node) + "</article>"
    yield _more(len(place.nodes), MOST_NODES)


def _phase_table(node: NodeReport) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{ms_words(each.p50_ms)}</td><td>{ms_words(each.p99_ms)}</td>"
        f"<td>{ms_words(each.slowest_ms)}</td></tr>"
        for name, each in [*node.phases.items(), *((f"{api} request", one) for api, one in node.requests.items())]
    )
    head = "<tr><th>ms</th><th>p50</th><th>p99</th><th>slowest</th></tr>"
    return f"<details><summary>Phases and requests</summary><table>{head}{rows}</table></details>"


def _sum_of_medians(node: NodeReport) -> int:
    return sum(each.p50_ms or 0 for each in node.phases.values())


def _certificates(report: FleetReport) -> Iterator[str]:
    found = [
        (node.certificate, place.place, node.node)
        for place in report.places
        for node in place.nodes
        if node.certificate is not None
    ]
    if not found:
        return
    yield "<section><h2>Certificates, the first to end first</h2>"
    yield '<table class="certificates"><tr><th>ends</th><th>node</th><th>subject</th></tr>'
    for certificate, place, node in sorted(found, key=lambda each: (each[0].not_after_ms, *each[1:]))[
        :MOST_CERTIFICATES
    ]:
        when = f"{days_words(certificate.days_left)}, {date_words(certificate.not_after_ms)}"
        yield f'<tr><td>{when}</td><td>{escape(node)} <span class="small">{escape(place)}</span></td>'
        yield f"<td>{escape(certificate.subject)}</td></tr>"
    yield "</table>" + _more(len(found), MOST_CERTIFICATES) + "</section>"


def _bad_lines(report: FleetReport) -> Iterator[str]:
    if not report.bad_lines:
        return
    yield f"<section><h2>Lines that could not be used: {report.bad_lines:,}</h2><ul>"
    for bad in report.bad_samples:
        yield f"<li>{escape(line_words(bad))}</li>"
    yield "</ul>" + _more(report.bad_lines, len(report.bad_samples)) + "</section>"


def _method(report: FleetReport) -> Iterator[str]:
    quantile, headroom = share_words(report.wanted.quantile), f"{report.wanted.headroom:g}"
    yield "<section><h2>How the limits were found</h2><p>Attempts that expired or lost a race are taken as cut off "
    yield "(Kaplan-Meier), not as ended and not as if they had not been. One that waited at least twice as long as the "
    yield "slowest success of its node is an outage, for which no limit helps. Each node is judged by itself, and the "
    yield f"slowest decides: the {quantile} quantile with 95 % certainty, times {headroom}, rounded up. With too few "
    yield "samples for that, twice the slowest is taken. <b>api-timeout</b> has room for a connect that expires, a "
    yield "second one with its doubled limit, Metadata, and the request. False expiries are those that the samples "
    yield "show, and the most that they leave possible with 95 % certainty.</p></section>"


def _more(count: int, shown: int) -> str:
    return f"<p>and {count - shown:,} more</p>" if count > shown else ""


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
