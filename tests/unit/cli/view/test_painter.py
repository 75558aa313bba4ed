"""Frames over frames: what is written, held against a small terminal that does what it is told."""

import io

import pytest
from rich.text import Text

from kctl.cli.data_out import DataOut, RawStream
from kctl.cli.view.painter import HIDE_CURSOR, SHOW_CURSOR, Painter, text_of
from tests.cli.screen import Screen


def painter_on(stream: RawStream, *columns: int, colour: bool = False) -> Painter:
    """Return a painter; the columns are those of the terminal at each frame."""
    widths = iter(columns)
    return Painter(DataOut(stream).write_at_once, lambda: next(widths), colour=colour)


def spans(*texts: str) -> list[Text]:
    return [text_of(text) for text in texts]


def test_a_frame_replaces_the_one_before_and_nothing_else() -> None:
    stdout = io.BytesIO()
    with painter_on(stdout, 80, 80) as painter:
        painter.paint(spans("one", "two", "three"))
        painter.paint(spans("four", "five"))
        painter.below(["and below"])
    written = stdout.getvalue().decode()
    assert Screen("before").show(written) == ["before", "four", "five", "and below"]
    assert written.startswith(HIDE_CURSOR)
    assert written.endswith(SHOW_CURSOR)


def test_keys_that_the_terminal_echoed_below_a_frame_leave_nothing_of_it() -> None:
    """Ctrl-C: the cursor is behind ^C, not at the beginning of its line."""
    stdout = io.BytesIO()
    painter = painter_on(stdout, 80, 80)
    painter.paint(spans("12 records, 3/s"))
    stdout.write(b"^C")
    assert painter.clear()
    stdout.write(b"closed")
    assert [line for line in Screen().show(stdout.getvalue().decode()) if line] == ["closed"]


def test_lines_that_a_narrower_terminal_broke_are_painted_over_too() -> None:
    stdout = io.BytesIO()
    painter = painter_on(stdout, 120, 40)
    painter.paint(spans("x" * 100, "short"))
    stdout.truncate(0)
    painter.paint(spans("now"))
    assert b"\x1b[4A" in stdout.getvalue()  # three lines of 40 for the first, one for the second


def test_a_frame_is_one_write() -> None:
    writes: list[bytes] = []

    class Stream(io.BytesIO):
        def write(self, data: object, /) -> int:
            writes.append(bytes(data))  # type: ignore[call-overload]  # whatever DataOut hands on
            return len(writes[-1])

    painter_on(Stream(), 80, colour=True).paint([text_of(("red", "red"))] * 30)
    assert len(writes) == 1


def test_the_cursor_comes_back_whatever_happens() -> None:
    stdout = io.BytesIO()
    painter = painter_on(stdout, 80, colour=True)

    def fail() -> None:
        with painter:
            painter.paint(spans("one"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stdout.getvalue().endswith(SHOW_CURSOR.encode())


def test_colour_only_where_it_is_wanted() -> None:
    for colour in (False, True):
        stdout = io.BytesIO()
        painter_on(stdout, 80, colour=colour).paint([text_of(("red", "red"))])
        assert (b"\x1b[31mred\x1b[0m" in stdout.getvalue()) is colour


def painted(line: Text, columns: int) -> str:
    stdout = io.BytesIO()
    painter_on(stdout, columns).paint([line])
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
    painter = painter_on(stdout, 80, 40)
    painter.paint(spans("\u65e5" * 30))
    stdout.truncate(0)
    painter.paint(spans("now"))
    assert b"\x1b[2A" in stdout.getvalue()  # 30 characters are 60 columns, two lines of 40
