"""Live frame of a probe: a row with a bar for each address, recent events, and the next timeout.

If not all addresses fit, the worst are first, and the rest is counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from kctl.cli.limit_names import OPTION_OF_LIMIT
from kctl.cli.probe.view.bar import STYLES, Scale, bar, elapsed_ms, scale_of, slowest_phase
from kctl.cli.probe.view.result import AddressStatus, count, outcome
from kctl.cli.probe.view.text import name, state, summary
from kctl.cli.view.painter import text_of
from kctl.cli.view.tables import fitting, style_of
from kctl.client.clock import duration_text
from kctl.client.probe import AddressReport, NextLimit
from kctl.client.wording import one_line
from kctl.grammar.durations import show_duration

WIDE_COLUMNS, MIDDLE_COLUMNS = 100, 60
"""Minimum widths for rows of one and of two lines; narrower rows have three."""
MOST_EVENTS = 3
_EVENT_ROWS = 15
"""Minimum height of terminals that show events."""
_BADNESS = {AddressStatus.FAILED: 2, AddressStatus.EXPIRED: 2, AddressStatus.UNFINISHED: 1, AddressStatus.READY: 0}


class Scene(NamedTuple):
    """State of a probe at one time.

    Attributes:
        budget_ms: API timeout; None after the round.
        left_ms: remaining time of the API timeout; None after the round.
        next_limit: timeout that passes next.
        events: lines of the last events.
    """

    reports: Sequence[AddressReport]
    now_ms: int
    budget_ms: int | None = None
    left_ms: int | None = None
    next_limit: NextLimit | None = None
    events: Sequence[str] = ()


def draw(scene: Scene, columns: int, rows: int) -> Sequence[Text]:
    scale = scale_of(scene.reports, scene.now_ms)
    head_rows = len(_head(scale, columns, 0))
    foot = _foot(scene, rows)
    room = max(1, rows - 1 - head_rows - len(foot))  # the cursor needs one line

    def badness(report: AddressReport) -> tuple[int, int]:
        return _BADNESS[outcome(report)], elapsed_ms(report, scene.now_ms)

    shown, hidden = fitting(scene.reports, room, badness, _lines_a_row(columns))
    longest = max((text_of(name(report)).cell_len for report in shown), default=0)
    name_width = min(longest, columns * 3 // 10)
    head = _head(scale, columns, name_width)
    lines = [*head, *(line for report in shown for line in _row(report, scene.now_ms, scale, columns, name_width))]
    if hidden:
        lines.append(text_of((_rest(hidden), "dim")))
    for line in (*lines, *foot):
        line.truncate(columns)
    return [*lines, *foot][-(rows - 1) :]


def _bar_width(columns: int, name_width: int) -> int:
    height = _lines_a_row(columns)
    if height == 1:
        return (columns - name_width) * 4 // 10
    return columns // 2 - 2 if height == 2 else columns - 13


def _head(scale: Scale, columns: int, name_width: int) -> list[Text]:
    height = _lines_a_row(columns)
    indent = " " * (name_width + 1 if height == 1 else 2)
    axis = f"{indent}{scale.axis(_bar_width(columns, name_width))}"
    if height == 3 and scale.limit_text:
        return [text_of((axis, "dim")), text_of((f"{indent}{scale.limit_text}", "dim"))]
    return [text_of((f"{axis}  {scale.limit_text}".rstrip(), "dim"))]


def _foot(scene: Scene, rows: int) -> list[Text]:
    lines: list[Text] = []
    if rows >= _EVENT_ROWS:
        lines += [text_of((one_line(event), "dim")) for event in scene.events[-MOST_EVENTS:]]
    lines.append(text_of((summary(scene.reports), "bold")))
    if scene.left_ms is not None and scene.budget_ms is not None:
        lines.append(text_of(f"{_seconds(scene.left_ms)} of {show_duration(scene.budget_ms)} left (--api-timeout)"))
        if scene.next_limit is not None:
            waits_ms = max(0, scene.next_limit.at_ms - scene.now_ms)
            if waits_ms < scene.left_ms:
                who = one_line(str(scene.next_limit.target))
                option = OPTION_OF_LIMIT.get(scene.next_limit.name, scene.next_limit.name)
                lines.append(text_of(f"next timeout: {option} of {who} in {_seconds(waits_ms)}"))
            else:
                lines.append(text_of(f"next timeout: --api-timeout in {_seconds(scene.left_ms)}"))
    return lines


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f}s"


def _lines_a_row(columns: int) -> int:
    if columns >= WIDE_COLUMNS:
        return 1
    return 2 if columns >= MIDDLE_COLUMNS else 3


def _rest(hidden: Sequence[AddressReport]) -> str:
    ready, running = count(hidden, AddressStatus.READY), count(hidden, AddressStatus.UNFINISHED)
    failed = len(hidden) - ready - running
    counts = ((failed, "failed"), (running, "under way"), (ready, "ready"))
    return f"and {len(hidden)} more: " + ", ".join(f"{number} {word}" for number, word in counts if number)


def _row(report: AddressReport, now_ms: int, scale: Scale, columns: int, name_width: int) -> list[Text]:
    total = f" {duration_text(elapsed_ms(report, now_ms)):>6}  "
    words = (_words(report), style_of("outcome", outcome(report).value))
    label = text_of((name(report), "bold"))
    drawn = bar(report, now_ms, _bar_width(columns, name_width), scale)
    height = _lines_a_row(columns)
    slowest = _slowest(report, "" if height == 3 else "slowest: ")
    gap = "  " if slowest[0] else ""
    if height == 1:
        label.truncate(name_width, pad=True)
        return [text_of(label, " ", drawn, total, slowest, gap, words)]
    if height == 2:
        return [text_of(label, "  ", words), text_of("  ", drawn, total, slowest)]
    return [label, text_of("  ", drawn, total), text_of("  ", slowest, gap, words)]


def _slowest(report: AddressReport, label: str) -> tuple[str, str]:
    if not report.is_ready or not report.phases_ms:
        return "", ""
    phase = slowest_phase(report)
    return f"{label}{phase.value} {duration_text(report.phases_ms[phase])}", STYLES[phase]


def _words(report: AddressReport) -> str:
    words = state(report)
    if report.attempts > 1:
        words += f" (attempt {report.attempts})"
    if report.works_with:
        words = f"{report.works_with} works here: {words}"
    if report.idle is not None:
        seconds = f"{report.idle.idle_ms / 1000:g} s"
        words += f", survived {seconds} idle" if report.idle.error is None else f", lost after {seconds} idle"
    elif report.is_ready and not report.is_done:
        words += ", not done yet"
    return words
