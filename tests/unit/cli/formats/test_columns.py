"""Columns of a terminal: wide characters take two, combining ones none."""

import pytest

from kctl.cli.formats.columns import columns_of, fitted, pieces_of, wrapped

WIDTHS = {
    "": 0,
    "orders": 6,
    "\u65e5\u672c\u30b0\u30eb\u30fc\u30d7": 12,
    "a\U0001f680b": 4,
    "e\u0301t\u00e9": 3,
    "one two \u65e5\u672c three": 18,
}
TEXTS = list(WIDTHS)


@pytest.mark.parametrize("text", TEXTS)
def test_columns_of_text(text: str) -> None:
    assert columns_of(text) == WIDTHS[text]


@pytest.mark.parametrize("columns", range(12))
@pytest.mark.parametrize("text", TEXTS)
def test_fitted_text_takes_exactly_its_columns(text: str, columns: int) -> None:
    assert columns_of(fitted(text, columns)) == columns


@pytest.mark.parametrize("columns", range(2, 20))
@pytest.mark.parametrize("text", TEXTS)
def test_pieces_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    pieces = pieces_of(text, columns)
    assert max(map(columns_of, pieces)) <= columns
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_text_is_broken_at_spaces() -> None:
    assert pieces_of("one that is long", 12) == ["one that is", "long"]


def test_a_terminal_narrower_than_a_character_gets_one_a_line() -> None:
    assert pieces_of("\u65e5\u672c", 1) == ["\u65e5", "\u672c"]


@pytest.mark.parametrize("columns", [12, 20, 40])
@pytest.mark.parametrize("text", [*TEXTS, "\u65e5\u672c\u30b0 \u30eb\u30fc\u30d7 " * 9])
def test_wrapped_lines_fit_by_columns_and_lose_no_word(text: str, columns: int) -> None:
    lines = wrapped(text, columns, "- ", "  ")
    assert " ".join(line[2:] for line in lines).split() == text.split()
    longest = max(map(columns_of, text.split()), default=0)
    assert all(columns_of(line) <= max(columns, longest + 2) for line in lines)
    assert {line[:2] for line in lines[1:]} <= {"  "}


def test_word_that_is_longer_than_a_line_stays_whole() -> None:
    assert wrapped(f"see {'x' * 30} now", 10) == ["see", "x" * 30, "now"]
