"""What `kctl groups` prints: sections of rows as tables, one object, an object a line, or CSV.

Owns the shapes and how a table becomes readable on a narrow terminal; knows neither groups nor brokers.
Shown by tests/unit/cli/groups/test_view.py and tests/cli/test_groups.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.data_out import DataOut
from kctl.cli.formats.rows import Value, block_lines, table_lines
from kctl.cli.options import Common, Output
from kctl.client.wording import harmless_text

VERSION = 1
"""Of the objects; within a version fields are added, never renamed or removed."""
SHAPES = (Output.TABLE, Output.JSON, Output.JSONL, Output.CSV)

Shares = Mapping[str, Sequence[int]]
"""Partition numbers by topic."""
Cell = str | int | bool | Shares | None
Row = Mapping[str, Cell]


class Table(NamedTuple):
    """Rows of one kind.

    Attributes:
        name: under which they stand in the JSON object.
        columns: in their order; each row has them all.
        facts: what a table tells first, a line each; CSV leaves it out, for its rows name the group.
        objects: what JSON has in place of the rows, where it has more than they.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Row]
    facts: Sequence[tuple[str, Cell]] = ()
    objects: Sequence[Mapping[str, object]] | None = None


def write_tables(common: Common, output: Output, tables: Sequence[Table], *, extra: Mapping[str, object]) -> None:
    """Write tables of one kind to stdout.

    Args: extra: what each JSON object has besides the rows.
    """
    environment = common.environment
    out = DataOut(environment.stdout)
    if output is Output.TABLE:
        for line in _table_text(tables, environment.table_width):
            out.write_line(line)
    elif output is Output.CSV:
        for line in _csv_lines(tables):
            out.write_line(harmless_text(line) if environment.stdout_is_tty else line)
    else:
        import json  # wanted only here

        objects = [each for table in tables for each in table.objects or table.rows]
        if output is Output.JSON:
            out.write_line(json.dumps({"v": VERSION, **extra, tables[0].name: objects}, indent=2))
        else:
            for each in objects:
                out.write_line(json.dumps({"v": VERSION, **extra, **each}))
    out.flush()


def shares_text(shares: Shares) -> str:
    """Return partition numbers by topic in a few words: `orders:0-2,5 users:1`."""
    return " ".join(f"{topic}:{_spans(sorted(numbers))}" for topic, numbers in shares.items() if numbers)


def _spans(numbers: Sequence[int]) -> str:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _plain(cell: Cell) -> str | int | None:
    return (shares_text(cell) or None) if isinstance(cell, Mapping) else cell


def _table_text(tables: Sequence[Table], columns: int | None) -> Iterator[str]:
    """Yield tables with an empty line between them; on a narrow terminal each row becomes a block."""
    for number, table in enumerate(tables):
        if number:
            yield ""
        if table.facts:
            yield from block_lines([(name, _plain(cell)) for name, cell in table.facts], columns)
        if not table.rows and table.facts:
            continue
        if table.facts:
            yield ""
        rows: list[dict[str, Value]] = [{name: _plain(row[name]) for name in table.columns} for row in table.rows]
        yield from table_lines(table.columns, rows, columns)


def _csv_lines(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a header and the rows of all tables, which have the same columns (RFC 4180, but with line feeds)."""
    yield ",".join(tables[0].columns)
    for table in tables:
        for row in table.rows:
            yield ",".join(csv_cell(_plain(row[name])) for name in table.columns)


def csv_cell(value: str | int | None) -> str:
    """Return a value as one field of a CSV line; nothing is an empty field."""
    if value is None:
        return ""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    if any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def say_dry_run(common: Common, what: str) -> None:
    """Tell that nothing was done, what would be, and how to do it."""
    common.say(f"kctl groups: dry run, nothing was changed: {what}; --execute does it")
