"""The drawn probe, compared with stored frames at four widths; the time is handed in.

After a wanted change: `KCTL_STORE_FRAMES=1 python -m pytest tests/unit/cli/probe/view`, then read the difference.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.probe.view.frame import Scene, draw
from kctl.client.errors import ConnectionRefused
from kctl.client.events import Phase, Target
from tests.unit.cli.probe.view.scenario import NOW_MS, REFUSED, located, ready, report, scene

FRAMES = Path(__file__).parent / "frames"


def frame(shown: Scene, columns: int, rows: int = 60) -> list[str]:
    return [line.plain.rstrip() for line in draw(shown, columns, rows)]


def slow_scene() -> Scene:
    """Return two fast addresses beside a slow one, in the end."""
    fast = {Phase.DNS: 1, Phase.TCP: 1, Phase.APIVERSIONS: 2, Phase.METADATA: 1}
    slow = {Phase.DNS: 2, Phase.TCP: 3, Phase.TLS: 1200, Phase.APIVERSIONS: 40, Phase.METADATA: 20}
    taken = {"kafka-a.example": fast, "kafka-b.example": fast | {Phase.TCP: 4}, "kafka-c.example": slow}
    reports = [ready(Target(n, -1, host, 9092, ""), 1) for n, host in enumerate(taken)]
    for made, phases_ms in zip(reports, taken.values(), strict=True):
        made.phases_ms = phases_ms
    return Scene(reports, NOW_MS)


@pytest.mark.parametrize(("name", "make"), [("probe", scene), ("slow", slow_scene)])
@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_frames(columns: int, name: str, make: Callable[[], Scene]) -> None:
    drawn = "".join(f"{line}\n" for line in frame(make(), columns))
    stored = FRAMES / f"{name}_{columns}.txt"
    if os.environ.get("KCTL_STORE_FRAMES"):
        stored.write_text(drawn)
    assert drawn == stored.read_text()


@pytest.mark.parametrize("columns", [20, 40, 59, 60, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("rows", [5, 12, 24, 60])
def test_no_frame_is_larger_than_the_terminal_and_nothing_hostile_gets_through(columns: int, rows: int) -> None:
    lines = frame(scene(), columns, rows)
    assert len(lines) <= rows - 1
    assert max(len(line) for line in lines) <= columns
    assert "\x1b" not in "".join(lines)
    assert "\x07" not in "".join(lines)


def test_nothing_yet() -> None:
    assert frame(Scene([], NOW_MS), 80)[-1] == "0 of 0 addresses ready"


def test_of_a_thousand_the_worst_and_the_unfinished_are_shown_and_the_rest_counted() -> None:
    good = [ready(Target(i, -i, f"a{i}.example", 9092, "10.0.0.1:9092"), 1) for i in range(1, 990)]
    running = [report(Target(i, -i, f"b{i}.example", 9092, ""), {}, Phase.DNS) for i in range(990, 1000)]
    refused = report(REFUSED, {}, Phase.TCP, located(ConnectionRefused("no"), REFUSED, Phase.TCP), 1)
    lines = frame(Scene([*good, *running, refused], NOW_MS), 120, 24)
    assert len(lines) <= 23
    assert lines[1].startswith("10.0.0.2:9092")
    assert [line.split()[0] for line in lines[2:12]] == [f"b{i}.example:9092" for i in range(990, 1000)]
    assert lines[-2] == "and 980 more: 980 ready"
    assert lines[-1] == "989 of 1000 addresses ready, 1 failed, 10 under way"


def test_rows_keep_their_order_where_all_fit() -> None:
    lines = frame(scene(), 200)
    assert [line.split()[0] for line in lines[1:5]] == [
        "kafka-a.example:9092", "10.0.0.2:9092", "kafka-c.example:9092", "no-such.example:9092",
    ]  # fmt: skip


def test_next_timeout_is_the_api_timeout_when_that_is_nearer() -> None:
    assert "next timeout: --connect-timeout of kafka-c.example:9092 [10.0.0.3] in 0.2s" in frame(scene(), 120)
    assert "next timeout: --api-timeout in 0.1s" in frame(scene()._replace(left_ms=100), 120)
