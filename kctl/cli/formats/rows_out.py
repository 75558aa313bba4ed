"""Rows on stdout, in the shape that was asked for. Shown by tests/cli/test_topics.py and tests/cli/test_pipeline.py."""

from collections.abc import Iterable, Sequence

from kctl.cli.data_out import DataOut
from kctl.cli.formats.rows import Row, json_lines, json_text, table_lines
from kctl.cli.options import Common, Output


def write_rows(common: Common, output: Output, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows: a table as wide as the terminal, if there is one; JSON, or JSON lines."""
    write_lines(common, format_rows(common, output, columns, rows))


def format_rows(common: Common, output: Output, columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return the rows as `write_rows` writes them, for `write_lines`."""
    if output is Output.JSON:
        return [json_text(rows)]
    return list(
        table_lines(columns, rows, common.environment.table_width) if output is Output.TABLE else json_lines(rows)
    )


def write_lines(common: Common, lines: Iterable[str]) -> None:
    """Write lines to stdout."""
    out = DataOut(common.environment.stdout)
    for line in lines:
        out.write_line(line)
    out.flush()
