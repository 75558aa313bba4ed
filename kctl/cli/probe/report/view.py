"""Tables of the report as text and as an HTML page."""

from collections.abc import Iterator
from datetime import UTC, datetime

from kctl.cli.formats.columns import wrapped
from kctl.cli.formats.html_page import TitledRows, html_page
from kctl.cli.formats.rows import Row, table_lines
from kctl.cli.probe.report.result import Report, latency
from kctl.cli.probe.report.statistics import Histogram, PlaceStatistics
from kctl.cli.probe.report.timeouts import Timeouts
from kctl.client.wording import one_line
from kctl.grammar.durations import show_duration
from kctl.version import VERSION

MOST_ROWS = 50
"""Maximum number of rows of a table; JSON has all."""
EXPLANATION = (
    "Durations are in milliseconds. False expiries are the share of healthy attempts (for --api-timeout, calls) that "
    "would time out. After >=, the value may be too low because attempts timed out: probe with a longer timeout."
)


def sections(report: Report) -> Iterator[TitledRows]:
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
            (f"{name}: setup time by broker, phases with p50/p99", _nodes(place)),
        ]
    bad: list[Row] = [{"file": file, "line": line or None, "reason": reason} for file, line, reason in read.bad_samples]
    for title, rows in [*tables, (f"Invalid lines: {read.bad_lines}", bad)]:
        most = len(rows) if rows is timeouts else MOST_ROWS
        if rows:
            yield TitledRows(title, rows[:most], max(0, len(rows) - most))


def text_lines(report: Report, width: int | None) -> Iterator[str]:
    """Yield the lines of the report.

    Args: width: columns of the terminal; None for a file.
    """
    for title, rows, more in sections(report):
        yield from _wrap(title, width)
        yield from table_lines(list(rows[0]), rows, width)
        yield from [f"and {more} more"] if more else []
        yield ""
    yield from _wrap(EXPLANATION, width)


def page(report: Report) -> str:
    introduction = (
        f"{report.statistics.lines:,} lines read on {datetime.fromtimestamp(report.now_ms / 1000, UTC):%F %H:%M} UTC "
        f"by kctl {VERSION}. {EXPLANATION}"
    )
    return html_page("Kafka connections", introduction, sections(report))


def _wrap(text: str, width: int | None) -> list[str]:
    return [one_line(text)] if width is None else wrapped(one_line(text), width)


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
