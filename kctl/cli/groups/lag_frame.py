"""The frame of `kctl groups lag --watch` on a terminal: a summary, the table, and what is wrong.

Pure.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kctl.cli.failures import explain
from kctl.cli.formats.rows import Row
from kctl.cli.groups.lag_look import LagLook, shown_columns
from kctl.cli.view.painter import text_of
from kctl.cli.view.tables import fitting, fitting_table
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, one_line

if TYPE_CHECKING:
    from rich.text import Text

_ALWAYS = ("group", "topic", "partition", "lag")
_NAMES = ("group", "topic")


def late_frame(before: "Sequence[Text]", error: KafkaError, height: int) -> "list[Text]":
    """Return the frame of the last look with the error of this one below it."""
    return [*before[: height - 2], text_of((one_line(explain(error).message), "red"))]


def draw(look: LagLook, summary: str, columns: int, height: int) -> "list[Text]":
    """Return the frame for a terminal of that height; where rows do not fit, the partitions most behind are shown."""
    notes: list[Text] = [text_of((one_line(note), "yellow")) for note in look.notes]
    notes += [text_of((one_line(explain(error).message), "red")) for error in look.errors]
    room = height - 1  # the cursor stands on a line below
    notes = notes[: max(1, room // 3)]
    all_rows = look.shown_rows()
    places, hidden = fitting(range(len(all_rows)), room - 2 - len(notes), lambda at: _badness(all_rows[at]))
    rows = [all_rows[at] for at in sorted(places)]
    lines = [
        text_of((summary, "bold")),
        *fitting_table(shown_columns(rows), rows, columns, kept=_ALWAYS, shortened=_NAMES),
    ]
    if hidden:
        lines.append(text_of((f"and {counted(len(hidden), 'partition')} less behind", "dim")))
    return [*lines, *notes][:room]


def _badness(row: Row) -> float:
    """Return the lag; one that is unknown counts as the worst."""
    lag = row["lag"]
    return lag if isinstance(lag, int) else float("inf")
