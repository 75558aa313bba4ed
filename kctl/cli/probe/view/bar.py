"""Stacked bar of each address on a time axis, with a mark at the connect timeout.

Each phase has a color, and its name if there is room. An unfinished phase is lighter.
"""

from collections.abc import Sequence
from itertools import count
from math import log1p
from typing import NamedTuple

from rich.text import Text

from kctl.cli.probe.view.result import PHASES, AddressStatus, latency_ms, outcome
from kctl.client.clock import duration_text
from kctl.client.events import Phase
from kctl.client.probe import AddressReport
from kctl.grammar.durations import show_duration

STYLES = dict(zip(PHASES, ("blue", "cyan", "magenta", "yellow", "green", "bright_blue"), strict=True))
BLOCK, LIGHT_BLOCK = "\u2588", "\u2591"
LIMIT_MARK = "|"
_MARKS = {AddressStatus.FAILED: "x", AddressStatus.EXPIRED: "!"}
SHORTEST_SCALE_MS = 10
_LATE_MS = 100
"""Tolerance for addresses that expire slightly late, so that the scale does not jump."""
MOST_TIMES = 20
"""Ratio of the slowest to the fastest address above which the axis is logarithmic."""


class Scale(NamedTuple):
    """Time axis of the bars, from 0 to `ms`. A logarithmic axis has more room for short times."""

    ms: int
    limit_ms: int
    is_logarithmic: bool = False

    def cell(self, at_ms: int, width: int) -> int:
        """Return the distance of a time from the start of a bar, in cells."""
        if self.is_logarithmic:
            return min(width, int(width * log1p(at_ms) / log1p(self.ms) + 0.5))
        return min(width, (at_ms * width + self.ms // 2) // self.ms)

    @property
    def shows_limit(self) -> bool:
        return self.limit_ms <= self.ms

    @property
    def limit_text(self) -> str:
        return f"{LIMIT_MARK} connect limit {show_duration(self.limit_ms)}" if self.shows_limit else ""

    def axis(self, width: int) -> str:
        """Return the axis labels that fit."""
        ticks = [0, *(self.ms * part // 4 for part in (1, 2, 3))]
        if self.is_logarithmic:
            ticks = [0, *(10**power for power in range(len(str(self.ms))) if 10**power < self.ms)]
        line, end = "", duration_text(self.ms)
        for tick in ticks:
            at, label = self.cell(tick, width), duration_text(tick) if tick else "0"
            if (not line or at > len(line)) and at + len(label) < width + 1 - len(end):
                line = f"{line:<{at}}{label}"
        return f"{line:<{width + 1 - len(end)}}{end}"


def scale_of(reports: Sequence[AddressReport], now_ms: int) -> Scale:
    """Return the scale for all bars, which ends at a round number or at the connect timeout."""
    longest_ms = max((elapsed_ms(report, now_ms) for report in reports), default=0)
    limit_ms = max((report.limit_ms for report in reports), default=0)
    scales = (step * 10**power for power in count() for step in (1, 2, 5))
    scale_ms = next(ms for ms in scales if ms >= max(longest_ms, SHORTEST_SCALE_MS))
    if limit_ms <= 2 * longest_ms <= 2 * limit_ms + _LATE_MS:
        scale_ms = limit_ms
    fastest_ms = min((latency_ms(report) for report in reports if report.is_ready), default=longest_ms)
    return Scale(max(1, scale_ms), limit_ms, is_logarithmic=longest_ms > MOST_TIMES * max(1, fastest_ms))


def elapsed_ms(report: AddressReport, now_ms: int) -> int:
    if report.is_ready:
        return latency_ms(report)
    if report.error is not None or report.is_done:
        return report.elapsed_ms
    return max(0, now_ms - report.started_at_ms)


def bar(report: AddressReport, now_ms: int, width: int, scale: Scale) -> Text:
    """Return the bar of an address: `width` cells, and one for a mark."""
    line = Text()

    def fill(until: int, block: str, phase: Phase) -> None:
        line.append(_segment(phase.value, until - len(line), block), STYLES[phase])

    until_ms = 0
    for phase in PHASES:
        if phase in report.phases_ms:
            until_ms += report.phases_ms[phase]
            fill(scale.cell(until_ms, width), BLOCK, phase)
    stands, end = outcome(report), scale.cell(elapsed_ms(report, now_ms), width)
    if stands is not AddressStatus.READY and report.phase in STYLES:
        fill(end, LIGHT_BLOCK, report.phase)
    if not line and report.phases_ms:  # shows phases that are too short for the scale
        fill(1, BLOCK, slowest_phase(report))
    line.pad_right(width + 1 - len(line))
    if scale.shows_limit:
        line = _marked(line, scale.cell(scale.limit_ms, width), LIMIT_MARK, "bold")
    if stands in _MARKS:
        line = _marked(line, end, _MARKS[stands], "red")
    return line


def slowest_phase(report: AddressReport) -> Phase:
    return max(report.phases_ms, key=lambda phase: report.phases_ms[phase])


def _segment(name: str, cells: int, block: str) -> str:
    if cells < len(name) + 2:
        return block * cells
    return f"{block}{name}{block * (cells - len(name) - 1)}"


def _marked(line: Text, at: int, mark: str, style: str) -> Text:
    return Text.assemble(line[:at], (mark, style), line[at + 1 :])
