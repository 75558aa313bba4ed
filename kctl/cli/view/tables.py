"""Tables on a terminal with colours: rich's `Table`, the cells coloured by what they mean.

Owns the meaning: what is wrong is red, what may become so yellow, what works green. The texts are those of
`formats/rows.py`, whose layout it keeps, so that NO_COLOR shows the same.
Shown by tests/unit/cli/view/test_tables.py and tests/cli/test_terminals.py.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kctl.cli.formats.rows import Row, Value, block_lines, cell, heading
from kctl.cli.view.painter import rendered

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


def coloured_table(columns: Sequence[str], rows: Sequence[Row], width: int | None = None) -> Iterator[str]:
    """Yield a table as `rows.table_lines` does, with colours; blocks where it is wider than the terminal."""
    if not rows:
        return
    if width is not None and width_of(columns, rows) > width:
        longest = max(map(len, columns))
        for number, row in enumerate(rows):
            yield from [""] if number else []
            yield from coloured_block(
                [(name, row[name]) for name in columns if row[name] not in (None, "", [], {})], width, longest
            )
        return
    yield from rendered(rendered_table(columns, rows, width or _UNLIMITED), colour=True)


def width_of(columns: Sequence[str], rows: Sequence[Row]) -> int:
    """Return how many columns of a terminal a table takes."""
    console = _console(_UNLIMITED)
    return console.measure(_table(columns, rows, ())).maximum


def fitting_table(
    columns: Sequence[str], rows: Sequence[Row], width: int, *, kept: Collection[str], shortened: Collection[str]
) -> list[Text]:
    """Return the lines of a table; where it is too wide it loses columns from its end, but those that are kept."""
    shown = list(columns)
    for column in reversed(columns):
        if column not in kept and width_of(shown, rows) > width:
            shown.remove(column)
    return rendered_table(shown, rows, width, shortened)


def rendered_table(
    columns: Sequence[str], rows: Sequence[Row], width: int, shortened: Collection[str] = ()
) -> list[Text]:
    """Return the lines of a table; nothing without rows.

    Args: shortened: columns whose values are cut where the table would be wider than that.
    """
    if not rows:
        return []
    console = _console(width)
    lines = console.render_lines(_table(columns, rows, shortened), pad=False)
    texts = [
        Text.assemble(*((text, style or "") for text, style, _ in Segment.simplify(line)), end="") for line in lines
    ]
    for text in texts:
        text.rstrip()
    return texts


def _table(columns: Sequence[str], rows: Sequence[Row], shortened: Collection[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(_text(heading(column)), no_wrap=column not in shortened)
    for row in rows:
        table.add_row(*(_text(cell(row[column]), style_of(column, row[column])) for column in columns))
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def coloured_block(facts: Sequence[tuple[str, Value]], width: int | None = None, longest: int = 0) -> Iterator[str]:
    """Yield `name  value` lines as `rows.block_lines` does, with colours."""
    label = max((longest, *(len(name) for name, _ in facts))) + 2
    console = _console(_UNLIMITED)
    with console.capture() as capture:
        for name, value in facts:
            style = style_of(name.replace(" ", "_"), value)
            for line in block_lines([(name, value)], width, label - 2):
                console.print(Text.assemble((line[:label], "bold"), (line[label:], style)), soft_wrap=True)
    yield from capture.get().splitlines()


def _console(width: int) -> Console:
    return Console(color_system="standard", force_terminal=True, width=width, highlight=False, markup=False)
