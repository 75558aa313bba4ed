"""Painter: lines on a terminal that are painted over, one frame a write. It owns the escape sequences.

The cursor is hidden while it paints and shown again whatever happens. Nothing scrolls: a frame is never higher than
the terminal. Shown by tests/unit/cli/view/test_painter.py and, on pseudo-terminals, tests/cli/test_probe_terminal.py.
"""

from collections.abc import Sequence
from enum import Enum
from types import TracebackType
from typing import NamedTuple, Self

from kctl.cli.data_out import DataOut

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CLEAR_LINE, CLEAR_BELOW = "\x1b[2K", "\x1b[J"
_RESET = "\x1b[0m"


class Style(Enum):
    """How a span looks, where colour is wanted; the value is the SGR code."""

    PLAIN = ""
    BRIGHT = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    BLUE = "34"
    MAGENTA = "35"
    CYAN = "36"


class Span(NamedTuple):
    """A piece of a line in one style; its text is harmless already."""

    text: str
    style: Style = Style.PLAIN


Line = Sequence[Span]


def plain(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(span.text for span in line)


def cut(line: Line, columns: int) -> list[Span]:
    """Return as much of a line as fits; dots say that there was more."""
    if len(plain(line)) <= columns:
        return list(line)
    kept: list[Span] = []
    room = max(0, columns - 3)
    for span in line:
        kept.append(Span(span.text[:room], span.style))
        room -= len(span.text)
        if room <= 0:
            break
    return [*kept, Span("..."[:columns])]


class Painter:
    """Frames over frames; a context."""

    def __init__(self, out: DataOut, *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._painted: list[int] = []
        """The lengths of the lines that are on the terminal now."""
        self._columns = 0

    def paint(self, lines: Sequence[Line], columns: int) -> None:
        """Replace the last frame; no line is longer than `columns`, for longer ones are cut."""
        fitting = [cut(line, columns) for line in lines]
        parts = [self._back(columns)]
        parts += [f"\r{CLEAR_LINE}{self._rendered(line)}\r\n" for line in fitting]
        parts.append(CLEAR_BELOW)
        self._write("".join(parts))
        self._painted = [len(plain(line)) for line in fitting]
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
        return "".join(
            span.text if span.style is Style.PLAIN else f"\x1b[{span.style.value}m{span.text}{_RESET}" for span in line
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
