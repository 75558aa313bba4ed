"""What samples can show: against values of tables, and against trying it out."""

from math import comb
from random import Random

import pytest

from kctl.pipeline.jobs.report.certainty import at_most, samples_needed, slower_to_spare


@pytest.mark.parametrize(
    ("cases", "samples", "rate"),
    [(0, 10, 0.2589), (0, 100, 0.02951), (1, 100, 0.0466), (5, 100, 0.1023), (10, 10, 1.0), (0, 0, 1.0)],
)
def test_the_upper_bound_of_a_rate(cases: int, samples: int, rate: float) -> None:
    assert at_most(cases, samples) == pytest.approx(rate, abs=1e-4)


def test_exact_and_approximate_bounds_meet() -> None:
    assert at_most(500, 100_000) == pytest.approx(at_most(501, 100_000), rel=0.01)


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.1])
def test_how_many_samples_are_needed(rate: float) -> None:
    need = samples_needed(rate)
    assert (slower_to_spare(need, rate), slower_to_spare(need - 1, rate)) == (0, None)


@pytest.mark.parametrize(("samples", "rate"), [(3000, 0.001), (10_000, 0.001), (500, 0.05), (60, 0.1)])
def test_with_one_more_to_spare_the_certainty_would_be_gone(samples: int, rate: float) -> None:
    spare = slower_to_spare(samples, rate)
    assert spare is not None

    def chance(most: int) -> float:
        return sum(comb(samples, each) * rate**each * (1 - rate) ** (samples - each) for each in range(most + 1))

    assert chance(spare) <= 0.05 < chance(spare + 1)


def test_exact_and_approximate_spares_meet() -> None:
    assert slower_to_spare(501_000, 0.001) == pytest.approx(slower_to_spare(499_000, 0.001), abs=6)


def test_the_promise_is_kept() -> None:
    """The truth is above the bound in about one of twenty tries."""
    random = Random(3)
    above = 0
    for _ in range(400):
        samples = sorted(random.random() for _ in range(100))
        spare = slower_to_spare(100, 0.05)
        assert spare is not None
        above += samples[99 - spare] < 0.95
    assert above <= 30
