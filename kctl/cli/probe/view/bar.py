"""One stacked bar an address: which phase took how much of the time, to a scale, with the connect limit as a mark.

Pure: a report, an instant and a width in, spans out. Each phase has a letter, small while it runs, so that colour adds
nothing that cannot be read without it.
"""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from rich.text import Text

from kctl.cli.probe.view.result import PHASES, AddressStatus, latency_ms, outcome
from kctl.client.events import Phase
from kctl.client.probe import AddressReport
from kctl.grammar.durations import show_duration

LETTERS = dict(zip(PHASES, "DTLASM", strict=True))
_STYLES = dict(zip(PHASES, ("blue", "cyan", "magenta", "yellow", "green", "bold"), strict=True))
LIMIT_MARK = "|"
_MARKS = {AddressStatus.FAILED: "x", AddressStatus.EXPIRED: "!"}
SHORTEST_SCALE_MS = 10
_LATE_MS = 100
"""What expires a little after its limit does not make the scale jump."""


class Scale(NamedTuple):
    """What the width of a bar stands for, and the limit that is marked on it."""

    ms: int
    limit_ms: int

    def cell(self, at_ms: int, width: int) -> int:
        """Return how many cells of a bar an instant is from its beginning."""
        return min(width, (at_ms * width + self.ms // 2) // self.ms)

    @property
    def shows_limit(self) -> bool:
        """Whether the limit lies on the bar; the scale grows until it does, as long as something still runs."""
        return self.limit_ms <= self.ms

    def __str__(self) -> str:
        limit = f"{LIMIT_MARK} connect limit {show_duration(self.limit_ms)}"
        return f"0 to {show_duration(self.ms)}; {limit}" + ("" if self.shows_limit else ", further right")


def scale_of(reports: Sequence[AddressReport], now_ms: int) -> Scale:
    """Return a scale on which every bar fits: 1, 2 or 5 times a power of ten, or the limit where that is near."""
    longest_ms = max((elapsed_ms(report, now_ms) for report in reports), default=0)
    limit_ms = max((report.limit_ms for report in reports), default=0)
    scales = (step * 10**power for power in count() for step in (1, 2, 5))
    scale_ms = next(ms for ms in scales if ms >= max(longest_ms, SHORTEST_SCALE_MS))
    if limit_ms <= 2 * longest_ms <= 2 * limit_ms + _LATE_MS:
        scale_ms = limit_ms
    return Scale(max(1, scale_ms), limit_ms)


def elapsed_ms(report: AddressReport, now_ms: int) -> int:
    """Return how long an address has taken, or took."""
    if report.is_ready:
        return latency_ms(report)
    if report.error is not None or report.is_done:
        return report.elapsed_ms
    return max(0, now_ms - report.started_at_ms)


def bar(report: AddressReport, now_ms: int, width: int, scale: Scale) -> Text:
    """Return the bar of one address: `width` cells, and one more for a mark at its very end."""
    line = Text()

    def fill(until: int, letter: str, phase: Phase) -> None:
        line.append(letter * (until - len(line)), _STYLES[phase])

    until_ms = 0
    for phase in PHASES:
        if phase in report.phases_ms:
            until_ms += report.phases_ms[phase]
            fill(scale.cell(until_ms, width), LETTERS[phase], phase)
    stands, end = outcome(report), scale.cell(elapsed_ms(report, now_ms), width)
    if stands is not AddressStatus.READY and report.phase in LETTERS:
        fill(end, LETTERS[report.phase].lower(), report.phase)
    if not line and report.phases_ms:  # too short for the scale, yet not nothing
        longest = max(report.phases_ms, key=lambda phase: report.phases_ms[phase])
        fill(1, LETTERS[longest], longest)
    line.pad_right(width + 1 - len(line))
    if scale.shows_limit:
        line = _marked(line, scale.cell(scale.limit_ms, width), LIMIT_MARK, "bold")
    if stands in _MARKS:
        line = _marked(line, end, _MARKS[stands], "red")
    return line


def _marked(line: Text, at: int, mark: str, style: str) -> Text:
    return Text.assemble(line[:at], (mark, style), line[at + 1 :])
