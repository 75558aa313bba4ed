"""Rows of plain values as a table, or in blocks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from kctl.cli.formats.columns import columns_of, pieces_of
from kctl.client.wording import harmless_text

Shares = Mapping[str, Sequence[int]]
"""Partition numbers by topic."""
Value = str | int | float | bool | None | Sequence[int] | Shares
Row = Mapping[str, Value]
"""Values by column; the same columns in each row."""
Paint = Callable[[str, Value, str], str]
"""Colours the text of a cell by its column and value; headings and names have no column."""

GAP = "  "
"""Between two columns."""
NARROWEST_VALUE = 10


def table_lines(
    columns: Sequence[str], rows: Sequence[Row], width: int | None = None, paint: Paint | None = None
) -> Iterator[str]:
    """Yield a headed table, line by line: columns as wide as their content, two spaces between them.

    Nothing without rows: neither a heading.

    Args: width: of the terminal it is for; where the table is wider, each row becomes a block of names and values.
        None: no terminal shows it, and columns are counted in characters.
    """
    if not rows:
        return
    texts = [[heading(column), *_cells(row[column] for row in rows)] for column in columns]
    measure = len if width is None else columns_of
    widths = [max(map(measure, set(column))) for column in texts]
    if width is not None and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        for number, row in enumerate(rows):
            yield from [""] if number else []
            facts = [(name, row[name]) for name in columns if row[name] not in (None, "", [], {})]
            yield from block_lines(facts, width, paint, max(map(len, columns)))
        return
    for name, column, most in zip(columns, texts, widths, strict=True):
        pads = {text: " " * (most - measure(text)) for text in set(column)}
        shown: Iterable[str] = column
        if paint is not None:
            cells = map(paint, repeat(name), (row[name] for row in rows), column[1:])
            shown = [paint("", None, column[0]), *cells]
        column[:] = [text + pads[plain] for text, plain in zip(shown, column, strict=True)]
    yield from map(str.rstrip, map(GAP.join, zip(*texts, strict=True)))


def _cells(values: Iterable[Value]) -> Iterator[str]:
    """Yield the text of each value; long columns have few values, so that each text is made once."""
    known: dict[str, str] = {}
    for value in values:
        if isinstance(value, str):
            text = known.get(value)
            yield known.setdefault(value, cell(value)) if text is None else text
        else:
            yield cell(value)


def block_lines(
    facts: Sequence[tuple[str, Value]], width: int | None = None, paint: Paint | None = None, longest: int = 0
) -> Iterator[str]:
    """Yield `name  value` lines; what is too long for the width continues below its beginning.

    Args: longest: characters of the longest name, where other blocks are to stand in line with this one.
    """
    label = max((longest, *(len(name) for name, _ in facts))) + 2
    for name, value in facts:
        text = cell(value)
        pieces = [text] if width is None else pieces_of(text, max(NARROWEST_VALUE, width - label))
        shown = name.replace("_", " ")
        pad = " " * (label - len(shown))
        if paint is not None:
            shown, pieces = paint("", None, shown), [paint(name, value, piece) for piece in pieces]
        yield f"{shown}{pad}{pieces[0]}".rstrip()
        yield from (" " * label + piece for piece in pieces[1:])


def cell_text(value: str | float | Sequence[int] | Shares) -> str:
    """Return a value as one text: numbers with commas, partitions by topic as `orders:0-2,5 users:1`."""
    if isinstance(value, Mapping):
        return " ".join(f"{topic}:{_spans(sorted(numbers))}" for topic, numbers in value.items() if numbers)
    return str(value) if isinstance(value, str | int | float) else ",".join(map(str, value))


def _spans(numbers: Sequence[int]) -> str:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def heading(column: str) -> str:
    """Return the heading of a column."""
    return column.replace("_", " ").upper()


def cell(value: Value) -> str:
    """Return a value as the text of a cell; `-` where there is none."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return harmless_text(value).replace("\n", "\\n").replace("\t", "\\t")
    return harmless_text(cell_text(value)) or "-"
