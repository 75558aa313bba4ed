"""The frame of `kctl groups lag --watch`, compared with stored frames at four widths.

After a wanted change: `KCTL_STORE_FRAMES=1 python -m pytest tests/unit/cli/groups`, then read the difference.
"""

import os
from pathlib import Path

import pytest
from rich.text import Text

from kctl.cli.groups.lag import PartitionLag
from kctl.cli.groups.lag_frame import draw
from kctl.cli.groups.lag_look import LagLook
from kctl.cli.groups.lag_rates import Key, LagRates, LagSamples
from kctl.cli.groups.lag_watch import plain_summary
from kctl.client.cluster import TopicPartition

FRAMES = Path(__file__).parent / "frames"
LOOKS = 16


def lags(at: int) -> list[PartitionLag]:
    """Return the lag at a look: one partition falls behind, one catches up, one is unread and one is unknown."""
    found = {0: (1000 + 20 * at, 1000 + 80 * at), 1: (500 + 40 * at, 1100 + 10 * at), 2: (0, 70_000)}
    known = [
        PartitionLag("billing", TopicPartition("orders", number), committed, end, end - committed, None, "", None)
        for number, (committed, end) in found.items()
    ]
    gone = PartitionLag("billing", TopicPartition("orders", 3), 5, None, None, None, "no such partition", None)
    return [*known, gone]


def drawn(columns: int, height: int = 24, looks: int = LOOKS) -> list[str]:
    return [line.plain.rstrip() for line in drawn_lag(columns, height, looks)]


def drawn_lag(columns: int, height: int = 24, looks: int = LOOKS) -> list[Text]:
    """Return the view after some looks, with its styles."""
    samples = LagSamples()
    rates: dict[Key, LagRates] = {}
    for at in range(looks):
        rates = samples.add(lags(at), at * 5000)
    look = LagLook(lags(looks - 1), {}, rates, [], [], True, False, True)
    return draw(look, samples, plain_summary(look, 0), columns, height)


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_frames(columns: int) -> None:
    text = "".join(f"{line[:columns]}\n" for line in drawn(columns))
    stored = FRAMES / f"lag_{columns}.txt"
    if os.environ.get("KCTL_STORE_FRAMES"):
        stored.write_text(text)
    assert text == stored.read_text()


def test_partitions_are_sorted_by_lag_and_an_unknown_lag_comes_first() -> None:
    rows = [line.split()[2] for line in drawn(120) if line.startswith("billing")]
    assert rows == ["3", "2", "0", "1"]


def test_lag_over_time_is_shown_from_the_second_look_on() -> None:
    assert drawn(120, looks=1)[1].startswith("GROUP")
    assert not any("TREND" in line for line in drawn(120, looks=1))
    head, over_time, *rows = drawn(120, looks=2)
    assert (head.startswith("00:00:00 UTC  lag 70,630, "), over_time) == (True, "lag \u2588\u2588 +30 in 5s")
    assert rows[0].split()[:5] == ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END"]
    assert "TREND" in rows[0]


def test_worst_partitions_stay_on_a_low_terminal() -> None:
    lines = drawn(120, height=6)
    assert len(lines) == 5
    assert lines[3].split()[:3] == ["billing", "orders", "3"]
    assert lines[4] == "not shown: 3 partitions with a smaller lag"
