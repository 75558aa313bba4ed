"""Texts of status lines, computed from figures."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import duration_text
from kctl.client.wording import counted, harmless_text
from kctl.grammar.sizes import show_size

if TYPE_CHECKING:
    from kctl.pipeline.running import JobProgress
RATE_OVER_MS = 5000
JOB_RATE_OVER_MS = 60_000
"""Window of the rate of a job, whose counts grow by whole tasks."""


class Rate:
    """Growth of a count per second, over a window. The count was 0 at `started_at_ms`."""

    def __init__(self, started_at_ms: int, over_ms: int = RATE_OVER_MS) -> None:
        self._seen = deque([(started_at_ms, 0)])
        self._over_ms = over_ms

    def per_second(self, now_ms: int, count: int) -> float:
        """Add a count and return the growth per second."""
        self._seen.append((now_ms, count))
        while now_ms - self._seen[0][0] > self._over_ms:
            self._seen.popleft()
        first_ms, first = self._seen[0]
        return (count - first) * 1000 / (now_ms - first_ms) if now_ms > first_ms else 0.0


class ReadFigures(NamedTuple):
    """Figures of `kctl consume`.

    Attributes:
        written: number of records since the start.
        per_second: rate of the last seconds.
        lag: number of unread records, if known.
        waiting: reason for a wait, or empty.
        is_fault: whether the reason is a fault.
    """

    written: int
    per_second: float
    lag: int | None
    partitions: int
    waiting: str = ""
    is_fault: bool = False


class SendFigures(NamedTuple):
    """Figures of `kctl produce`.

    Attributes:
        delivered: number of acknowledged records.
        waiting: number of sent records without acknowledgment.
        read_bytes: size of the input read so far.
        total_bytes: size of the whole input, if known.
    """

    delivered: int
    waiting: int
    read_bytes: int
    total_bytes: int | None = None


class MoveProgress(NamedTuple):
    """Figures of partition moves.

    Attributes:
        done: number of moved partitions.
        total: number of partitions.
        copied_bytes: copied size; 0 if unknown.
        total_bytes: size to copy; 0 if unknown.
        eta_ms: estimated remaining time, if known.
    """

    done: int
    total: int
    copied_bytes: int
    total_bytes: int
    eta_ms: int | None


class Standing(NamedTuple):
    """Progress as texts and share.

    Attributes:
        texts: forms of one line, from the longest to the shortest.
        share: finished share, 0 to 1, if known.
        phase: name of the phase. A new phase is shown immediately.
    """

    texts: list[str]
    share: float | None
    phase: str = ""


def reading_texts(figures: ReadFigures) -> tuple[str, str]:
    lag = [] if figures.lag is None else [f"lag {figures.lag:,}"]
    parts = (_records(figures.written), _rate(figures.per_second), *lag)
    waiting = harmless_text(figures.waiting).replace("\n", " ")
    return ", ".join((*parts, counted(figures.partitions, "partition"))), waiting


def send_standing(figures: SendFigures, records_per_second: float, bytes_per_second: float) -> Standing:
    rates = [_rate(records_per_second), f"{show_size(bytes_per_second)}/s"]
    waiting = [f"{figures.waiting:,} waiting"] if figures.waiting else []
    records, size, share, left = _records(figures.delivered), show_size(figures.read_bytes), None, []
    if figures.total_bytes:
        share = min(1.0, figures.read_bytes / figures.total_bytes)
        size = f"{size} of {show_size(figures.total_bytes)}"
        left = _left(figures.total_bytes - figures.read_bytes, bytes_per_second)
    forms = ([records, size, *rates, *waiting, *left], [records, rates[0], *left], [records, *left])
    return Standing([", ".join(parts) for parts in forms], share)


def job_standing(progress: "JobProgress", per_second: float, in_phase_ms: int = 0) -> Standing:
    """Return the progress of a job. Figures that change often are at the end.

    Args: in_phase_ms: duration of the phase, shown if the phase has no counts.
    """
    tasks, running, counts, rest = [], [], [], []
    left: list[str] = []
    if progress.tasks:
        tasks.append(f"{progress.tasks_done} of {progress.tasks} tasks")
        running += [f"{progress.tasks_active} running"] if progress.tasks_active else []
    if progress.records or progress.tasks:
        counts.append(f"{progress.records:,} records")
        rest.append(_rate(per_second))
    if progress.lag is not None:
        rest.append(f"lag {progress.lag:,}")
        left = _left(progress.lag, per_second)
    if progress.lost_tasks:
        rest.append(f"{progress.lost_tasks} restarted")
    rest += left
    if not (tasks or counts or rest) and in_phase_ms >= 1000:
        return Standing([f"{progress.phase}, {duration_text(in_phase_ms // 1000 * 1000)}"], None, progress.phase)
    texts = [
        ": ".join(filter(None, [progress.phase, ", ".join(parts)]))
        for parts in _forms([*tasks, *running, *counts], [*tasks, *counts], counts, rest=rest)
    ]
    total = progress.records + (progress.lag or 0)
    share = progress.records / total if progress.lag is not None and total > 0 else None
    short = [", ".join(parts) for parts in (rest, rest[: len(rest) - len(left)]) if parts]
    return Standing([*texts, *(short or [progress.phase])], share, progress.phase)


def move_standing(progress: MoveProgress) -> Standing:
    partitions = f"{progress.done} of {progress.total} partitions moved"
    sizes, eta, share = [], [], None
    if progress.total_bytes:
        sizes.append(f"{show_size(progress.copied_bytes)} of {show_size(progress.total_bytes)} copied")
        share = progress.copied_bytes / progress.total_bytes
    if progress.eta_ms is not None:
        eta.append(_eta_text(progress.eta_ms))
    forms = [*_forms([partitions, *sizes], [partitions], rest=eta), [f"{progress.done}/{progress.total}"]]
    return Standing([", ".join(parts) for parts in forms], share)


def _left(count: int, per_second: float) -> list[str]:
    return [_eta_text(int(count * 1000 / per_second))] if count > 0 and per_second > 0 else []


def _eta_text(eta_ms: int) -> str:
    step_ms = 60_000 if eta_ms >= 600_000 else 1000
    return f"about {duration_text(max(step_ms, -(-eta_ms // step_ms) * step_ms))} left"


def _forms(*firsts: list[str], rest: list[str]) -> Sequence[list[str]]:
    return [[*first, *rest] for first in firsts]


def _records(count: int) -> str:
    return f"{count:,} record{'' if count == 1 else 's'}"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 10 or per_second == 0 else f"{per_second:.1f}/s"
