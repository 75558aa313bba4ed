"""StatusLine: one line about what runs, on a terminal below the data; gone before data or words are written.

It is shown where stderr is a terminal, and stdout that terminal or a file: the reader of a pipe may write to the
terminal too. Data that ends within a line is left alone. Shown by tests/unit/cli/view/test_consume_status.py and, on
pseudo-terminals, tests/cli/test_consume_status.py.
"""

import os
import stat
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from kctl.cli.data_out import DataOut, RawStream
from kctl.cli.environment import NARROWEST, Environment
from kctl.cli.view.painter import Painter, text_of

if TYPE_CHECKING:
    from rich.text import Text

PAINT_EVERY_MS = 200
SHOW_AFTER_MS = 500
"""What is over sooner needs no line."""
RATE_OVER_MS = 5000


WIDEST_BAR, NARROWEST_BAR = 20, 6


def line_with_bar(share: float | None, texts: Sequence[str], columns: int) -> "Text":
    """Return the first of the texts that fits, behind a bar of the share that is done where that is known."""
    if share is not None:
        texts = [f"{share:4.0%} {text}" for text in texts]
        for text in texts:
            width = min(WIDEST_BAR, columns - len(text) - len("[]"))
            if width >= NARROWEST_BAR:
                full = int(share * width)
                return text_of(f"[{'#' * full}{'-' * (width - full)}]", (text, "dim"))
    return text_of((next((text for text in texts if len(text) <= columns), texts[-1]), "dim"))


class Rate:
    """How much a count has grown in the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, int]] = deque()

    def per_second(self, now_ms: int, count: int) -> float:
        """Take the count of this instant and return its growth."""
        self._seen.append((now_ms, count))
        while now_ms - self._seen[0][0] > RATE_OVER_MS:
            self._seen.popleft()
        first_ms, first = self._seen[0]
        return (count - first) * 1000 / (now_ms - first_ms) if now_ms > first_ms else 0.0


class StatusLine:
    """The line on its terminal, or nothing where there is none to show."""

    def __init__(self, environment: Environment, *, wanted: bool) -> None:
        self._environment = environment
        self._is_shown = wanted and _may_show(environment)
        colour = not environment.environ.get("NO_COLOR")
        self._painter = Painter(DataOut(_BytesToText(environment.stderr)), colour=colour)
        if self._is_shown:
            self._painter.follow_suspension(environment.stderr)
        self._painted = False
        self._is_at_line_start = True
        self._paint_at_ms = 0

    @property
    def is_shown(self) -> bool:
        """Whether there is a line at all."""
        return self._is_shown

    def is_due(self, now_ms: int) -> bool:
        return self._is_shown and now_ms >= self._paint_at_ms

    def show(self, line: "Text", now_ms: int) -> None:
        """Show a line, unless data has left its cursor within one."""
        self._paint_at_ms = now_ms + PAINT_EVERY_MS
        if self._is_shown and self._is_at_line_start:
            self._painted = True  # an interrupt comes right behind the write
            self._painter.paint([line], self.columns() - 1)

    def clear(self) -> None:
        """Take the line away, for something else is about to be written there."""
        if self._painted:
            self._painted = False
            self._painter.paint([], self.columns() - 1)

    def leave(self) -> None:
        """Let the line stand: others have written below it."""
        self._painted = False
        self._is_shown = False

    def around(self, stdout: RawStream) -> RawStream:
        """Return the stream for data: what is written to it takes the line away first."""
        return _BelowData(self, stdout) if self._is_shown and self._environment.stdout_is_tty else stdout

    def wrote(self, last_byte: int) -> None:
        self._is_at_line_start = last_byte == 0x0A

    def columns(self) -> int:
        """Return how wide the terminal is now."""
        try:
            columns = os.get_terminal_size(self._environment.stderr.fileno()).columns
        except (OSError, ValueError):  # a stream in memory
            columns = self._environment.columns
        return max(NARROWEST, columns or self._environment.columns)


def _may_show(environment: Environment) -> bool:
    if not environment.stderr_is_tty or environment.is_dumb:
        return False
    try:
        mode = os.fstat(environment.stdout.fileno()).st_mode
    except (OSError, ValueError):  # a stream in memory
        return True
    return not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode)


class _BelowData:
    """Stdout on the terminal that the line is on."""

    def __init__(self, line: StatusLine, stdout: RawStream) -> None:
        self._line = line
        self._stdout = stdout

    def write(self, data: memoryview, /) -> int | None:
        self._line.clear()
        written = self._stdout.write(data)
        if written:
            self._line.wrote(data[written - 1])
        return written

    def fileno(self) -> int:
        return self._stdout.fileno()


class _BytesToText:
    """Stderr as the painter wants it."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr = stderr

    def write(self, data: memoryview, /) -> int:
        self._stderr.write(bytes(data).decode())
        self._stderr.flush()
        return len(data)

    def fileno(self) -> int:
        return self._stderr.fileno()
