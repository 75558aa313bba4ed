"""The colours of tables by meaning, and tables of frames, which rich's `Table` makes fit.

Owns the meaning: what is wrong is red, what may become so yellow, what works green. `formats/rows.py` lays tables out.
Shown by tests/unit/cli/view/test_tables.py and tests/cli/test_terminals.py.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from kctl.cli.formats.rows import Row, Value, cell, heading
from kctl.cli.view.painter import coloured

if TYPE_CHECKING:
    from rich.table import Table

_UNLIMITED = 1 << 15
_WRONG, _DOUBTFUL, _RIGHT, _LESS = "red", "yellow", "green", "dim"
_STATES = {
    "Stable": _RIGHT, "Empty": _LESS, "Dead": _WRONG,
    "PreparingRebalance": _DOUBTFUL, "CompletingRebalance": _DOUBTFUL, "Assigning": _DOUBTFUL, "Reconciling": _DOUBTFUL,
}  # fmt: skip
_LEVELS = {"error": _WRONG, "warning": _DOUBTFUL, "note": _LESS}
_OUTCOMES = {"ready": _RIGHT, "failed": _WRONG, "expired": _WRONG}


def _any(style: str) -> Callable[[Value], str]:
    return lambda value: style if value else ""


def _result(value: Value) -> str:
    text = str(value)
    return _WRONG if text.startswith("failed") else _LESS if text.startswith("would") else _RIGHT


MEANINGS: dict[str, Callable[[Value], str]] = {
    "behind": _any(_DOUBTFUL),
    "deleted_in": _any(_DOUBTFUL),
    "differing": _any(_WRONG),
    "error": _any(_WRONG),
    "failed": _any(_WRONG),
    "gaps": _any(_WRONG),
    "lag": _any(_DOUBTFUL),
    "level": lambda value: _LEVELS.get(str(value), ""),
    "missing": _any(_WRONG),
    "note": _any(_DOUBTFUL),
    "offline": _any(_WRONG),
    "offline_replicas": _any(_WRONG),
    "outcome": lambda value: _OUTCOMES.get(str(value), ""),
    "result": _result,
    "state": lambda value: _STATES.get(str(value), ""),
    "under_replicated": _any(_WRONG),
    "verdict": lambda value: _RIGHT if value == "running" else _WRONG,
}
"""The style of a field by its value; what is not here has none."""


def style_of(column: str, value: Value) -> str:
    """Return the style of a cell; nothing for a value that is not known."""
    return MEANINGS[column](value) if column in MEANINGS and value is not None else ""


def painted(column: str, value: Value, text: str) -> str:
    """Return the text of a cell in the colour of its meaning; headings and names are bold."""
    style = style_of(column.replace(" ", "_"), value) if column else "bold"
    return coloured(text, style) if style else text


def fitting_table(
    columns: Sequence[str], rows: Sequence[Row], width: int, *, kept: Collection[str], shortened: Collection[str]
) -> list[Text]:
    """Return the lines of a table that fits a frame; nothing without rows.

    Args:
        kept: columns that it has always; where it is too wide it loses others, from its end.
        shortened: columns whose values are cut where it is still too wide.
    """
    if not rows:
        return []
    shown = list(columns)
    for column in reversed(columns):
        if column not in kept and _console(_UNLIMITED).measure(_table(shown, rows, ())).maximum > width:
            shown.remove(column)
    texts = []
    for line in _console(width).render_lines(_table(shown, rows, shortened), pad=False):
        text = Text.assemble(*((text, style or "") for text, style, _ in Segment.simplify(line)), end="")
        text.rstrip()
        texts.append(text)
    return texts


def _table(columns: Sequence[str], rows: Sequence[Row], shortened: Collection[str]) -> "Table":
    from rich.table import Table  # 5 ms of import, wanted for frames alone

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(_text(heading(column)), no_wrap=column not in shortened)
    for row in rows:
        table.add_row(*(_text(cell(row[column]), style_of(column, row[column])) for column in columns))
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _console(width: int) -> Console:
    return Console(color_system="standard", force_terminal=True, width=width, highlight=False, markup=False)
