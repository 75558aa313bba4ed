"""Rates between two looks, and the time to catch up."""

import pytest

from kctl.cli.groups.lag import PartitionLag
from kctl.cli.groups.lag_rates import LagRates, LagSamples, catch_up_ms, total
from kctl.client.cluster import TopicPartition


def lag(committed: int | None, end: int, *, index: int = 0, group: str = "g") -> PartitionLag:
    left = None if committed is None else end - committed
    return PartitionLag(group, TopicPartition("t", index), committed, end, left, None, "", None)


def test_second_look_has_rates_and_time_to_catch_up() -> None:
    samples = LagSamples()
    assert samples.add([lag(0, 100)], 1000) == {}
    rates = samples.add([lag(50, 110)], 3000)
    assert rates == {("g", TopicPartition("t", 0)): LagRates(25.0, 5.0, 3000)}


@pytest.mark.parametrize("later", [lag(40, 100), lag(60, 90), lag(None, 100)])
def test_position_moved_back_and_log_cut_have_no_rate(later: PartitionLag) -> None:
    samples = LagSamples()
    samples.add([lag(50, 95)], 1000)
    assert samples.add([later], 2000) == {}


def test_look_after_a_missing_one_has_no_rate() -> None:
    samples = LagSamples()
    samples.add([lag(0, 100)], 1000)
    samples.add([lag(None, 100)], 2000)
    assert samples.add([lag(50, 100)], 3000) == {}


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
    assert total(later, samples.add(later, 1000)) == (140, LagRates(60.0, 0.0, 9000))
    stuck = [lag(60, 100, index=0), lag(10, 100, index=1)]
    assert total(stuck, samples.add(stuck, 2000)) == (130, LagRates(10.0, 0.0, None))
