"""Rows as a table, and in blocks."""

import pytest

from kctl.cli.formats.rows import Row, Value, block_lines, cell, cell_text, table_lines

COLUMNS = ("name", "leader_id", "replicas", "internal")
ROWS: list[Row] = [
    {"name": "a-topic", "leader_id": 1, "replicas": [1, 2, 3], "internal": False},
    {"name": "b\x1b[2J\n", "leader_id": None, "replicas": [], "internal": True},
]


def test_table() -> None:
    assert list(table_lines(COLUMNS, ROWS)) == [
        "NAME        LEADER ID  REPLICAS  INTERNAL",
        "a-topic             1  1,2,3     no",
        "b\\x1b[2J\\n          -  -         yes",
    ]


@pytest.mark.parametrize("value", ["t:9\nforged\t1", {"t:9\nforged\t1": [0]}, {"a": [0], "\x1bb\n": [1]}])
def test_cell_with_line_feeds_is_one_line(value: Value) -> None:
    assert cell(value).isprintable()


def test_foreign_name_of_a_fact_is_one_line() -> None:
    assert list(block_lines([("a\n\x1bb", 1)])) == [r"a\n\x1bb  1"]


def test_numbers_have_the_form_of_their_column() -> None:
    columns = ("offset", "records", "total_bytes", "size_bytes", "idle_ms", "timestamp_ms", "broker", "text")
    rows: list[Row] = [
        dict(zip(columns, (1234567, 1234567, 1 << 40, 0, 90_000, 1_700_000_000_000, 1001, "5"), strict=True)),
        dict(zip(columns, (9, -1, 999, 1, 7, 10**18, None, "12"), strict=True)),
    ]
    assert list(table_lines(columns, rows)) == [
        " OFFSET    RECORDS  TOTAL SIZE  SIZE   IDLE                 TIMESTAMP  BROKER  TEXT",
        "1234567  1,234,567      1.1 TB   0 B  1m30s  2023-11-14T22:13:20.000Z    1001  5",
        "      9         -1       999 B   1 B    7ms       1000000000000000000       -  12",
    ]


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_a_table_fits_its_terminal(width: int) -> None:
    lines = list(table_lines(COLUMNS, ROWS, width))
    assert max(map(len, lines)) <= width
    assert lines == list(table_lines(COLUMNS, ROWS)) or width < 41


def test_on_a_narrow_terminal_each_row_is_a_block() -> None:
    assert list(table_lines(COLUMNS, [*ROWS[:1], {**ROWS[1], "name": "one that is long"}], 24)) == [
        "name       a-topic",
        "leader id  1",
        "replicas   1,2,3",
        "internal   no",
        "",
        "name       one that is",
        "           long",
        "internal   yes",
    ]


def test_table_that_is_too_wide_has_no_columns_without_values() -> None:
    rows: list[Row] = [{"topic": "orders", "offline_replicas": [], "error": None, "lag": lag} for lag in (0, 12)]
    columns = ("topic", "offline_replicas", "error", "lag")
    assert next(iter(table_lines(columns, rows, 36))) == "TOPIC   OFFLINE REPLICAS  ERROR  LAG"
    assert list(table_lines(columns, rows, 35)) == ["TOPIC   LAG", "orders    0", "orders   12"]
    assert list(table_lines(columns, rows, 10))[:2] == ["topic  orders", "lag    0"]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_columns_behind_wide_characters_are_aligned_on_a_terminal(width: int) -> None:
    japanese, rocket = "\u65e5\u672c\u30b0\u30eb\u30fc\u30d7", "a\U0001f680"
    rows: list[Row] = [{"group": japanese, "state": "Empty"}, {"group": rocket, "state": "Stable"}]
    assert list(table_lines(("group", "state"), rows, width)) == [
        "GROUP         STATE",
        f"{japanese}  Empty",
        f"{rocket}           Stable",
    ]


def test_a_table_without_rows_is_empty() -> None:
    assert list(table_lines(COLUMNS, [])) == []


def test_partitions_by_topic_are_shown_as_spans() -> None:
    assert cell_text({"a": [2, 0, 1, 5], "b": [7], "c": []}) == "a:0-2,5 b:7"
