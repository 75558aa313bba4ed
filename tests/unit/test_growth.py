"""Exponents of costs."""

from math import inf

from tests.support.growth import Cost, Exponents, exponent, exponents_of, wrong_exponents


def test_exponent_of_a_cost_does_not_depend_on_its_constant_part() -> None:
    assert exponent((100, 100, 101)) == 0
    assert exponent((1010, 1020, 1040)) == 0
    assert exponent((110, 120, 140)) == 1
    assert exponent((1100, 1400, 2600)) == 2
    assert exponent((100, 100, 200)) == inf


def test_differences_within_the_noise_are_no_growth() -> None:
    assert exponent((1000, 900, 2900), noise=1000) == 0
    assert exponent((1000, 1000, 9000), noise=1000) == 3


def test_exponents_above_the_expected_ones_and_fewer_requests_are_wrong() -> None:
    found = exponents_of([Cost(10_000, 20, 300), Cost(40_000, 20, 600), Cost(160_000, 20, 1200)])
    assert wrong_exponents(found, Exponents(2, 0, 1)) == {}
    assert wrong_exponents(found, Exponents(1, 0, 0)) == {"lines": 1.95, "bytes": 1}
    assert wrong_exponents(found, Exponents(2, 1, 1)) == {"requests": 0}
