"""Reports that repaint the terminal: a single probe, and the table of a repeated probe."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.formats.rows import Row
from kctl.cli.probe.view.frame import MOST_EVENTS, Scene, draw
from kctl.cli.probe.view.report import Report
from kctl.cli.probe.view.result import ProbeResult
from kctl.cli.probe.view.statistics import (
    COLUMNS,
    AddressKey,
    AddressLatencies,
    Statistics,
    badness,
    statistics_rows,
)
from kctl.cli.probe.view.text import event_line, fact_lines, finding_lines, is_logged, round_progress, summary
from kctl.cli.view.painter import Painter, text_of
from kctl.cli.view.sparkline import sparkline
from kctl.cli.view.tables import fitting, fitting_table
from kctl.client.clock import Timer
from kctl.client.events import Event, Phase, PhaseDone, Started
from kctl.client.probe import Prober

if TYPE_CHECKING:
    from rich.text import Text

LAST = COLUMNS.index("last") + 1
"""Number of columns shown at every width."""
TREND_COLUMNS = 60
"""Minimum width of terminals that show the trend."""
REDRAW_MS = 50
"""Minimum time between two frames."""


class Painted(Report):
    """Base of reports that repaint their output."""

    def __init__(self, out: DataOut, environment: Environment, started_at_ms: int) -> None:
        super().__init__(out)
        self._clock = environment.clock
        self._environment = environment
        self._started_at_ms = started_at_ms
        self._painter = Painter.on_stdout(out, environment)
        self._painted_at_ms = started_at_ms - REDRAW_MS
        self._events: deque[str] = deque(maxlen=MOST_EVENTS)

    def on_event(self, event: Event) -> None:
        is_noise = isinstance(event, Started) or (isinstance(event, PhaseDone) and event.phase is not Phase.METADATA)
        if is_logged(event) and not is_noise:
            self._events.append(event_line(event, self._started_at_ms))

    def _is_due(self) -> bool:
        now_ms = self._clock.now_ms()
        if now_ms - self._painted_at_ms < REDRAW_MS:
            return False
        self._painted_at_ms = now_ms
        return True

    def __enter__(self) -> Self:
        self._painter.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._painter.__exit__(*error)


def statistics_table(items: Sequence[tuple[AddressKey, AddressLatencies]], columns: int) -> "Sequence[Text]":
    """Return the lines of the table: one for each address, with its recent latencies if there is room."""
    names, kept = list(COLUMNS), COLUMNS[:LAST]
    rows: list[Row] = statistics_rows(items)
    if columns >= TREND_COLUMNS:
        names.insert(LAST, "trend")
        kept = (*kept, "trend")
        trends = (sparkline(latencies.recent_ms, columns // 5) for _, latencies in items)
        rows = [{**row, "trend": trend} for row, trend in zip(rows, trends, strict=True)]
    return fitting_table(names, rows, columns, kept=kept, shortened=COLUMNS[:1])


class LiveReport(Painted):
    """Report that shows a frame during a probe, and its findings at the end."""

    def draw(self, prober: Prober, timer: Timer) -> None:
        if self._is_due():
            left = timer.timeout_ms, timer.remaining_ms, prober.next_limit()
            self._show(Scene(prober.reports, self._clock.now_ms(), *left, tuple(self._events)))

    def ended(self, result: ProbeResult) -> None:
        self._show(Scene(result.reports, result.started_at_ms + result.elapsed_ms))
        self._painter.below([*fact_lines(result), *finding_lines(result.findings)])

    def _show(self, scene: Scene) -> None:
        self._painter.paint(draw(scene, *self._environment.size()))


class WatchReport(Painted):
    """Report that shows the statistics of all rounds, repainted after each round."""

    def __init__(self, out: DataOut, environment: Environment, started_at_ms: int, statistics: Statistics) -> None:
        super().__init__(out, environment, started_at_ms)
        self._statistics = statistics
        self._round, self._last_line = 1, ""

    def draw(self, prober: Prober, timer: Timer) -> None:
        if self._is_due():
            self._show(f"round {self._round} under way: {round_progress(prober.reports, timer)}")

    def ended(self, result: ProbeResult) -> None:
        self._round = result.number + 1
        self._show(f"round {result.number}: {summary(result.reports)}")

    def show_again(self) -> None:
        if self._painter.is_stale:
            self._show(self._last_line)

    def _show(self, last_line: str) -> None:
        self._last_line = last_line
        columns, height = self._environment.size()
        room = height - 3 - len(self._events)  # the heading, the last line, and the cursor below
        shown, hidden = fitting(list(self._statistics.items()), room, badness)
        table = statistics_table(shown, columns)
        rest = [f"and {len(hidden)} more"] if hidden else []
        notes = [text_of((note, "dim")) for note in (*rest, *self._events)]
        self._painter.paint([*table, *notes, text_of((last_line, "bold"))])
