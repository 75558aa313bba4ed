"""The drawn probe, compared with stored frames at three widths; the time is handed in.

After a wanted change: `KCTL_STORE_FRAMES=1 python -m pytest tests/unit/cli/view`, then read the difference.
"""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from kctl.cli.view.probe_state import ProbeState, summary
from kctl.cli.view.probe_table import draw
from tests.unit.cli.view.scenario import NOW_MS, PLAN, folded

FRAMES = Path(__file__).parent / "frames"


def _frame(state: ProbeState, columns: int, *, colour: bool) -> str:
    written = io.StringIO()
    console = Console(file=written, width=columns, color_system="standard" if colour else None, legacy_windows=False)
    console.print(draw(state, NOW_MS, columns))
    return "".join(line.rstrip() + "\n" for line in written.getvalue().splitlines())


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_frames(columns: int) -> None:
    frame = _frame(folded(), columns, colour=False)
    stored = FRAMES / f"probe_{columns}.txt"
    if os.environ.get("KCTL_STORE_FRAMES"):
        stored.write_text(frame)
    assert frame == stored.read_text()


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 120, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_terminal_and_nothing_hostile_gets_through(columns: int, colour: bool) -> None:
    frame = _frame(folded(), columns, colour=colour)
    assert "\x07" not in frame
    if not colour:
        assert "\x1b" not in frame
        assert max(len(line) for line in frame.splitlines()) <= columns


def test_nothing_yet() -> None:
    assert "0 of 0 addresses ready" in _frame(ProbeState(PLAN), 80, colour=False)


def test_summary() -> None:
    assert summary(folded()) == "1 of 6 addresses ready, 4 failed, 1 under way"
