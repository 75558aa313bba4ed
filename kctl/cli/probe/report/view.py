"""The report as tables, in text and as one HTML page without scripts; what comes from the input is escaped.

Shown by tests/unit/cli/probe/report/test_view.py and, on terminals, tests/cli/test_probe_report.py.
"""

import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from kctl.cli.formats.rows import Row, table_lines
from kctl.cli.probe.report.result import Report, latency
from kctl.cli.probe.report.statistics import Histogram, PlaceStatistics
from kctl.cli.probe.report.timeouts import Timeouts
from kctl.client.wording import harmless_text
from kctl.grammar.durations import show_duration
from kctl.version import VERSION

MOST_ROWS = 50
"""Rows of one table, those that matter most; JSON has all."""
EXPLANATION = (
    "Durations are milliseconds. False expiries: the share of healthy attempts (of --api-timeout: calls) that would "
    "expire. >=: too many attempts expired to measure more; probe with a longer timeout."
)


_STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;padding:16px;max-width:1200px;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
section{overflow-x:auto}
h2{font-size:1.1rem;margin:1.6em 0 .3em}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:3px 14px 3px 0;border-bottom:1px solid #8885;min-width:3em}
@media print{tr{break-inside:avoid}}
"""


def sections(report: Report) -> Iterator[tuple[str, list[Row], int]]:
    """Yield the tables that have rows: title, rows, and how many further rows there are."""
    read = report.statistics
    timeouts = [
        row for place, each in report.timeouts.items() for row in _timeouts(place, each) if read.places[place].nodes
    ]
    findings: list[Row] = [
        {"finding" if key == "text" else key: value for key, value in each._asdict().items()}
        for each in report.findings
    ]
    tables = [("Suggested timeouts", timeouts), ("Findings", findings)]
    for name in report.timeouts:
        place = read.places[name]
        counts = f"{place.files} files, {place.rounds} probes, {place.traces} traces"
        tables += [
            (f"{name}: {counts}", _phases(place)),
            (f"{name}: setup of each node, phases with p50/p99", _nodes(place)),
        ]
    bad: list[Row] = [{"file": file, "line": line or None, "reason": reason} for file, line, reason in read.bad_samples]
    for title, rows in [*tables, (f"Invalid lines: {read.bad_lines}", bad)]:
        most = len(rows) if rows is timeouts else MOST_ROWS
        if rows:
            yield title, rows[:most], max(0, len(rows) - most)


def text_lines(report: Report, width: int | None) -> Iterator[str]:
    """Yield the report as text for a terminal of that width; None: for a file."""
    for title, rows, more in sections(report):
        yield from _wrap(title, width)
        yield from table_lines(list(rows[0]), rows, width)
        yield from [f"and {more} more"] if more else []
        yield ""
    yield from _wrap(EXPLANATION, width)


def page(report: Report) -> str:
    """Return the page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Kafka connections</title><style>{_STYLE}</style></head><body><h1>Kafka connections</h1>"
        f"<p>{report.statistics.lines:,} lines, read {datetime.fromtimestamp(report.now_ms / 1000, UTC):%F %H:%M} UTC "
        f"by kctl {VERSION}. {EXPLANATION}</p>"
        f"{''.join(_section(*each) for each in sections(report))}</body></html>\n"
    )


def _section(title: str, rows: list[Row], more: int) -> str:
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in rows[0])
    cells = (("-" if value is None else escape(str(value)) for value in row.values()) for row in rows)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    last = f"<p>and {more} more</p>" if more else ""
    return f"<section><h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>{last}</section>"


def _wrap(text: str, width: int | None) -> list[str]:
    return [harmless_text(text)] if width is None else textwrap.wrap(harmless_text(text), width)


def _timeouts(place: str, timeouts: Timeouts) -> Iterator[Row]:
    for name, each in timeouts._asdict().items():
        yield {
            "place": place,
            "option": f"--{name}-timeout",
            "timeout": each and (">=" if each.is_lower_bound else "") + show_duration(each.timeout_ms),
            "false_expiries": each and f"{100 * each.false_expiries:.3g} %",
            "samples": each and each.samples,
            "decided_by": each and each.decided_by,
        }


def _phases(place: PlaceStatistics) -> list[Row]:
    total = place.total()
    named = {"setup": total.setup, **total.phases, **{f"{api} request": each for api, each in total.requests.items()}}
    return [{"phase": name, **latency(each)} for name, each in named.items()] if place.nodes else []


def _nodes(place: PlaceStatistics) -> list[Row]:
    by_trouble = sorted(place.nodes.items(), key=lambda each: (each[1].ready - each[1].attempts, each[0]))
    return [
        {"node": name, "ready": node.ready, "failed": node.failed, **latency(node.setup), "phases": _short(node.phases)}
        for name, node in by_trouble
    ]


def _short(phases: dict[str, Histogram]) -> str:
    found = ((name, each.quantile_ms(0.5), each.quantile_ms(0.99)) for name, each in phases.items())
    return " ".join(f"{name} {'-' if p50 is None else f'{p50}/{p99}'}" for name, p50, p99 in found)
