"""Colors of table cells, and tables that omit columns to fit a frame.

Red is wrong, yellow may become wrong, green works.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kctl.cli.formats.columns import columns_of
from kctl.cli.formats.rows import GAP, Row, Value, cell, heading, is_numeric
from kctl.cli.view.painter import coloured, text_of

if TYPE_CHECKING:
    from rich.text import Text

Item = TypeVar("Item")
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
    **dict.fromkeys(("behind", "deleted_in", "lag", "note"), _any(_DOUBTFUL)),
    **dict.fromkeys(("differing", "error", "failed", "gaps", "missing"), _any(_WRONG)),
    **dict.fromkeys(("offline", "offline_replicas", "under_replicated"), _any(_WRONG)),
    "level": lambda value: _LEVELS.get(str(value), ""),
    "outcome": lambda value: _OUTCOMES.get(str(value), ""),
    "result": _result,
    "state": lambda value: _STATES.get(str(value), ""),
    "verdict": lambda value: _RIGHT if value == "running" else _WRONG,
}
"""Styles of fields by value; other fields have none."""


def style_of(column: str, value: Value) -> str:
    return MEANINGS[column](value) if column in MEANINGS and value is not None else ""


def painted(column: str, value: Value, text: str) -> str:
    """Return the text of a cell in its color; headings and names are bold."""
    style = style_of(column.replace(" ", "_"), value) if column else "bold"
    return coloured(text, style) if style else text


def fitting_table(
    columns: Sequence[str], rows: Sequence[Row], width: int, *, kept: Collection[str], shortened: Collection[str]
) -> "list[Text]":
    """Return the lines of a table that fits a frame; empty if there are no rows.

    Args:
        kept: columns to keep. Other columns are omitted from the end if the table is too wide.
        shortened: columns whose values are cut if the table is still too wide.
    """
    texts = {column: [heading(column), *(cell(row[column], column) for row in rows)] for column in columns}
    numeric = {column for column in columns if is_numeric(row[column] for row in rows)}
    widths = {column: max(map(columns_of, texts[column])) for column in columns}

    def excess() -> int:
        return sum(widths.values()) + len(GAP) * (len(widths) - 1) - width

    for column in reversed(columns):
        if column not in kept and excess() > 0:
            del widths[column]
    for _ in range(excess()):
        longest = max(shortened, key=lambda column: widths[column])
        widths[longest] = max(1, widths[longest] - 1)
    lines = []
    for at in range(len(rows) + 1 if rows else 0):
        parts: list[Text | str] = []
        for column, most in widths.items():
            part = text_of((texts[column][at], style_of(column, rows[at - 1][column]) if at else "bold"))
            part.truncate(most)
            part.align("right" if column in numeric else "left", most)
            parts += [part, GAP]
        line = text_of(*parts)
        line.rstrip()
        lines.append(line)
    return lines


def fitting(
    items: Sequence[Item], room: int, badness: Callable[[Item], Any], height: int = 1
) -> tuple[Sequence[Item], Sequence[Item]]:
    """Return the items that fit, and the others. Unless all fit, the worst are first.

    Args:
        room: lines. One line is reserved for the number of other items.
        height: lines per item.
    """
    if len(items) * height <= room:
        return items, ()
    ranked = sorted(items, key=badness, reverse=True)
    most = max(1, (room - 1) // height)
    return ranked[:most], ranked[most:]
