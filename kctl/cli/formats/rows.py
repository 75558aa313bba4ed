"""Rows of plain values as a table, as JSON or as JSON lines. Shown by tests/unit/cli/formats/test_rows.py."""

import json
from collections.abc import Iterator, Sequence

from kctl.cli.formats.terminal import harmless_text

Value = str | int | bool | None | list[int]
Row = dict[str, Value]
"""Values by column, in the order of the columns; the same columns in each row."""


def table_lines(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yield a headed table, line by line: columns as wide as their content, two spaces between them."""
    cells = [[_heading(column) for column in columns], *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def json_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one object a row."""
    return map(json.dumps, rows)


def json_text(rows: Sequence[Row]) -> str:
    """Return one array of all rows."""
    return json.dumps(rows, indent=2)


def _heading(column: str) -> str:
    return column.replace("_", " ").upper()


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return harmless_text(str(value)).replace("\n", "\\n").replace("\t", "\\t")
