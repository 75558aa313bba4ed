"""Histograms: bucket widths, percentiles and bounds, against sorted lists."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.probe.report.statistics import (
    MOST_NAMES,
    OTHERS,
    Histogram,
    NodeStatistics,
    bucket_end_ms,
    bucket_of,
)

DURATIONS = st.integers(0, 2**53)


def histogram(*completed: int, expired: tuple[int, ...] = ()) -> Histogram:
    made = Histogram()
    for ms in completed:
        made.complete(ms)
    for ms in expired:
        made.expire(ms)
    return made


@given(DURATIONS)
def test_bucket_is_exact_for_short_durations_and_narrow_for_long_ones(ms: int) -> None:
    end_ms = bucket_end_ms(bucket_of(ms))
    assert end_ms == ms if ms < 512 else ms <= end_ms <= ms * (1 + 1 / 256)


@given(DURATIONS, DURATIONS)
def test_buckets_have_the_order_of_durations(one: int, other: int) -> None:
    assert bucket_of(min(one, other)) <= bucket_of(max(one, other))


def test_number_of_buckets_is_bounded() -> None:
    assert bucket_of(2**53) < 12_000


def test_quantiles_are_those_of_the_sorted_list() -> None:
    random = Random(1)
    times = [random.randrange(512) for _ in range(1000)]
    found = histogram(*times)
    assert [found.quantile_ms(share) for share in (0.5, 0.9, 0.99, 0.999)] == [
        sorted(times)[rank - 1] for rank in (500, 900, 990, 999)
    ]
    assert (found.quantile_ms(1), found.slowest_ms) == (max(times), max(times))
    assert found.longer_than(300) == sum(ms > 300 for ms in times)


def test_quantile_that_expired_attempts_hide_is_none() -> None:
    found = histogram(1, 2, 3)
    assert (found.quantile_ms(0.5, 6), found.quantile_ms(0.6, 6)) == (3, None)
    assert (Histogram().quantile_ms(0.5), Histogram().slowest_ms) == (None, None)


@given(st.lists(DURATIONS, max_size=20), st.lists(DURATIONS, max_size=20))
def test_sum_of_two_histograms_is_that_of_all_durations(completed: list[int], expired: list[int]) -> None:
    one, other = histogram(*completed, expired=tuple(expired)), histogram(*expired, expired=tuple(completed))
    one.add(other)
    both = histogram(*completed, *expired, expired=(*expired, *completed))
    assert (one.completed, one.expired) == (both.completed, both.expired)


def test_names_above_the_bound_are_counted_together() -> None:
    node = NodeStatistics()
    for number in range(MOST_NAMES + 5):
        node.count_error(f"Error{number}")
        node.request(f"Api{number}").complete(1)
    assert (len(node.errors), node.errors[OTHERS]) == (MOST_NAMES + 1, 5)
    assert node.requests[OTHERS].completed == {1: 5}
