"""Spread: steps, quantiles, and what was cut off, against the textbook and against brute force."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kctl.pipeline.jobs.report.spread import EXACT_MS, LONGEST_MS, Spread, step_end_ms, step_of

DURATIONS = st.integers(0, LONGEST_MS + 1000)


def spread(ends: list[int], cuts: list[int] | None = None) -> Spread:
    made = Spread()
    for ms in ends:
        made.end(ms)
    for ms in cuts or []:
        made.cut(ms)
    return made


@given(DURATIONS)
def test_a_step_is_exact_when_short_and_narrow_when_long(ms: int) -> None:
    end_ms = step_end_ms(step_of(ms))
    if ms < EXACT_MS:
        assert end_ms == ms
    elif ms <= LONGEST_MS:
        assert ms <= end_ms <= ms * (1 + 1 / 256)


@given(DURATIONS, DURATIONS)
def test_steps_are_in_the_order_of_durations(one: int, other: int) -> None:
    assert (step_of(one) < step_of(other)) is False if one >= other else step_of(one) <= step_of(other)


def test_a_spread_is_bounded() -> None:
    made = Spread()
    for exponent in range(40):
        for offset in range(2000):
            made.end((1 << exponent) + offset * (1 << exponent) // 2000)
    assert len(made.ends) < 8500


def test_quantiles_without_cuts_are_those_of_the_sorted_list() -> None:
    random = Random(1)
    times = [random.randrange(EXACT_MS) for _ in range(999)]
    made = spread(times)
    for share in (0.5, 0.9, 0.99):
        expected = sorted(times)[-(-int(share * 1000) * 999 // 1000) - 1]
        assert made.quantile_ms(share) == expected
    assert made.quantile_ms(1.0) == max(times)


def test_the_example_of_every_textbook() -> None:
    """Remissions of 21 patients with 6-MP (Freireich 1963): at 6, 7, 10, 13, 16, 22, 23; the others were cut off."""
    made = spread([6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35])
    surviving = {point.ms: round(1 - point.ended, 4) for point in made.curve()}
    assert surviving == {6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482}
    assert made.quantile_ms(0.5) == 23
    assert made.quantile_ms(0.9) is None  # nobody knows


def test_cuts_do_not_make_what_is_slow_look_fast() -> None:
    """Half is given up at 100 ms; those that were not show how the rest would have gone on."""
    random = Random(2)
    truth = [random.randrange(200) for _ in range(20_000)]
    made, naive = Spread(), Spread()
    for number, ms in enumerate(truth):
        if number % 2 and ms > 100:
            made.cut(100)
        else:
            made.end(ms)
            naive.end(ms)
    real = sorted(truth)[len(truth) * 9 // 10]
    found, without = made.quantile_ms(0.9), naive.quantile_ms(0.9)
    assert found is not None
    assert without is not None
    assert abs(found - real) <= 3
    assert without < real - 10


@given(st.lists(DURATIONS, max_size=20), st.lists(DURATIONS, max_size=20))
def test_two_make_one(ends: list[int], cuts: list[int]) -> None:
    one, other = spread(ends, cuts), spread(cuts, ends)
    one.add(other)
    both = spread(ends + cuts, cuts + ends)
    assert (one.ends, one.cuts) == (both.ends, both.cuts)


def test_nothing_ended() -> None:
    made = spread([], [5])
    assert (made.quantile_ms(0.5), made.slowest_ms, made.longest_cut_ms) == (None, None, 5)
    assert made.later_than(1000) == 1.0
