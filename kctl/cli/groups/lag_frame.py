"""The frame of `kctl groups lag --watch` on a terminal: a summary, the table, and what is wrong.

Pure. Shown by tests/cli/test_groups_lag.py on pseudo-terminals.
"""

from collections.abc import Sequence

from rich.text import Text

from kctl.cli.failures import explain
from kctl.cli.formats.rows import Row
from kctl.cli.groups.lag_look import LagLook, shown_columns
from kctl.cli.view.painter import text_of
from kctl.cli.view.tables import fitting_table
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, harmless_text

_ALWAYS = ("group", "topic", "partition", "lag")
_NAMES = ("group", "topic")


def late_frame(before: Sequence[Text], error: KafkaError, height: int) -> list[Text]:
    """Return the frame of the last look with the error of this one below it."""
    return [*before[: height - 2], text_of((harmless_text(explain(error).message), "red"))]


def draw(look: LagLook, summary: str, columns: int, height: int) -> list[Text]:
    """Return the frame for a terminal of that height; where rows do not fit, the partitions most behind are shown."""
    notes: list[Text] = [text_of((harmless_text(note), "yellow")) for note in look.notes]
    notes += [text_of((harmless_text(explain(error).message), "red")) for error in look.errors]
    room = height - 1  # the cursor stands on a line below
    notes = notes[: max(1, room // 3)]
    rows = look.shown_rows()
    fitting = max(1, room - 2 - len(notes))  # the summary and the heading
    hidden = 0
    if len(rows) > fitting:
        hidden = len(rows) - max(1, fitting - 1)
        rows = _worst(rows, len(rows) - hidden)
    lines: list[Text] = [
        text_of((summary, "bold")),
        *fitting_table(shown_columns(rows), rows, columns, kept=_ALWAYS, shortened=_NAMES),
    ]
    if hidden:
        lines.append(text_of((f"and {counted(hidden, 'partition')} less behind", "dim")))
    return [*lines, *notes][:room]


def _worst(rows: Sequence[Row], count: int) -> list[Row]:
    """Return the rows with the greatest lag, in the order they had; one whose lag is unknown counts as the worst."""

    def badness(at: int) -> float:
        lag = rows[at]["lag"]
        return lag if isinstance(lag, int) else float("inf")

    kept = sorted(sorted(range(len(rows)), key=badness, reverse=True)[:count])
    return [rows[at] for at in kept]
