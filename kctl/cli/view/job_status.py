"""How far a job is: a line with a bar on a terminal; elsewhere a plain line now and then.

The job reports in its own thread, notices of waits come from another.
Shown by tests/unit/cli/view/test_job_status.py and, on pseudo-terminals, tests/cli/test_pipeline_terminal.py and
tests/pipeline/test_job_terminal.py.
"""

import threading
from typing import TYPE_CHECKING

from kctl.cli.environment import Environment
from kctl.cli.view.status_line import Rate, StatusLine, line_with_bar

if TYPE_CHECKING:
    from rich.text import Text

    from kctl.pipeline.running import Progress

PLAIN_EVERY_MS = 10_000


def progress_texts(progress: "Progress", per_second: float) -> list[str]:
    """Return what there is to say, in one line: all of it first, then ever less, down to what changes."""
    tasks, running, counts, rest = [], [], [], []
    if progress.tasks:
        tasks.append(f"{progress.tasks_done} of {progress.tasks} tasks")
        running += [f"{progress.tasks_active} running"] if progress.tasks_active else []
    if progress.records or progress.tasks:
        counts.append(f"{progress.records} records")
        rest.append(f"{per_second:.0f}/s")
    if progress.lag is not None:
        rest.append(f"lag {progress.lag}")
    if progress.lost_tasks:
        rest.append(f"{progress.lost_tasks} begun again")
    told = [[*tasks, *running, *counts, *rest], [*tasks, *counts, *rest], [*counts, *rest]]
    texts = [": ".join(filter(None, [progress.phase, ", ".join(parts)])) for parts in told]
    return [*texts, ", ".join(rest) or progress.phase]


def progress_line(progress: "Progress", per_second: float, columns: int) -> "Text":
    """Return the line of a terminal, as much as fits: with a bar, before all else, where the end is known."""
    total = progress.records + (progress.lag or 0)
    share = progress.records / total if progress.lag is not None and total > 0 else None
    return line_with_bar(share, progress_texts(progress, per_second), columns)


class JobStatus:
    """The view of one job; `take` is what the job tells its progress to."""

    def __init__(self, environment: Environment, *, wanted: bool) -> None:
        self._environment = environment
        self._wanted = wanted
        self._line = StatusLine(environment, wanted=wanted)
        self._rate = Rate()
        self._phase = ""
        self._plain_at_ms = 0
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Show a notice; the line makes room for it, and comes back with the next report."""
        with self._lock:
            self._line.clear()
            self._environment.say(line)

    def on_progress(self, progress: "Progress") -> None:
        """Show how far the job is."""
        with self._lock:
            self._on_progress(progress)

    def _on_progress(self, progress: "Progress") -> None:
        now_ms = self._environment.clock.now_ms()
        per_second = self._rate.per_second(now_ms, progress.records)
        if self._line.is_shown:
            if self._line.is_due(now_ms) or progress.phase != self._phase:
                self._line.show(progress_line(progress, per_second, self._line.columns() - 1), now_ms)
        elif self._wanted and (progress.phase != self._phase or now_ms >= self._plain_at_ms):
            self._plain_at_ms = now_ms + PLAIN_EVERY_MS
            self._environment.say(f"{self._environment.program}: {progress_texts(progress, per_second)[0]}")
        self._phase = progress.phase

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            self._line.clear()
            self._line.leave()
