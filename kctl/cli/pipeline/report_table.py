"""A report as text, for a terminal of any width: what to set first, then what to know, then the figures.

Shown by tests/unit/cli/test_report_table.py and, on terminals, tests/cli/test_pipeline_terminal.py.
"""

import textwrap
from collections.abc import Iterator

from kctl.cli.formats.rows import Row, table_lines
from kctl.cli.formats.terminal import harmless_text
from kctl.pipeline.jobs.report.limits import Limit
from kctl.pipeline.jobs.report.result import FleetReport, NodeReport, PlaceReport
from kctl.pipeline.jobs.report.words import (
    count_words,
    date_words,
    days_words,
    duration_words,
    line_words,
    ms_words,
    share_words,
)

MOST_NODES = 50
"""Nodes of a place that are listed, the ones with most trouble first; JSON has all."""
MOST_CERTIFICATES = 20
LIMIT_COLUMNS = ("place", "option", "limit", "false_expiries", "at_most", "samples")
CERTIFICATE_COLUMNS = ("ends", "when", "node", "place", "subject")
NODE_COLUMNS = (
    "node", "ready", "expired", "failed", "changes", "p50", "p99", "p99.9", "slowest", "phases",
)  # fmt: skip
EXPLANATION = (
    "False expiries are attempts (of --api-timeout: calls) that would expire although all is well, at most so many "
    "with 95 % certainty; >=: the samples were cut off too early to tell."
)


def report_lines(report: FleetReport, width: int | None = None) -> Iterator[str]:
    """Yield the lines.

    Args: width: of the terminal it is for; None where nobody looks at it.
    """
    yield from _wrapped(_what_was_read(report), width)
    yield ""
    yield from table_lines(LIMIT_COLUMNS, [row for place in report.places for row in _limit_rows(place)], width)
    yield ""
    yield from _wrapped(EXPLANATION, width)
    if report.findings:
        yield from ("", "Findings")
        for each in report.findings:
            text = f"{each.severity}: {_where(each.place, each.node)}{each.text} [{each.id}]"
            yield from _wrapped(text, width, "  ", "    ")
    for place in report.places:
        yield ""
        yield from _place_lines(place, width)
    certificates = [row for place in report.places for row in _certificate_rows(place)]
    if certificates:
        yield from ("", "Certificates, the first to end first")
        rows = [row for _, row in sorted(certificates, key=lambda each: each[0])]
        yield from table_lines(CERTIFICATE_COLUMNS, rows[:MOST_CERTIFICATES], width)
        if len(rows) > MOST_CERTIFICATES:
            yield f"and {len(rows) - MOST_CERTIFICATES} more"
    if report.bad_lines:
        yield from ("", f"Lines that could not be used: {report.bad_lines}")
        for bad in report.bad_samples:
            yield from _wrapped(line_words(bad), width, "  ", "    ")
        if report.bad_lines > len(report.bad_samples):
            yield f"  and {report.bad_lines - len(report.bad_samples)} more"


def _wrapped(text: str, width: int | None, first: str = "", others: str = "") -> list[str]:
    harmless = harmless_text(text)
    if width is None:
        return [first + harmless]
    return textwrap.wrap(harmless, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def _what_was_read(report: FleetReport) -> str:
    counts = ((report.files, "file"), (report.lines, "line"), (len(report.places), "place"))
    text = ", ".join(count_words(count, what) for count, what in counts)
    if report.unfinished_files:
        text += f"; {report.unfinished_files} cut off before their end"
    if report.unknown:
        text += f"; skipped {sum(report.unknown.values())} of other kinds or versions ({', '.join(report.unknown)})"
    return text


def _limit_rows(place: PlaceReport) -> Iterator[Row]:
    for name, limit in place.limits._asdict().items():
        given: Limit | None = limit
        yield {
            "place": place.place,
            "option": f"--{name}-timeout",
            "limit": None if given is None else (">=" if given.is_lower_bound else "") + duration_words(given.limit_ms),
            "false_expiries": None if given is None else share_words(given.false_expiries),
            "at_most": None if given is None else share_words(given.false_expiries_at_most),
            "samples": None if given is None else given.samples + given.cuts,
        }


def _certificate_rows(place: PlaceReport) -> Iterator[tuple[tuple[int, str, str], Row]]:
    for node in place.nodes:
        found = node.certificate
        if found is not None:
            when, left = date_words(found.not_after_ms), days_words(found.days_left)
            cells = (when, left, node.node, place.place, found.subject)
            key = (found.not_after_ms, place.place, node.node)
            yield key, dict(zip(CERTIFICATE_COLUMNS, cells, strict=True))


def _where(place: str, node: str) -> str:
    return ", ".join(word for word in (place, node) if word) + (": " if place or node else "")


def _place_lines(place: PlaceReport, width: int | None) -> Iterator[str]:
    shown = sorted(place.nodes, key=lambda node: (node.ready - node.attempts, node.node))[:MOST_NODES]
    counts = ((place.files, "file"), (place.rounds, "round"), (place.traces, "trace"))
    text = ", ".join(count_words(count, what) for count, what in counts)
    yield from _wrapped(f"{place.place}: {text}; milliseconds, phases with P50/P99", width)
    yield from table_lines(NODE_COLUMNS, [_node_row(node) for node in shown], width)
    if len(place.nodes) > len(shown):
        yield f"and {len(place.nodes) - len(shown)} more"


def _node_row(node: NodeReport) -> Row:
    return {
        "node": node.node,
        "ready": node.ready,
        "expired": f"{node.expired} ({share_words(node.expiry_rate)})" if node.expired else 0,
        "failed": node.failed,
        "changes": f"{node.changes}{' flapping' if node.is_flapping else ''}",
        "p50": ms_words(node.setup.p50_ms),
        "p99": ms_words(node.setup.p99_ms),
        "p99.9": ms_words(node.setup.p999_ms),
        "slowest": ms_words(node.setup.slowest_ms),
        "phases": " ".join(
            f"{name} {ms_words(each.p50_ms)}/{ms_words(each.p99_ms)}" for name, each in node.phases.items()
        ),
    }
