"""A report as text, for a terminal of any width: what to set first, then what to know, then the figures.

Shown by tests/unit/pipeline/report/test_table.py.
"""

from collections.abc import Sequence

from kctl.pipeline.jobs.report.limits import Limit
from kctl.pipeline.jobs.report.result import FleetReport, Latency, PlaceReport
from kctl.pipeline.jobs.report.words import duration_words, ms_words, share_words

MOST_NODES = 50
"""Nodes of a place that are listed, the ones with most trouble first; JSON has all."""


def table_lines(report: FleetReport) -> list[str]:
    """Return the lines of the table."""
    lines = [_what_was_read(report), ""]
    lines += _aligned(
        [
            ("PLACE", "CONNECT", "REQUEST", "API", "FALSE EXPIRIES", "AT MOST", "SAMPLES"),
            *(_limits_row(place) for place in report.places),
        ]
    )
    lines += [
        "",
        "CONNECT, REQUEST and API are what to give as --connect-timeout, --request-timeout and --api-timeout;",
    ]
    lines += ["false expiries: connects that would expire although all is well; >= the samples were cut off too early."]
    if report.findings:
        lines += ["", "Findings"]
        lines += [
            f"  {each.severity}: {_where(each.place, each.node)}{each.text} [{each.id}]" for each in report.findings
        ]
    for place in report.places:
        lines += ["", *_place_lines(place)]
    if report.bad_lines:
        lines += ["", f"Lines that could not be used: {report.bad_lines}"]
        lines += [f"  {bad.file}:{bad.line}: {bad.why}" for bad in report.bad_samples]
        if report.bad_lines > len(report.bad_samples):
            lines += [f"  and {report.bad_lines - len(report.bad_samples)} more"]
    return lines


def _what_was_read(report: FleetReport) -> str:
    text = f"{report.files} files, {report.lines} lines, {len(report.places)} places"
    if report.unfinished_files:
        text += f"; {report.unfinished_files} cut off before their end"
    if report.unknown:
        text += f"; skipped {sum(report.unknown.values())} of other kinds or versions ({', '.join(report.unknown)})"
    return text


def _limits_row(place: PlaceReport) -> Sequence[str]:
    connect = place.limits.connect
    return (
        place.place,
        *(_limit_words(limit) for limit in place.limits),
        "-" if connect is None else share_words(connect.false_expiries),
        "-" if connect is None else share_words(connect.false_expiries_at_most),
        "0" if connect is None else str(connect.samples + connect.cuts),
    )


def _limit_words(limit: Limit | None) -> str:
    if limit is None:
        return "-"
    return (">=" if limit.is_lower_bound else "") + duration_words(limit.limit_ms)


def _where(place: str, node: str) -> str:
    return ", ".join(word for word in (place, node) if word) + (": " if place or node else "")


def _place_lines(place: PlaceReport) -> list[str]:
    rows: list[Sequence[str]] = [
        ("  NODE", "READY", "EXPIRED", "FAILED", "CHANGES", "P50", "P99", "P99.9", "SLOWEST", "PHASES (P50/P99)")
    ]
    shown = sorted(place.nodes, key=lambda node: (node.ready - node.attempts, node.node))[:MOST_NODES]
    for node in shown:
        rows.append(
            (
                f"  {node.node}",
                str(node.ready),
                f"{node.expired} ({share_words(node.expiry_rate)})" if node.expired else "0",
                str(node.failed),
                str(node.changes) + (" flapping" if node.is_flapping else ""),
                *_latency_words(node.setup),
                " ".join(
                    f"{name} {ms_words(each.p50_ms)}/{ms_words(each.p99_ms)}" for name, each in node.phases.items()
                ),
            )
        )
    head = f"{place.place}: {place.files} files, {place.rounds} rounds, {place.traces} traces; milliseconds"
    more = [f"  and {len(place.nodes) - len(shown)} more"] if len(place.nodes) > len(shown) else []
    return [head, *_aligned(rows), *more]


def _latency_words(latency: Latency) -> tuple[str, ...]:
    return tuple(ms_words(ms) for ms in (latency.p50_ms, latency.p99_ms, latency.p999_ms, latency.slowest_ms))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
