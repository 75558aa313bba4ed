"""The line about a `kctl produce` while it runs: how far it is, how fast, and what waits for a broker.

Painted by a task of its own, so that it is painted while a send or a flush waits. Other messages go
through here, because they must not land within the line. Shown by tests/unit/cli/view/test_produce_status.py and, on
pseudo-terminals, tests/cli/test_produce_status.py.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.environment import Environment
from kctl.cli.view.status_line import PAINT_EVERY_MS, SHOW_AFTER_MS, Rate, StatusLine, line_with_bar
from kctl.client.clock import Clock
from kctl.client.runtime import Driver
from kctl.client.wording import counted
from kctl.grammar.sizes import show_size

if TYPE_CHECKING:
    from rich.text import Text


class SendFigures(NamedTuple):
    """What the line tells.

    Attributes:
        delivered: records acknowledged.
        waiting: records sent and not acknowledged.
        read_bytes: of the input.
        total_bytes: of all of it; None where that is not known.
    """

    delivered: int
    waiting: int
    read_bytes: int
    total_bytes: int | None = None


def send_line(figures: SendFigures, records_per_second: float, bytes_per_second: float, columns: int) -> "Text":
    """Return the line; a bar where the end is known and there is room for one."""
    delivered = counted(figures.delivered, "record")
    rates = f"{records_per_second:.0f}/s, {show_size(bytes_per_second)}/s"
    waiting = f", {figures.waiting} waiting" if figures.waiting else ""
    text = f"{delivered}, {show_size(figures.read_bytes)}, {rates}{waiting}"
    share = min(1.0, figures.read_bytes / figures.total_bytes) if figures.total_bytes else None
    return line_with_bar(share, [text], columns)


class SendStatus:
    """The line on its terminal while a context lasts, or nothing where there is none to show.

    Args: figures: asked for the present ones, from a thread of its own.
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
        self._environment = environment
        self._clock = clock
        self._driver = driver
        self._figures = figures
        self._line = StatusLine(environment, wanted=wanted)
        self._lock = threading.Lock()
        self._stop = driver.waiter()
        self._is_stopping = False
        self._left = ""
        """What a signal handler left to be shown."""
        self._records, self._bytes = Rate(), Rate()
        if self._line.is_shown:
            environment.closing_notice.show = self._leave
        self._task = driver.spawn(self._run, "status") if self._line.is_shown else None

    def say(self, line: str) -> None:
        """Tell people something; the line makes room for it."""
        with self._lock:
            self._line.clear()
            self._environment.say(line)

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
        with self._lock:
            self._line.clear()
            self._line.leave()

    def _run(self) -> None:
        wake_at_ms = self._clock.now_ms() + SHOW_AFTER_MS
        while not self._is_stopping:
            self._driver.wait(self._stop, wake_at_ms)
            wake_at_ms = self._clock.now_ms() + PAINT_EVERY_MS
            with self._lock:
                if not self._is_stopping:
                    self._paint()

    def _paint(self) -> None:
        if self._left:
            self._line.clear()
            self._environment.say(self._left)
            self._left = ""
        now_ms, figures = self._clock.now_ms(), self._figures()
        records = self._records.per_second(now_ms, figures.delivered)
        read = self._bytes.per_second(now_ms, figures.read_bytes)
        self._line.show(send_line(figures, records, read, self._line.columns() - 1), now_ms)
