"""The frame of `kctl groups lag --watch` on a terminal: a summary, the table, and what is wrong.

Pure. Shown by tests/cli/test_groups_lag.py on pseudo-terminals.
"""

from collections.abc import Sequence

from kctl.cli.failures import explain
from kctl.cli.formats.rows import Row, table_lines
from kctl.cli.groups.lag_look import Look, shown_columns
from kctl.cli.view.painter import Line, Span, Style
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, harmless_text


def late_frame(before: Sequence[Line], error: KafkaError, height: int) -> list[Line]:
    """Return the frame of the last look with the error of this one below it."""
    return [*before[: height - 2], [Span(harmless_text(explain(error).message), Style.RED)]]


def draw(look: Look, summary: str, height: int) -> list[Line]:
    """Return the frame for a terminal of that height; where rows do not fit, the partitions most behind are shown."""
    notes: list[Line] = [[Span(harmless_text(note), Style.YELLOW)] for note in look.notes]
    notes += [[Span(harmless_text(explain(error).message), Style.RED)] for error in look.errors]
    room = height - 1  # the cursor stands on a line below
    notes = notes[: max(1, room // 3)]
    rows = look.shown_rows()
    fitting = max(1, room - 2 - len(notes))  # the summary and the heading
    hidden = 0
    if len(rows) > fitting:
        hidden = len(rows) - max(1, fitting - 1)
        rows = _worst(rows, len(rows) - hidden)
    lines: list[Line] = [[Span(summary, Style.BRIGHT)]]
    heading, *table = [*table_lines(shown_columns(rows), rows), ""] if rows else [""]
    lines += [[Span(heading, Style.DIM)]] if rows else []
    lines += [[Span(line, _style(row))] for line, row in zip(table, rows, strict=False)]
    if hidden:
        lines.append([Span(f"and {counted(hidden, 'partition')} less behind", Style.DIM)])
    return [*lines, *notes][:room]


def _worst(rows: Sequence[Row], count: int) -> list[Row]:
    """Return the rows with the greatest lag, in the order they had; one whose lag is unknown counts as the worst."""

    def badness(at: int) -> float:
        lag = rows[at]["lag"]
        return lag if isinstance(lag, int) else float("inf")

    kept = sorted(sorted(range(len(rows)), key=badness, reverse=True)[:count])
    return [rows[at] for at in kept]


def _style(row: Row) -> Style:
    if row["lag"] is None or row["deleted_in"] is not None:
        return Style.YELLOW
    return Style.PLAIN
