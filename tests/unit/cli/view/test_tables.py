"""Tables with colours: the layout of the plain ones, and the style of each meaning."""

import re

import pytest

from kctl.cli.formats.rows import Row, block_lines, table_lines
from kctl.cli.view.tables import painted, style_of

COLUMNS = ("group", "lag", "state", "note")
ROWS: list[Row] = [
    {"group": "\u65e5\u672c\U0001f680", "lag": 3, "state": "Stable", "note": None},
    {"group": "[red]b[/red]", "lag": 0, "state": "Dead", "note": "the end is not known"},
]


def uncoloured(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip()


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_layout_is_that_of_the_plain_table(width: int) -> None:
    assert [uncoloured(line) for line in table_lines(COLUMNS, ROWS, width, painted)] == list(
        table_lines(COLUMNS, ROWS, width)
    )
    facts = [(name, ROWS[1][name]) for name in COLUMNS]
    assert [uncoloured(line) for line in block_lines(facts, width, painted)] == list(block_lines(facts, width))


def test_colour_follows_the_meaning() -> None:
    _, first, second = table_lines(COLUMNS, ROWS, 80, painted)
    assert "\x1b[33m3" in first
    assert "\x1b[32mStable" in first
    assert "\x1b[31mDead" in second
    assert "\x1b[33mthe end" in second
    assert "0m0" not in second, "no lag, no colour"


@pytest.mark.parametrize(
    ("column", "value", "style"),
    [
        ("offline", 1, "red"), ("offline", 0, ""), ("offline_replicas", [2], "red"), ("offline_replicas", [], ""),
        ("error", "LEADER_NOT_AVAILABLE", "red"), ("error", None, ""), ("under_replicated", 2, "red"),
        ("result", "failed", "red"), ("result", "deleted", "green"), ("result", "would be deleted", "dim"),
        ("level", "warning", "yellow"), ("outcome", "ready", "green"), ("topic", "failed", ""),
    ],
)  # fmt: skip
def test_meaning(column: str, value: object, style: str) -> None:
    assert style_of(column, value) == style  # type: ignore[arg-type]  # a value of a row


def test_no_rows_have_no_heading() -> None:
    assert list(table_lines(COLUMNS, [], 80, painted)) == []
