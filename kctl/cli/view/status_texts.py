"""What a status line shows of a `kctl consume`, a `kctl produce`, a job or a move of partitions: figures in, words
out.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import duration_text
from kctl.client.wording import counted, harmless_text
from kctl.grammar.sizes import show_size

if TYPE_CHECKING:
    from kctl.pipeline.running import JobProgress
RATE_OVER_MS = 5000


class Rate:
    """How much a count has grown in the last seconds; it was 0 at `started_at_ms`."""

    def __init__(self, started_at_ms: int) -> None:
        self._seen = deque([(started_at_ms, 0)])

    def per_second(self, now_ms: int, count: int) -> float:
        """Take the count of this instant and return its growth."""
        self._seen.append((now_ms, count))
        while now_ms - self._seen[0][0] > RATE_OVER_MS:
            self._seen.popleft()
        first_ms, first = self._seen[0]
        return (count - first) * 1000 / (now_ms - first_ms) if now_ms > first_ms else 0.0


class ReadFigures(NamedTuple):
    """A consume.

    Attributes:
        written: records since the start; per_second: of the last seconds.
        lag: records not read yet, as far as it is known.
        partitions: how many are assigned.
        waiting: why nothing comes; empty while something does. is_fault: that is a fault rather than rest.
    """

    written: int
    per_second: float
    lag: int | None
    partitions: int
    waiting: str = ""
    is_fault: bool = False


class SendFigures(NamedTuple):
    """A produce.

    Attributes:
        delivered: records acknowledged; waiting: records sent and not acknowledged.
        read_bytes: of the input; total_bytes: of all of it, None where that is not known.
    """

    delivered: int
    waiting: int
    read_bytes: int
    total_bytes: int | None = None


class MoveProgress(NamedTuple):
    """A move of partitions.

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


def reading_texts(figures: ReadFigures) -> tuple[str, str]:
    """Return the figures of a consume, and why nothing comes; what matters most comes first, for it may be cut."""
    lag = [] if figures.lag is None else [f"lag {figures.lag}"]
    parts = (counted(figures.written, "record"), _rate(figures.per_second), *lag)
    waiting = f": {harmless_text(figures.waiting)}".replace("\n", " ") if figures.waiting else ""
    return ", ".join((*parts, counted(figures.partitions, "partition"))), waiting


def send_standing(figures: SendFigures, records_per_second: float, bytes_per_second: float) -> Standing:
    """Return how far a produce is."""
    rates = f"{_rate(records_per_second)}, {show_size(bytes_per_second)}/s"
    waiting = f", {figures.waiting} waiting" if figures.waiting else ""
    text = f"{counted(figures.delivered, 'record')}, {show_size(figures.read_bytes)}, {rates}{waiting}"
    return Standing([text], min(1.0, figures.read_bytes / figures.total_bytes) if figures.total_bytes else None)


def job_standing(progress: "JobProgress", per_second: float) -> Standing:
    """Return how far a job is; what changes comes last and stays longest."""
    tasks, running, counts, rest = [], [], [], []
    if progress.tasks:
        tasks.append(f"{progress.tasks_done} of {progress.tasks} tasks")
        running += [f"{progress.tasks_active} running"] if progress.tasks_active else []
    if progress.records or progress.tasks:
        counts.append(f"{progress.records} records")
        rest.append(_rate(per_second))
    if progress.lag is not None:
        rest.append(f"lag {progress.lag}")
    if progress.lost_tasks:
        rest.append(f"{progress.lost_tasks} restarted")
    texts = [
        ": ".join(filter(None, [progress.phase, ", ".join(parts)]))
        for parts in _forms([*tasks, *running, *counts], [*tasks, *counts], counts, rest=rest)
    ]
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
    forms = [*_forms([partitions, *sizes], [partitions], rest=eta), [f"{progress.done}/{progress.total}"]]
    return Standing([", ".join(parts) for parts in forms], share)


def _forms(*firsts: list[str], rest: list[str]) -> Sequence[list[str]]:
    return [[*first, *rest] for first in firsts]


def _rate(per_second: float) -> str:
    return f"{per_second:.0f}/s" if per_second >= 10 or per_second == 0 else f"{per_second:.1f}/s"
