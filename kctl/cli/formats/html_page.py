"""HTML page of tables, without scripts. Input is escaped, including control characters."""

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from kctl.cli.failures import file_error
from kctl.cli.formats.rows import Row
from kctl.cli.private_file import write_private
from kctl.client.wording import one_line

_STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;padding:16px;max-width:1200px;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
section{overflow-x:auto}
h2{font-size:1.1rem;margin:1.6em 0 .3em}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:3px 14px 3px 0;border-bottom:1px solid #8885;min-width:3em}
@media print{tr{break-inside:avoid}}
"""


class TitledRows(NamedTuple):
    """Table of a page. `more`: number of rows that are omitted."""

    title: str
    rows: Sequence[Row]
    more: int = 0


def html_page(title: str, introduction: str, tables: Iterable[TitledRows]) -> str:
    """Return the page. Tables must have at least one row."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_shown(title)}</title><style>{_STYLE}</style></head><body><h1>{_shown(title)}</h1>"
        f"<p>{_shown(introduction)}</p>{''.join(map(_section, tables))}</body></html>\n"
    )


def check_page(path: Path) -> None:
    """Raise the errors of `write_page` in advance, without changing files."""
    try:
        if not os.path.lexists(path):
            path.touch(exist_ok=False)
            path.unlink()
        elif path.is_file() or path.is_dir():  # opening a pipe would block
            path.open("ab").close()
    except OSError as e:
        raise file_error(f"--html {path}", e) from None


def write_page(path: Path, page: str) -> None:
    try:
        write_private(path, page)
    except OSError as e:
        raise file_error(f"--html {path}", e) from None


def _shown(text: str) -> str:
    return escape(one_line(text))


def _section(table: TitledRows) -> str:
    head = "".join(f"<th>{_shown(column.replace('_', ' '))}</th>" for column in table.rows[0])
    cells = (("-" if value is None else _shown(str(value)) for value in row.values()) for row in table.rows)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    last = f"<p>and {table.more} more</p>" if table.more else ""
    return f"<section><h2>{_shown(table.title)}</h2><table><tr>{head}</tr>{body}</table>{last}</section>"
