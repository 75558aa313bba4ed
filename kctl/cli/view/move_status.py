"""How far a move of partitions is: a line on a terminal; elsewhere a plain line now and then.

Shown by tests/unit/cli/view/test_move_status.py and tests/cli/test_partitions.py.
"""

from typing import NamedTuple

from kctl.cli.environment import Environment
from kctl.cli.view.status_line import StatusLine, line_with_bar
from kctl.client.clock import duration_text

PLAIN_EVERY_MS = 10_000
_UNITS = ("B", "kB", "MB", "GB", "TB")


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


def progress_texts(progress: MoveProgress) -> list[str]:
    """Return what there is to say: all of it first, then ever less, for narrow terminals."""
    partitions = f"{progress.done} of {progress.total} partitions moved"
    sizes = f"{size_text(progress.copied_bytes)} of {size_text(progress.total_bytes)} copied"
    eta = "" if progress.eta_ms is None else f"about {duration_text(_rounded_ms(progress.eta_ms))} left"
    parts = [partitions, *([sizes] if progress.total_bytes else []), *([eta] if eta else [])]
    return [", ".join(parts), ", ".join([partitions, *([eta] if eta else [])]), f"{progress.done}/{progress.total}"]


def size_text(size_bytes: int) -> str:
    """Return a size in the largest unit that leaves at least 1."""
    size, unit = float(size_bytes), _UNITS[0]
    for unit in _UNITS:
        if size < 1000 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"


def _rounded_ms(ms: int) -> int:
    """Return a duration to the second, from ten minutes on to the minute."""
    step = 60_000 if ms >= 600_000 else 1000
    return max(step, -(-ms // step) * step)


class MoveStatus:
    """The view of one move."""

    def __init__(self, environment: Environment, *, wanted: bool) -> None:
        self._environment = environment
        self._wanted = wanted
        self._line = StatusLine(environment, wanted=wanted)
        self._plain_at_ms: int | None = None

    def show(self, progress: MoveProgress) -> None:
        """Show how far the move is; a plain line comes first after PLAIN_EVERY_MS."""
        now_ms = self._environment.clock.now_ms()
        texts = progress_texts(progress)
        if self._line.is_shown:
            share = progress.copied_bytes / progress.total_bytes if progress.total_bytes else None
            self._line.show(line_with_bar(share, texts, self._line.columns() - 1), now_ms)
            return
        if self._plain_at_ms is None:
            self._plain_at_ms = now_ms + PLAIN_EVERY_MS
        if self._wanted and now_ms >= self._plain_at_ms:
            self._plain_at_ms = now_ms + PLAIN_EVERY_MS
            self._environment.say(f"{self._environment.program}: {texts[0]}")

    def close(self) -> None:
        """Take the line away."""
        self._line.clear()
        self._line.leave()
