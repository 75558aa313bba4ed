"""Rows on stdout, in the shape that was asked for. Shown by tests/cli/test_topics.py and tests/cli/test_pipeline.py."""

from collections.abc import Sequence

from kctl.cli.data_out import DataOut
from kctl.cli.formats.rows import Row, json_lines, json_text, table_lines
from kctl.cli.options import Common, Output


def write_rows(common: Common, output: Output, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows: a table as wide as the terminal, if there is one; JSON, or JSON lines."""
    out = DataOut(common.environment.stdout)
    if output is Output.JSON:
        out.write_line(json_text(rows))
    else:
        lines = table_lines(columns, rows, common.environment.table_width)
        for line in lines if output is Output.TABLE else json_lines(rows):
            out.write_line(line)
    out.flush()
