"""How far a job or a move of partitions is: a line with a bar on a terminal; elsewhere a plain line now and then.

Progress is reported by one thread, notices of waits by another.
Shown by tests/unit/cli/view/test_progress_status.py and, on pseudo-terminals, tests/cli/test_pipeline_terminal.py,
tests/cli/test_partitions.py and tests/pipeline/test_job_terminal.py.
"""

import threading
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.environment import Environment
from kctl.cli.view.status_line import Rate, StatusLine, line_with_bar
from kctl.client.clock import duration_text
from kctl.grammar.sizes import show_size

if TYPE_CHECKING:
    from kctl.pipeline.running import Progress

PLAIN_EVERY_MS = 10_000


class MoveProgress(NamedTuple):
    """How far a move is.

    Attributes:
        done, total: partitions.
        copied_bytes, total_bytes: of all copies; 0 while the sizes are not known.
        eta_ms: until the end, as fast as until now; None while that is not known.
    """

    done: int
    total: int
    copied_bytes: int
    total_bytes: int
    eta_ms: int | None


class Standing(NamedTuple):
    """How far something is.

    Attributes:
        texts: one line, from its longest form to its shortest.
        share: how much of it is done; None where the end is not known.
        phase: a new one is shown at once.
    """

    texts: list[str]
    share: float | None
    phase: str = ""


def job_standing(progress: "Progress", per_second: float) -> Standing:
    """Return how far a job is; what changes comes last and stays longest."""
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
    forms = [[*tasks, *running, *counts, *rest], [*tasks, *counts, *rest], [*counts, *rest]]
    texts = [": ".join(filter(None, [progress.phase, ", ".join(parts)])) for parts in forms]
    total = progress.records + (progress.lag or 0)
    share = progress.records / total if progress.lag is not None and total > 0 else None
    return Standing([*texts, ", ".join(rest) or progress.phase], share, progress.phase)


def move_standing(progress: MoveProgress) -> Standing:
    """Return how far a move is."""
    partitions = f"{progress.done} of {progress.total} partitions moved"
    sizes, eta, share = [], [], None
    if progress.total_bytes:
        sizes.append(f"{show_size(progress.copied_bytes)} of {show_size(progress.total_bytes)} copied")
        share = progress.copied_bytes / progress.total_bytes
    if progress.eta_ms is not None:
        step_ms = 60_000 if progress.eta_ms >= 600_000 else 1000
        eta.append(f"about {duration_text(max(step_ms, -(-progress.eta_ms // step_ms) * step_ms))} left")
    forms = [[partitions, *sizes, *eta], [partitions, *eta], [f"{progress.done}/{progress.total}"]]
    return Standing([", ".join(parts) for parts in forms], share)


class ProgressStatus:
    """The view of something long, until it is closed. Args: plain_after_ms: when the first plain line may come."""

    def __init__(self, environment: Environment, *, wanted: bool, plain_after_ms: int = 0) -> None:
        self._environment = environment
        self._wanted = wanted
        self._line = StatusLine(environment, wanted=wanted)
        self._rate = Rate()
        self._phase = ""
        self._plain_at_ms = environment.clock.now_ms() + plain_after_ms
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Show a notice; the line makes room for it, and comes back with the next report."""
        with self._lock:
            self._line.clear()
            self._environment.say(line)

    def on_job(self, progress: "Progress") -> None:
        """Show how far a job is."""
        rate = self._rate.per_second(self._environment.clock.now_ms(), progress.records)
        self._show(job_standing(progress, rate))

    def on_move(self, progress: MoveProgress) -> None:
        """Show how far a move is."""
        self._show(move_standing(progress))

    def _show(self, standing: Standing) -> None:
        now_ms = self._environment.clock.now_ms()
        with self._lock:
            is_new = standing.phase != self._phase
            self._phase = standing.phase
            if self._line.is_shown:
                if is_new or self._line.is_due(now_ms):
                    line = line_with_bar(standing.share, standing.texts, self._line.columns() - 1)
                    self._line.show(line, now_ms)
            elif self._wanted and (is_new or now_ms >= self._plain_at_ms):
                self._plain_at_ms = now_ms + PLAIN_EVERY_MS
                self._environment.say(f"{self._environment.program}: {standing.texts[0]}")

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            self._line.clear()
            self._line.leave()
