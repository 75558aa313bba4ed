"""Painter: repaints lines on a terminal, one frame per write.

rich, imported with the first line (docs/decisions, 7), cuts the lines. The cursor is hidden during the view and always
restored.
"""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Self, TextIO

from kctl.cli.formats.columns import columns_of, wrapped
from kctl.cli.view.echo import Echo
from kctl.posix import SUSPEND

if TYPE_CHECKING:
    from rich.text import Text

    from kctl.cli.data_out import DataOut, RawStream
    from kctl.cli.environment import Environment

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CLEAR_LINE, CLEAR_BELOW = "\x1b[2K", "\x1b[J"
_RESET = "\x1b[0m"


def text_of(*parts: "str | Text | tuple[str, str]") -> "Text":
    """Return a line of plain and styled parts, such as `("failed", "red")`, without control characters."""
    from rich.text import Text  # wanted where something is painted

    return Text.assemble(*parts, overflow="ellipsis", no_wrap=True, end="")


def rendered(line: "Text") -> str:
    """Return a line with color codes. `rich.console`, whose import takes 6 ms, is not used."""
    parts, at = list[str](), 0
    for start, end, style in sorted(line.spans):  # which do not overlap: each is a part of `text_of`
        parts += [line.plain[at:start], coloured(line.plain[start:end], str(style))]
        at = end
    return "".join([*parts, line.plain[at:]])


def coloured(text: str, style: str) -> str:
    start, end = _codes(style)
    return f"{start}{text}{end}" if text else text


@lru_cache
def _codes(style: str) -> tuple[str, str]:
    from rich.color import ColorSystem  # as above
    from rich.style import Style

    start, end = Style.parse(style).render("|", color_system=ColorSystem.STANDARD).split("|")
    return start, end


def wrapped_line(line: str, width: int) -> list[str]:
    """Wrap a line between words, keeping its indent. Lines with terminal codes are not wrapped."""
    line = line.expandtabs()
    if "\x1b" in line or columns_of(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrapped(line, width, indent, indent)


class Painter:
    """Frames that replace each other. As a context manager, it hides the cursor.

    Args:
        write: writes to the terminal immediately.
        columns: return the present width of the terminal.
        stream: stream of the terminal, if Ctrl-Z must restore it.
        echo: echo to switch off inside the context.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        columns: Callable[[], int],
        *,
        colour: bool,
        stream: "RawStream | TextIO | None" = None,
        echo: Echo | None = None,
    ) -> None:
        self._write = write
        self._columns_now = columns
        self._colour = colour
        self._painted: list[int] = []
        """Widths of the lines on the terminal, in columns."""
        self._columns = 0
        self._hides_cursor = False
        self._echo = echo
        if stream is not None:
            self._follow_suspension(stream)

    @classmethod
    def on_stdout(cls, out: "DataOut", environment: "Environment") -> Self:
        columns, stream = lambda: environment.size()[0], environment.stdout
        echo = Echo(stream, environment.closing_notice)
        return cls(out.write_at_once, columns, colour=environment.colour, stream=stream, echo=echo)

    def _follow_suspension(self, stream: "RawStream | TextIO") -> None:
        """Show the cursor on Ctrl-Z, and start a new frame after `fg`.

        Writes go to the descriptor, because the signal may interrupt a write to the stream.
        """
        try:
            terminal = stream.fileno()
        except (OSError, ValueError):  # a stream in memory
            return

        def suspend(number: int, _frame: FrameType | None) -> None:
            if self._hides_cursor:
                os.write(terminal, SHOW_CURSOR.encode())
            if self._echo is not None:
                self._echo.on()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)  # stopped until SIGCONT
            signal.signal(number, suspend)
            self._painted = []
            if self._hides_cursor:
                os.write(terminal, HIDE_CURSOR.encode())
                if self._echo is not None:
                    self._echo.off()

        is_main = threading.current_thread() is threading.main_thread()
        if SUSPEND is not None and is_main and os.isatty(terminal):
            signal.signal(SUSPEND, suspend)

    @property
    def is_stale(self) -> bool:
        """Return whether the next frame must be complete: the width changed, or there is no frame, as after Ctrl-Z."""
        return not self._painted or self._columns_now() != self._columns

    def paint(self, lines: "Sequence[Text]") -> None:
        """Replace the previous frame. Long lines are cut."""
        columns = self._columns_now()
        fitting = [line.copy() for line in lines]
        for line in fitting:
            line.truncate(columns)
        shown = map(rendered, fitting) if self._colour else (line.plain for line in fitting)
        frame = [self._back(columns), *(f"\r{CLEAR_LINE}{line}\r\n" for line in shown), CLEAR_BELOW]
        self._painted = [line.cell_len for line in fitting]  # before the write: an interrupt comes behind it
        self._columns = columns
        self._write("".join(frame))

    def clear(self) -> bool:
        """Remove the present frame. Return whether there was one."""
        was_painted = bool(self._painted)
        if was_painted:
            self.paint([])
        return was_painted

    def below(self, lines: Sequence[str]) -> None:
        """Write lines below the present frame, which stays. Long lines are wrapped between words."""
        self._write("".join(f"{piece}\r\n" for line in lines for piece in wrapped_line(line, self._columns)))
        self._painted = []

    def _back(self, columns: int) -> str:
        """Return the code that moves the cursor to the first line of the present frame.

        A terminal that became narrower has wrapped the lines, which then take more rows.
        """
        wraps = columns < self._columns
        lines = sum(max(1, -(-length // columns)) if wraps else 1 for length in self._painted)
        return f"\r\x1b[{lines}A" if lines else ""

    def __enter__(self) -> Self:
        self._hides_cursor = True
        if self._echo is not None:
            self._echo.off()
        self._write(HIDE_CURSOR)
        return self

    def __exit__(self, *_error: object) -> None:
        self._hides_cursor = False
        self._write((_RESET if self._colour else "") + SHOW_CURSOR)
        if self._echo is not None:
            self._echo.on()
