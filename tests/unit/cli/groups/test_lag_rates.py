"""Rates over a window of looks, and the time to catch up."""

import pytest

from kctl.cli.groups.lag import PartitionLag
from kctl.cli.groups.lag_rates import LagRates, LagSamples, catch_up_ms, keeps_pace, total
from kctl.client.cluster import TopicPartition

KEY = "g", TopicPartition("t", 0)


def lag(committed: int | None, end: int, *, index: int = 0, group: str = "g") -> PartitionLag:
    left = None if committed is None else end - committed
    return PartitionLag(group, TopicPartition("t", index), committed, end, left, None, "", None)


def test_rates_are_known_after_30_s() -> None:
    samples = LagSamples()
    assert samples.add([lag(0, 100)], 1000) == {}
    assert samples.add([lag(30, 100)], 16_000) == {}
    assert not samples.are_complete
    rates = samples.add([lag(30, 160)], 31_000)
    assert rates == {("g", TopicPartition("t", 0)): LagRates(1.0, 2.0, None)}
    assert samples.are_complete


def test_healthy_group_that_commits_less_often_than_it_is_looked_at_keeps_pace() -> None:
    samples, found = LagSamples(), []
    for at_ms in range(0, 120_000, 2_000):
        committed = at_ms // 5_000 * 2_500  # 500 records a second, committed every 5 s
        found.append(samples.add([lag(committed, at_ms // 2 + 500)], at_ms).get(KEY))
    known = [each for each in found if each is not None]
    assert (found[:10], len(known) > 45) == ([None] * 10, True)
    assert all(abs((each.rate_per_s or 0) - 500) < 50 and keeps_pace(each) for each in known)


def test_group_that_stops_no_longer_keeps_pace() -> None:
    samples = LagSamples()
    for at_ms in range(0, 120_000, 2_000):
        rates = samples.add([lag(min(at_ms, 60_000) // 5_000 * 2_500, at_ms // 2 + 500)], at_ms).get(KEY)
    assert rates is not None
    assert (rates.rate_per_s, rates.produced_per_s, keeps_pace(rates)) == (0, 500, False)


@pytest.mark.parametrize("later", [lag(40, 100), lag(60, 90), lag(None, 100)])
def test_position_moved_back_and_log_cut_have_no_rate(later: PartitionLag) -> None:
    samples = LagSamples()
    samples.add([lag(50, 95)], 1000)
    assert samples.add([later], 32_000) == {}


def test_look_after_a_missing_one_has_no_rate() -> None:
    samples = LagSamples()
    samples.add([lag(0, 100)], 1000)
    samples.add([lag(None, 100)], 2000)
    assert samples.add([lag(50, 100)], 32_000) == {}


@pytest.mark.parametrize(
    ("left", "read", "written", "expected"),
    [(0, 0.0, 10.0, 0), (100, 10.0, 10.0, None), (100, 5.0, 10.0, None), (100, 30.0, 10.0, 5000)],
)
def test_group_catches_up_only_where_it_gains(left: int, read: float, written: float, expected: int | None) -> None:
    assert catch_up_ms(left, read, written) == expected


def test_several_partitions_are_caught_up_when_the_slowest_is() -> None:
    samples = LagSamples()
    first = [lag(0, 100, index=0), lag(0, 100, index=1)]
    later = [lag(50, 100, index=0), lag(10, 100, index=1)]
    samples.add(first, 0)
    assert total(later, samples.add(later, 30_000)) == (140, LagRates(2.0, 0.0, 270_000))
    stuck = [lag(80, 100, index=0), lag(10, 100, index=1)]
    assert total(stuck, samples.add(stuck, 60_000)) == (110, LagRates(1.0, 0.0, None))
