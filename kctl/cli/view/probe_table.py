"""Draws a ProbeState: a table where there is room for one, a few lines per row where there is not.

Pure: state, instant and width in, a rich renderable out. Shown by tests/unit/cli/view/test_probe_table.py with stored
frames.
"""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kctl.cli.formats.terminal import harmless_text
from kctl.cli.view.probe_state import Outcome, ProbeState, Row, summary
from kctl.client.errors import TransportError
from kctl.client.events import Phase

TABLE_COLUMNS = 100
"""From this width on there is room for the table."""

PHASES = (Phase.DNS, Phase.TCP, Phase.TLS, Phase.SASL, Phase.APIVERSIONS)
_HEADINGS = {Phase.DNS: "DNS", Phase.TCP: "TCP", Phase.TLS: "TLS", Phase.SASL: "SASL", Phase.APIVERSIONS: "ApiVersions"}
_STYLES = {Outcome.RUNNING: "", Outcome.READY: "green", Outcome.FAILED: "red", Outcome.EXPIRED: "yellow"}
_NOT_ASKED = "-"
_INDENTED = (0, 0, 0, 2)


def draw(state: ProbeState, now_ms: int, columns: int) -> RenderableType:
    """Return what to show of `state` at `now_ms` on a terminal that many columns wide."""
    rows = state.rows
    body = _table(state, rows, now_ms) if columns >= TABLE_COLUMNS else _lines(state, rows, now_ms)
    return Group(body, Text(summary(state)))


def _table(state: ProbeState, rows: tuple[Row, ...], now_ms: int) -> RenderableType:
    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("Address", overflow="fold", min_width=24)
    for phase in PHASES:
        table.add_column(_HEADINGS[phase], justify="right", no_wrap=True)
    table.add_column("Total", justify="right", no_wrap=True)
    table.add_column("Result", overflow="fold")
    for row in rows:
        table.add_row(
            Text(harmless_text(str(row.target))),
            *(Text(_phase_cell(state, row, phase, now_ms)) for phase in PHASES),
            Text(_total(row, now_ms)),
            Text(result(row), style=_STYLES[row.outcome]),
        )
    return table


def _lines(state: ProbeState, rows: tuple[Row, ...], now_ms: int) -> RenderableType:
    lines: list[RenderableType] = []
    for row in rows:
        cells = [(phase, _phase_cell(state, row, phase, now_ms)) for phase in PHASES if phase in state.plan]
        phases = ", ".join(f"{phase.value} {cell}" for phase, cell in cells if cell)
        lines.append(Text(harmless_text(str(row.target)), style="bold"))
        lines.append(Padding(Text(f"{phases}; {_total(row, now_ms)}"), _INDENTED))
        lines.append(Padding(Text(result(row), style=_STYLES[row.outcome]), _INDENTED))
    return Group(*lines)


def _phase_cell(state: ProbeState, row: Row, phase: Phase, now_ms: int) -> str:
    step = row.step(phase)
    if step is not None:
        return f"{step.elapsed_ms} ms"
    if phase not in state.plan:
        return _NOT_ASKED
    if phase is row.phase and row.outcome is Outcome.RUNNING:
        return f"{max(0, now_ms - row.phase_started_at_ms)} ms..."
    if phase is row.phase:
        return "failed" if row.outcome is Outcome.FAILED else "expired"
    return ""


def _total(row: Row, now_ms: int) -> str:
    return f"{row.elapsed_at(now_ms)} of {row.limit_ms} ms"


def result(row: Row) -> str:
    """Return how the row ended, without the node and the phase, which stand beside it."""
    if row.outcome is Outcome.RUNNING:
        return f"in {row.phase.value}"
    if row.error is None:
        step = row.step(Phase.APIVERSIONS)
        return f"ready, {step.detail}" if step is not None and step.detail else "ready"
    text = str(row.error).removeprefix(f"{row.target}: ").removesuffix(f" [phase {row.phase.value}]")
    if isinstance(row.error, TransportError) and row.error.hint:
        text += f" ({row.error.hint})"
    return harmless_text(text)
