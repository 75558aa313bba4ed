"""Painter: lines on a terminal that are painted over, one frame a write; a cursor of its own over segments of rich.

rich measures and cuts the lines, in columns of the terminal rather than characters, and renders their styles. The
painter moves the cursor: it is hidden while it paints and shown again whatever happens, and a frame is never higher
than the terminal. rich is imported by the first frame, not before (docs/decisions, 7).
Shown by tests/unit/cli/view/test_painter.py and, on pseudo-terminals, tests/cli/test_probe_terminal.py.
"""

from collections.abc import Sequence
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from kctl.cli.data_out import DataOut
from kctl.cli.formats.columns import columns_of, fitted

if TYPE_CHECKING:
    from rich.segment import Segment

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CLEAR_LINE, CLEAR_BELOW = "\x1b[2K", "\x1b[J"
_RESET = "\x1b[0m"


class Style(Enum):
    """How a span looks, where colour is wanted; the value is rich's name of it."""

    PLAIN = "none"
    BRIGHT = "bold"
    DIM = "dim"
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"
    BLUE = "blue"
    MAGENTA = "magenta"
    CYAN = "cyan"


class Span(NamedTuple):
    """A piece of a line in one style; its text is harmless already."""

    text: str
    style: Style = Style.PLAIN


Line = Sequence[Span]


def plain(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(span.text for span in line)


def cut(line: Line, columns: int) -> list[Span]:
    """Return as much of a line as fits into the columns; dots say that there was more."""
    if columns_of(plain(line)) <= columns:
        return list(line)
    kept: list[Span] = []
    room = max(0, columns - 3)
    for span in line:
        width = columns_of(span.text)
        kept.append(span if width <= room else Span(fitted(span.text, room), span.style))
        room -= width
        if room <= 0:
            break
    return [*kept, Span("..."[:columns])]


def _segments(line: Line) -> "list[Segment]":
    from rich.segment import Segment  # wanted where something is painted
    from rich.style import Style as RichStyle

    return [Segment(span.text, RichStyle.parse(span.style.value)) for span in line]


class Painter:
    """Frames over frames; a context."""

    def __init__(self, out: DataOut, *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._painted: list[int] = []
        """The columns of the lines that are on the terminal now."""
        self._columns = 0

    def paint(self, lines: Sequence[Line], columns: int) -> None:
        """Replace the last frame; no line is longer than `columns`, for longer ones are cut."""
        fitting = [cut(line, columns) for line in lines]
        parts = [self._back(columns)]
        parts += [f"\r{CLEAR_LINE}{self._rendered(line)}\r\n" for line in fitting]
        parts.append(CLEAR_BELOW)
        self._write("".join(parts))
        self._painted = [columns_of(plain(line)) for line in fitting]
        self._columns = columns

    def below(self, lines: Sequence[str]) -> None:
        """Write lines below the last frame, which stays."""
        self._write("".join(f"{line}\r\n" for line in lines))
        self._painted = []

    def _back(self, columns: int) -> str:
        """Return what moves the cursor to the first line of the last frame.

        A terminal that became narrower has broken its lines anew, so they take more of them.
        """
        if columns >= self._columns:
            lines = len(self._painted)
        else:
            lines = sum(max(1, -(-length // columns)) for length in self._painted)
        return f"\x1b[{lines}A" if lines else ""

    def _rendered(self, line: Line) -> str:
        if not self._colour:
            return plain(line)
        from rich.color import ColorSystem  # as in _segments

        return "".join(
            segment.style.render(segment.text, color_system=ColorSystem.STANDARD) if segment.style else segment.text
            for segment in _segments(line)
        )

    def _write(self, text: str) -> None:
        self._out.write(text.encode("utf-8", "replace"))
        self._out.flush()

    def __enter__(self) -> Self:
        self._write(HIDE_CURSOR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._write((_RESET if self._colour else "") + SHOW_CURSOR)
