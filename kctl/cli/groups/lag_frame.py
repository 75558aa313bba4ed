"""The frame of `kctl groups lag --watch`: a summary, the lag over time, the table, and errors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kctl.cli.failures import explain
from kctl.cli.formats.rows import Row
from kctl.cli.groups.lag_look import LagLook, shown_columns
from kctl.cli.groups.lag_rates import LagSamples
from kctl.cli.view.painter import text_of
from kctl.cli.view.sparkline import sparkline
from kctl.cli.view.tables import fitting, fitting_table
from kctl.client.clock import duration_text
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, one_line

if TYPE_CHECKING:
    from rich.text import Text

TREND_COLUMNS = 60
"""Minimum columns to show the lag of each partition over time."""
_ALWAYS: tuple[str, ...] = ("group", "topic", "partition", "lag")
_NAMES = ("group", "topic")


def late_frame(before: "Sequence[Text]", error: KafkaError, height: int) -> "list[Text]":
    return [*before[: height - 2], text_of((one_line(explain(error).message), "red"))]


def draw(look: LagLook, samples: LagSamples, summary: str, columns: int, height: int) -> "list[Text]":
    """Return the lines of the frame. Partitions with the most lag are first."""
    notes: list[Text] = [text_of((one_line(note), "yellow")) for note in look.notes]
    notes += [text_of((one_line(explain(error).message), "red")) for error in look.errors]
    room = height - 1  # the cursor stands on a line below
    notes = notes[: max(1, room // 3)]
    head = [text_of((summary, "bold")), *_over_time(samples.totals, columns)]
    width = columns // 5
    all_rows = [
        {**row, "trend": sparkline(samples.trend((lag.group_id, lag.partition)), width)}
        for lag, row in zip(look.lags, look.shown_rows(), strict=True)
    ]
    ranked = sorted(all_rows, key=_badness, reverse=True)
    rows, hidden = fitting(ranked, room - len(head) - 1 - len(notes), _badness)
    names, kept = shown_columns(rows), _ALWAYS
    if len(samples.totals) > 1 and columns >= TREND_COLUMNS:
        names.insert(names.index("lag") + 1, "trend")
        kept = (*_ALWAYS, "trend")
    lines = [*head, *fitting_table(names, rows, columns, kept=kept, shortened=_NAMES)]
    if hidden:
        lines.append(text_of((f"not shown: {counted(len(hidden), 'partition')} with a smaller lag", "dim")))
    return [*lines, *notes][:room]


def _over_time(totals: Sequence[tuple[int, int]], columns: int) -> "list[Text]":
    if len(totals) < 2:
        return []
    (first_ms, first), (last_ms, last) = totals[0], totals[-1]
    words = f" {last - first:+,} in {duration_text(last_ms - first_ms)}"
    line = sparkline([lag for _, lag in totals], max(1, columns - len(words) - len("lag ")))
    style = "yellow" if last > first else "green"
    return [text_of("lag ", (line, style), words)]


def _badness(row: Row) -> float:
    lag = row["lag"]
    return lag if isinstance(lag, int) else float("inf")
