"""Waterfall of a call: bars for the API timer, and each connection attempt and request, on one scale."""

from collections.abc import Sequence

from kctl.cli.formats.columns import fitted
from kctl.cli.trace.spans import End, Span
from kctl.grammar.durations import show_duration

_LABEL_COLUMNS = 36
_TIME_COLUMNS = 16
_LEAST_BAR = 10
_ENDS = {
    End.RUNNING: ("under way", "cyan"),
    End.DONE: ("", "green"),
    End.FAILED: ("failed", "red"),
    End.EXPIRED: ("expired", "yellow"),
    End.DROPPED: ("dropped", "dim"),
}
Line = tuple[str, str, str]
"""Label, bar, and style of the bar."""


def waterfall(
    spans: Sequence[Span], *, started_at_ms: int, ended_at_ms: int, limit_ms: int, width: int, more: int = 0
) -> list[Line]:
    """Return the lines of the waterfall.

    Args:
        limit_ms: --api-timeout.
        width: columns of the terminal.
        more: number of spans that are not shown.
    """
    elapsed_ms = max(1, ended_at_ms - started_at_ms)
    columns = max(_LEAST_BAR, width - _LABEL_COLUMNS - _TIME_COLUMNS - 4)

    def column(at_ms: int) -> int:
        return min(columns - 1, max(0, (at_ms - started_at_ms) * columns // elapsed_ms))

    head = f"api timer, {elapsed_ms} ms of {show_duration(limit_ms)}"
    lines = [(_start(head, f"{elapsed_ms} ms"), "=" * columns, "bold")]
    for span in spans:
        end_ms = ended_at_ms if span.ended_at_ms is None else span.ended_at_ms
        first = column(span.started_at_ms)
        bar = " " * first + "-" * (max(first, column(end_ms)) - first) + span.end.value
        word, style = _ENDS[span.end]
        lines.append((_start(span.label, f"{end_ms - span.started_at_ms} ms {word}".rstrip()), bar, style))
    lines += [(f"and {more} more", "", "")] if more else []
    return [*lines, ("| done   x failed   T timed out   - dropped   > under way", "", "")]


def _start(label: str, time: str) -> str:
    return f"{fitted(label, _LABEL_COLUMNS)} {time:>{_TIME_COLUMNS}} "
