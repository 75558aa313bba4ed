"""StatusLine: one line about what runs, on a terminal below the data; gone before data or words are written.

It is shown where stderr is a terminal, and stdout that terminal or a file: the reader of a pipe may write to the
terminal too. Data that ends within a line is left alone. Shown by tests/unit/cli/view and, on pseudo-terminals,
tests/cli/test_consume_status.py, test_produce_status.py, test_partitions.py and test_pipeline_terminal.py.
"""

import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kctl.cli.data_out import RawStream
from kctl.cli.environment import Environment
from kctl.cli.view.painter import Painter
from kctl.cli.view.status_texts import MoveProgress, SendFigures, Standing, job_standing, move_standing, send_standing
from kctl.client.clock import Clock
from kctl.client.runtime import Driver

if TYPE_CHECKING:
    from rich.text import Text

    from kctl.pipeline.running import JobProgress

PAINT_EVERY_MS = 200
SHOW_AFTER_MS = 500
"""What is over sooner needs no line."""
RATE_OVER_MS = 5000
PLAIN_EVERY_MS = 10_000


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
        self._painter = Painter(self._write, self.columns, colour=not environment.environ.get("NO_COLOR"))
        if self._is_shown:
            self._painter.follow_suspension(environment.stderr)
        self._painted = False
        self._is_at_line_start = True
        self._paint_at_ms = 0

    @property
    def is_shown(self) -> bool:
        """Whether there is a line at all."""
        return self._is_shown

    @property
    def is_painted(self) -> bool:
        """Whether the line is on the terminal now."""
        return self._painted

    def is_due(self, now_ms: int) -> bool:
        return self._is_shown and now_ms >= self._paint_at_ms

    def show(self, line: "Text", now_ms: int) -> None:
        """Show a line, unless data has left its cursor within one."""
        self._paint_at_ms = now_ms + PAINT_EVERY_MS
        if self._is_shown and self._is_at_line_start:
            self._painted = True  # an interrupt comes right behind the write
            self._painter.paint([line])

    def clear(self) -> None:
        """Take the line away, for something else is about to be written there."""
        if self._painted:
            self._painted = False
            self._painter.paint([])

    def leave(self) -> None:
        """Let the line stand: others have written below it."""
        self._painted = False
        self._is_shown = False

    def around(self, stdout: RawStream) -> RawStream:
        """Return the stream for data: what is written to it takes the line away first."""
        return _BelowData(self, stdout) if self._is_shown and self._environment.stdout_is_tty else stdout

    def wrote(self, last_byte: int) -> None:
        self._is_at_line_start = last_byte == 0x0A

    def _write(self, text: str) -> None:
        self._environment.stderr.write(text)
        self._environment.stderr.flush()

    def columns(self) -> int:
        """Return how wide the line may be: a last column that stays free never wraps."""
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


class ProgressStatus:
    """The line about something long, until it is closed; elsewhere than on a terminal a plain line now and then.

    JobProgress is reported by one thread, notices of waits by another.

    Args: plain_after_ms: when the first plain line may come; None: none comes.
    """

    def __init__(self, environment: Environment, *, wanted: bool, plain_after_ms: int | None = 0) -> None:
        self._environment = environment
        self._line = StatusLine(environment, wanted=wanted)
        self._records, self._bytes = Rate(), Rate()
        self._standing: Standing | None = None
        self._has_plain = wanted and plain_after_ms is not None
        self._plain_at_ms = environment.clock.now_ms() + (plain_after_ms or 0)
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Show a notice; the line makes room for it, and comes back below."""
        with self._lock:
            was_shown = self._line.is_painted
            self._line.clear()
            self._environment.say(line)
            if was_shown and self._standing is not None:
                self._line.show(self._standing.line(self._line.columns()), self._environment.clock.now_ms())

    def on_job(self, progress: "JobProgress") -> None:
        """Show how far a job is."""
        now_ms = self._environment.clock.now_ms()
        self._show(job_standing(progress, self._records.per_second(now_ms, progress.records)), now_ms)

    def on_move(self, progress: MoveProgress) -> None:
        """Show how far a move is."""
        self._show(move_standing(progress), self._environment.clock.now_ms())

    def _show(self, standing: Standing, now_ms: int) -> None:
        with self._lock:
            is_new = standing.phase != ("" if self._standing is None else self._standing.phase)
            self._standing = standing
            if self._line.is_shown:
                if is_new or self._line.is_due(now_ms):
                    self._line.show(standing.line(self._line.columns()), now_ms)
            elif self._has_plain and (is_new or now_ms >= self._plain_at_ms):
                self._plain_at_ms = now_ms + PLAIN_EVERY_MS
                self._environment.say(f"{self._environment.program}: {standing.texts[0]}")

    def close(self) -> None:
        """Take the line away for good."""
        with self._lock:
            self._line.clear()
            self._line.leave()


class SendStatus(ProgressStatus):
    """The line about a produce, painted by a task of its own, so that it is painted while a send or a flush waits.

    Args: figures: asked for the present ones, from that task.
    """

    def __init__(
        self,
        environment: Environment,
        clock: Clock,
        driver: Driver,
        figures: Callable[[], SendFigures],
        *,
        wanted: bool,
    ) -> None:
        super().__init__(environment, wanted=wanted, plain_after_ms=None)
        self._clock = clock
        self._driver = driver
        self._figures = figures
        self._stop = driver.waiter()
        self._is_stopping = False
        self._left = ""
        """What a signal handler left to be shown."""
        if self._line.is_shown:
            environment.closing_notice.show = self._leave
        self._task = driver.spawn(self._run, "status") if self._line.is_shown else None

    def _leave(self, line: str) -> None:
        """Leave a line to the thread that paints: a signal handler may wait for no lock."""
        self._left = line

    def close(self) -> None:
        """Take the line away for good."""
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
        with self._lock:
            self._line.show(send_standing(figures, records, read).line(self._line.columns()), now_ms)
