"""Frames over frames: what is written, held against a small terminal that does what it is told."""

import io

import pytest
from rich.text import Text

from kctl.cli.data_out import DataOut
from kctl.cli.view.painter import HIDE_CURSOR, SHOW_CURSOR, Painter, text_of
from tests.cli.screen import Screen


def spans(*texts: str) -> list[Text]:
    return [text_of(text) for text in texts]


def test_a_frame_replaces_the_one_before_and_nothing_else() -> None:
    stdout = io.BytesIO()
    with Painter(DataOut(stdout), colour=False) as painter:
        painter.paint(spans("one", "two", "three"), 80)
        painter.paint(spans("four", "five"), 80)
        painter.below(["and below"])
    written = stdout.getvalue().decode()
    assert Screen("before").show(written) == ["before", "four", "five", "and below"]
    assert written.startswith(HIDE_CURSOR)
    assert written.endswith(SHOW_CURSOR)


def test_lines_that_a_narrower_terminal_broke_are_painted_over_too() -> None:
    stdout = io.BytesIO()
    painter = Painter(DataOut(stdout), colour=False)
    painter.paint(spans("x" * 100, "short"), 120)
    stdout.truncate(0)
    painter.paint(spans("now"), 40)
    assert b"\x1b[4A" in stdout.getvalue()  # three lines of 40 for the first, one for the second


def test_a_frame_is_one_write() -> None:
    writes: list[bytes] = []

    class Stream(io.BytesIO):
        def write(self, data: object, /) -> int:
            writes.append(bytes(data))  # type: ignore[call-overload]  # whatever DataOut hands on
            return len(writes[-1])

    Painter(DataOut(Stream()), colour=True).paint([text_of(("red", "red"))] * 30, 80)
    assert len(writes) == 1


def test_the_cursor_comes_back_whatever_happens() -> None:
    stdout = io.BytesIO()
    painter = Painter(DataOut(stdout), colour=True)

    def fail() -> None:
        with painter:
            painter.paint(spans("one"), 80)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stdout.getvalue().endswith(SHOW_CURSOR.encode())


def test_colour_only_where_it_is_wanted() -> None:
    for colour in (False, True):
        stdout = io.BytesIO()
        Painter(DataOut(stdout), colour=colour).paint([text_of(("red", "red"))], 80)
        assert (b"\x1b[31mred\x1b[0m" in stdout.getvalue()) is colour


def painted(line: Text, columns: int) -> str:
    stdout = io.BytesIO()
    Painter(DataOut(stdout), colour=False).paint([line], columns)
    return Screen().show(stdout.getvalue().decode())[0]


@pytest.mark.parametrize("columns", range(1, 12))
def test_line_that_is_too_long_is_cut_with_an_ellipsis(columns: int) -> None:
    text = painted(text_of(("abcd", "red"), "efgh", "ij"), columns)
    assert text == ("abcdefghij" if columns >= 10 else "abcdefghij"[: columns - 1] + "\u2026")
    assert len(text) <= columns


def test_wide_characters_are_cut_by_columns() -> None:
    line = text_of(("\u65e5\u672c\u30b0", "red"), ("\u30eb\u30fc\u30d7", "dim"))
    assert painted(line, 12) == "\u65e5\u672c\u30b0\u30eb\u30fc\u30d7"
    assert painted(line, 11) == "\u65e5\u672c\u30b0\u30eb\u30fc\u2026"
    assert painted(line, 10) == "\u65e5\u672c\u30b0\u30eb \u2026"


def test_wide_lines_that_a_narrower_terminal_broke_are_painted_over_too() -> None:
    stdout = io.BytesIO()
    painter = Painter(DataOut(stdout), colour=False)
    painter.paint(spans("\u65e5" * 30), 80)
    stdout.truncate(0)
    painter.paint(spans("now"), 40)
    assert b"\x1b[2A" in stdout.getvalue()  # 30 characters are 60 columns, two lines of 40
