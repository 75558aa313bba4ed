"""The waterfall: the API timer as one bar, and under it each attempt and request as a bar on the same scale. Pure.

It is the picture of spec/consumer-timeouts: how many tries fitted into the call, and which limit ended each.
Shown by tests/unit/cli/trace/test_trace.py.
"""

from collections.abc import Sequence

from kctl.cli.trace.spans import End, Span
from kctl.grammar.durations import show_duration

_LABEL_COLUMNS = 36
_TIME_COLUMNS = 16
_LEAST_BAR = 10
_WORDS = {
    End.RUNNING: "under way",
    End.DONE: "",
    End.FAILED: "failed",
    End.EXPIRED: "expired",
    End.DROPPED: "dropped",
}


def waterfall(
    spans: Sequence[Span], *, started_at_ms: int, ended_at_ms: int, limit_ms: int, width: int, more: int = 0
) -> list[str]:
    """Return the lines of the picture.

    Args:
        started_at_ms, ended_at_ms: of the call; limit_ms: --api-timeout.
        width: columns of the terminal; more: spans that are not shown.
    """
    elapsed_ms = max(1, ended_at_ms - started_at_ms)
    columns = max(_LEAST_BAR, width - _LABEL_COLUMNS - _TIME_COLUMNS - 4)
    head = f"api timer, {elapsed_ms} ms of {show_duration(limit_ms)}"
    lines = [_line(head, "=" * columns, f"{elapsed_ms} ms")]
    for span in spans:
        end_ms = ended_at_ms if span.ended_at_ms is None else span.ended_at_ms
        first = _column(span.started_at_ms - started_at_ms, elapsed_ms, columns)
        last = max(first, _column(end_ms - started_at_ms, elapsed_ms, columns))
        bar = " " * first + "-" * (last - first) + span.end.value
        word = _WORDS[span.end]
        lines.append(_line(span.label, bar, f"{end_ms - span.started_at_ms} ms {word}".rstrip()))
    if more:
        lines.append(f"and {more} more")
    lines.append("| done   x failed   T its limit passed   - dropped   > under way")
    return lines


def _column(at_ms: int, total_ms: int, columns: int) -> int:
    return min(columns - 1, max(0, at_ms * columns // total_ms))


def _line(label: str, bar: str, time: str) -> str:
    short = label if len(label) <= _LABEL_COLUMNS else label[: _LABEL_COLUMNS - 1] + "~"
    return f"{short:<{_LABEL_COLUMNS}} {time:>{_TIME_COLUMNS}} {bar}".rstrip()
