"""StatusLine: a progress line below the data on a terminal, removed before other output.

It is shown if stderr is a terminal, and stdout the same terminal or a file. Readers of a pipe may write to the
terminal.
"""

import os
import stat
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kctl.cli.data_out import RawStream
from kctl.cli.environment import Environment
from kctl.cli.view.echo import Echo
from kctl.cli.view.painter import Painter, text_of
from kctl.cli.view.status_texts import (
    JOB_RATE_OVER_MS,
    RATE_OVER_MS,
    MoveProgress,
    Rate,
    ReadFigures,
    SendFigures,
    Standing,
    job_standing,
    move_standing,
    reading_texts,
    send_standing,
)
from kctl.client.clock import Clock
from kctl.client.runtime import Driver

if TYPE_CHECKING:
    from rich.text import Text

    from kctl.pipeline.running import JobProgress

PAINT_EVERY_MS = 200
SHOW_AFTER_MS = 500
"""Delay before the line appears."""
WIDEST_BAR, NARROWEST_BAR = 20, 6
PLAIN_EVERY_MS = 10_000


def standing_line(standing: Standing, columns: int) -> "Text":
    """Return the longest text that fits, with a bar and percentage if the share is known."""
    texts = standing.texts
    if standing.share is not None:
        texts = [f"{standing.share:4.0%} {text}" for text in texts]
        for text in texts:
            text = f" {text.lstrip()}"
            width = min(WIDEST_BAR, columns - len(text) - len("[]"))
            if width >= NARROWEST_BAR:
                full = int(standing.share * width)
                return text_of(f"[{'#' * full}{'-' * (width - full)}]", (text, "dim"))
    return text_of((next((text for text in texts if len(text) <= columns), texts[-1]), "dim"))


def reading_line(figures: ReadFigures) -> "Text":
    reading, waiting = reading_texts(figures)
    if not waiting:
        return text_of((reading, "dim"))
    if figures.is_fault:  # the cause first, as the end may be cut
        return text_of((waiting, "yellow"), (f"; {reading}", "dim"))
    return text_of((f"{reading}: {waiting}", "dim"))


class StatusLine:
    """The status line of a terminal.

    Args: keeps_echo: keep the echo, because users may type input for this command or for another in the pipe.
    Attributes: is_shown: whether the line may appear; false after close().
    """

    def __init__(self, environment: Environment, *, wanted: bool, keeps_echo: bool = False) -> None:
        self.is_shown = wanted and _may_show(environment)
        self._environment = environment
        stream = environment.stderr if self.is_shown else None
        self._echo = Echo(None if keeps_echo else stream, environment.closing_notice)
        colour = environment.colours_stderr
        self._painter = Painter(self._write, self._columns, colour=colour, stream=stream, echo=self._echo)
        self._is_at_line_start = True
        self._below_data: Text | None = None
        """Line removed for data, to repaint below it."""
        self._line: Text | None = None
        self._paint_at_ms = 0

    def is_due(self, now_ms: int) -> bool:
        return self.is_shown and now_ms >= self._paint_at_ms

    def show(self, line: "Text", now_ms: int) -> None:
        """Show a line. If the cursor is inside a line of data, do nothing."""
        self._paint_at_ms = now_ms + PAINT_EVERY_MS
        if self.is_shown and self._is_at_line_start:
            self._echo.off()
            self._line = line
            self._painter.paint([line])

    def show_standing(self, standing: Standing, now_ms: int) -> None:
        self.show(standing_line(standing, self._columns()), now_ms)

    def clear(self) -> bool:
        """Remove the line before other output. Return whether there was one."""
        return self._painter.clear()

    def close(self) -> None:
        self.clear()
        self.is_shown = False
        self._below_data = None
        self._echo.on()

    def around(self, stdout: RawStream) -> RawStream:
        """Return a stream for data, which removes the line before each write."""
        return _BelowData(self, stdout) if self.is_shown and self._environment.stdout_is_tty else stdout

    def before_data(self) -> None:
        """Remove the line until `after_data`."""
        if self.clear():
            self._below_data = self._line

    def after_data(self, last_byte: int) -> None:
        """Show the line again if the data ended with a line feed."""
        self._is_at_line_start = last_byte == 0x0A
        if self._is_at_line_start and self._below_data is not None:
            self._painter.paint([self._below_data])
            self._below_data = None

    def _write(self, text: str) -> None:
        self._environment.stderr.write(text)
        self._environment.stderr.flush()

    def _columns(self) -> int:
        """Return the maximum width. The last column stays free, so that lines do not wrap."""
        return self._environment.stderr_columns - 1


def _may_show(environment: Environment) -> bool:
    if not environment.stderr_is_tty or environment.is_dumb:
        return False
    try:
        mode = os.fstat(environment.stdout.fileno()).st_mode
    except (OSError, ValueError):  # a stream in memory
        return True
    return not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode)


class _BelowData:
    def __init__(self, line: StatusLine, stdout: RawStream) -> None:
        self._line = line
        self._stdout = stdout

    def write(self, data: memoryview, /) -> int | None:
        self._line.before_data()
        written = self._stdout.write(data)
        if written:
            self._line.after_data(data[written - 1])
        return written

    def fileno(self) -> int:
        return self._stdout.fileno()


class ProgressStatus:
    """The status line of a long operation. Without a terminal, plain lines are printed at intervals.

    Thread-safe: one thread reports progress, another prints wait notices.

    Args:
        plain_after_ms: delay of the first plain line; None for no plain lines.
        keeps_echo: see StatusLine.
    Attributes: rate_over_ms: window of the rates.
    """

    rate_over_ms = JOB_RATE_OVER_MS

    def __init__(
        self, environment: Environment, *, wanted: bool, plain_after_ms: int | None = 0, keeps_echo: bool = False
    ) -> None:
        self._environment = environment
        self._line = StatusLine(environment, wanted=wanted, keeps_echo=keeps_echo)
        now_ms = environment.clock.now_ms()
        self._records, self._bytes = Rate(now_ms, self.rate_over_ms), Rate(now_ms, self.rate_over_ms)
        self._phase_at_ms = now_ms
        self._standing: Standing | None = None
        self._has_plain = wanted and plain_after_ms is not None
        self._plain_at_ms = now_ms + (plain_after_ms or 0)
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Print a notice above the line."""
        with self._lock:
            was_shown = self._line.clear()
            self._environment.say(line)
            if was_shown and self._standing is not None:
                self._line.show_standing(self._standing, self._environment.clock.now_ms())

    def on_job(self, progress: "JobProgress") -> None:
        now_ms = self._environment.clock.now_ms()
        if self._standing is None or progress.phase != self._standing.phase:
            self._phase_at_ms = now_ms
        per_second = self._records.per_second(now_ms, progress.records)
        self._show(job_standing(progress, per_second, now_ms - self._phase_at_ms), now_ms)

    def on_move(self, progress: MoveProgress) -> None:
        self._show(move_standing(progress), self._environment.clock.now_ms())

    def _show(self, standing: Standing, now_ms: int) -> None:
        with self._lock:
            is_new = standing.phase != ("" if self._standing is None else self._standing.phase)
            self._standing = standing
            if self._line.is_shown:
                if is_new or self._line.is_due(now_ms):
                    self._line.show_standing(standing, now_ms)
            elif self._has_plain and (is_new or now_ms >= self._plain_at_ms):
                self._plain_at_ms = now_ms + PLAIN_EVERY_MS
                self._environment.say(f"{self._environment.program}: {standing.texts[0]}")

    def close(self) -> None:
        with self._lock:
            self._line.close()


class SendStatus(ProgressStatus):
    """The status line of `kctl produce`. A separate task paints it, even while a send or flush blocks.

    Args: figures: return the present figures. Called by the task.
    """

    rate_over_ms = RATE_OVER_MS

    def __init__(
        self,
        environment: Environment,
        clock: Clock,
        driver: Driver,
        figures: Callable[[], SendFigures],
        *,
        wanted: bool,
        keeps_echo: bool = False,
    ) -> None:
        super().__init__(environment, wanted=wanted, plain_after_ms=None, keeps_echo=keeps_echo)
        self._clock = clock
        self._driver = driver
        self._figures = figures
        self._stop = driver.waiter()
        self._is_stopping = False
        self._left = ""
        """Text that a signal handler left to show."""
        if self._line.is_shown:
            environment.closing_notice.show = self._leave
        self._task = driver.spawn(self._run, "status") if self._line.is_shown else None

    def _leave(self, line: str) -> None:
        """Store a line for the painting task, because signal handlers must not wait for locks."""
        self._left = line

    def close(self) -> None:
        self._environment.closing_notice.show = None
        self._is_stopping = True
        if self._task is not None:
            self._stop.notify()
            self._driver.join(self._task, self._clock.start_ms() + PAINT_EVERY_MS * 5)
        super().close()

    def _run(self) -> None:
        wake_at_ms = self._clock.now_ms() + SHOW_AFTER_MS
        while not self._is_stopping:
            self._driver.wait(self._stop, wake_at_ms)
            wake_at_ms = self._clock.now_ms() + PAINT_EVERY_MS
            if not self._is_stopping:
                self._paint()

    def _paint(self) -> None:
        left, self._left = self._left, ""
        if left:
            self.say(left)
        now_ms, figures = self._clock.now_ms(), self._figures()
        records = self._records.per_second(now_ms, figures.delivered)
        read = self._bytes.per_second(now_ms, figures.read_bytes)
        self._show(send_standing(figures, records, read), now_ms)
