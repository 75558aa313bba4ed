"""Tables and blocks of rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from kctl.cli.formats.columns import columns_of, pieces_of
from kctl.cli.formats.times import ISO
from kctl.client.clock import duration_text
from kctl.client.wording import harmless_text, size_text

Shares = Mapping[str, Sequence[int]]
"""Partition numbers by topic."""
Value = str | int | float | bool | None | Sequence[int] | Shares
Row = Mapping[str, Value]
"""Values by column. All rows have the same columns."""
Paint = Callable[[str, Value, str], str]
"""Function that colors the text of a cell by column and value; headings and names have no column."""

GAP = "  "
"""Space between columns."""
NARROWEST_VALUE = 10
_NO_VALUES: tuple[Value, ...] = (None, "", [], {})
COUNTS = frozenset(
    {
        *("records", "offsets", "lag", "gaps", "unordered", "null_keys", "distinct_keys", "null_values"),
        *(
            "replica_count",
            "source_records",
            "target_records",
            "delivered",
            "failed",
            "unknown",
            "read",
            "filtered",
            "exhausted",
        ),
    }
)
"""Columns whose numbers have separators, unlike offsets and IDs, which users copy into commands."""
INSTANTS = frozenset(
    {
        *("timestamp_ms", "first_timestamp_ms", "last_timestamp_ms", "newest_ms", "started_at_ms"),
        *("last_fetch_ms", "last_caught_up_ms", "not_after_ms"),
    }
)
"""Columns of milliseconds since 1970; other columns with the suffix `_ms` are durations."""


def table_lines(
    columns: Sequence[str], rows: Sequence[Row], width: int | None = None, paint: Paint | None = None
) -> Iterator[str]:
    """Yield the lines of a table with headings; no lines if there are no rows.

    Args: width: columns of the terminal; None for a file, in which widths count characters. A wider table omits empty
        columns; if it is still too wide, each row becomes a block.
    """
    if not rows:
        return
    texts = [[heading(column), *_cells(column, [row[column] for row in rows])] for column in columns]
    measure = len if width is None else columns_of
    widths = [max(map(measure, set(column))) for column in texts]
    if width is not None and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        filled = [name for name in columns if any(row[name] not in _NO_VALUES for row in rows)]
        if 0 < len(filled) < len(columns):
            yield from table_lines(filled, rows, width, paint)
            return
        for number, row in enumerate(rows):
            yield from [""] if number else []
            facts = [(name, row[name]) for name in columns if row[name] not in _NO_VALUES]
            yield from block_lines(facts, width, paint, max(len(_name_of(column)) for column in columns))
        return
    for name, column, most in zip(columns, texts, widths, strict=True):
        pads = {text: " " * (most - measure(text)) for text in set(column)}
        is_right = is_numeric(row[name] for row in rows)
        shown: Iterable[str] = column
        if paint is not None:
            cells = map(paint, repeat(name), (row[name] for row in rows), column[1:])
            shown = [paint("", None, column[0]), *cells]
        column[:] = [
            pads[plain] + text if is_right else text + pads[plain] for text, plain in zip(shown, column, strict=True)
        ]
    yield from map(str.rstrip, map(GAP.join, zip(*texts, strict=True)))


def _cells(column: str, values: Iterable[Value]) -> Iterator[str]:
    known: dict[str, str] = {}
    for value in values:
        if isinstance(value, str):
            text = known.get(value)
            yield known.setdefault(value, cell(value)) if text is None else text
        else:
            yield cell(value, column)


def is_numeric(values: Iterable[Value]) -> bool:
    kinds = {type(value) for value in values}
    return bool(kinds & {int, float}) and kinds <= {int, float, type(None)}


def block_lines(
    facts: Sequence[tuple[str, Value]], width: int | None = None, paint: Paint | None = None, longest: int = 0
) -> Iterator[str]:
    """Yield `name  value` lines. Long values continue on further lines.

    Args: longest: minimum width of the names, which aligns several blocks.
    """
    label = max((longest, *(len(_name_of(name)) for name, _ in facts))) + 2
    for name, value in facts:
        text = cell(value, name)
        pieces = [text] if width is None else pieces_of(text, max(NARROWEST_VALUE, width - label))
        shown = _name_of(name)
        pad = " " * (label - len(shown))
        if paint is not None:
            shown, pieces = paint("", None, shown), [paint(name, value, piece) for piece in pieces]
        yield f"{shown}{pad}{pieces[0]}".rstrip()
        yield from (" " * label + piece for piece in pieces[1:])


def _number_text(value: int, column: str) -> str:
    if column in COUNTS:
        return f"{value:,}"
    if column.split("_")[-1] == "bytes":
        return size_text(value)
    if column in INSTANTS:
        return ISO(value).decode()
    return duration_text(value) if column.endswith("_ms") and value >= 0 else str(value)


def cell_text(value: str | float | Sequence[int] | Shares) -> str:
    """Return a value as text. Partitions by topic become `orders:0-2,5 users:1`."""
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
    return _name_of(column).upper()


def _name_of(column: str) -> str:
    name = column.removesuffix("_ms").replace("size_bytes", "size").replace("bytes", "size").replace("_", " ")
    return _one_line(name)  # some facts have foreign names


def _one_line(text: str) -> str:
    return harmless_text(text).replace("\n", "\\n").replace("\t", "\\t")


def cell(value: Value, column: str = "") -> str:
    """Return the text of a cell; `-` for None.

    Args: column: name that determines the format of numbers: counts, sizes, durations or times.
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _number_text(value, column)
    return _one_line(value if isinstance(value, str) else cell_text(value) or "-")
