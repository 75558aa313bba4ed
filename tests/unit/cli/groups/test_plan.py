"""New offsets are within the log, and what is out of the ordinary is said."""

import pytest

from kctl.cli import click
from kctl.cli.failures import CommandError
from kctl.cli.groups.plan import OffsetChange, PartitionOffsets, ago_ms, aim_of, instant_ms, plan
from kctl.client.cluster import TopicPartition

TP = TopicPartition("t", 0)
NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("flag", "value", "place", "new", "note"),
    [
        ("--to-earliest", True, (4, 2, 9), 2, ""),
        ("--to-latest", True, (4, 2, 9), 9, ""),
        ("--to-current", True, (4, 2, 9), 4, ""),
        ("--to-current", True, (1, 2, 9), 2, "1 is outside the log (2 to 9)"),
        ("--to-current", True, (None, 2, 9), 9, "no committed offset: using the end offset"),
        ("--to-offset", 9, (4, 2, 9), 9, ""),
        ("--to-offset", 10, (4, 2, 9), 9, "10 is outside the log (2 to 9)"),
        ("--to-offset", 0, (None, 5, 5), 5, "0 is outside the log (empty at 5)"),
        ("--shift-by", -2, (4, 2, 9), 2, ""),
        ("--shift-by", -3, (4, 2, 9), 2, "1 is outside the log (2 to 9)"),
        ("--shift-by", 2**80, (4, 2, 9), 9, f"{2**80 + 4} is outside the log (2 to 9)"),
        ("--from-file", "f", (4, 2, 9), 7, ""),
    ],
)
def test_aims(flag: str, value: object, place: tuple[int | None, int, int], new: int, note: str) -> None:
    changes = plan([PartitionOffsets(TP, *place)], aim_of(flag, value, {TP: 7}))
    assert changes == [OffsetChange(TP, place[0], new, note)]


def test_nothing_to_shift_from() -> None:
    with pytest.raises(CommandError, match="t-0: no committed offset to shift"):
        plan([PartitionOffsets(TP, None, 0, 9)], aim_of("--shift-by", 1, {}))


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1700000005000", 1_700_000_005_000),
        ("2023-11-14T22:13:20Z", NOW_MS),
        ("2023-11-14T22:13:20.000", NOW_MS),
        ("2023-11-15T00:13:20+02:00", NOW_MS),
        ("-1h", NOW_MS - 3_600_000),
    ],
)
def test_times(text: str, at_ms: int) -> None:
    assert instant_ms(text, NOW_MS) == at_ms


@pytest.mark.parametrize("text", ["tomorrow", "end", "12", ""])
def test_plan_refuses_a_malformed_time(text: str) -> None:
    with pytest.raises(click.BadParameter):
        instant_ms(text, NOW_MS)


def test_durations() -> None:
    assert ago_ms("1h", NOW_MS) == ago_ms("PT1H", NOW_MS) == NOW_MS - 3_600_000
    assert ago_ms("100000d", NOW_MS) == 0
    with pytest.raises(click.BadParameter, match="has no unit"):
        ago_ms("5", NOW_MS)
