"""What a number of samples can be said to show, with 95 % certainty and whatever the distribution.

Both answers come from the binomial distribution alone. Pure; shown by tests/unit/pipeline/report/test_certainty.py.
"""

import math

DOUBT = 0.05
_EXACT_MOST = 500
"""Up to so many expected or counted cases the sums are made term by term; above, by the normal distribution."""
_Z = 1.6448536269514722
"""Below this many standard deviations above the mean lie 95 % of a normal distribution."""


def at_most(cases: int, samples: int) -> float:
    """Return the largest rate with which so few cases would still be seen in one of twenty tries (Clopper-Pearson).

    No case in n samples does not mean a rate of 0: it may be up to about 3/n.
    """
    if samples <= 0 or cases >= samples:
        return 1.0
    if cases > _EXACT_MOST:
        return _wilson(cases, samples)
    low, high = cases / samples, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_of_at_most(cases, samples, middle) > DOUBT else (low, middle)
    return high


def slower_to_spare(samples: int, rate: float) -> int | None:
    """Return how many of the slowest samples may be left out so that the next one is beyond the quantile 1 - `rate`.

    With 95 % certainty at most `rate` of all durations are longer than the slowest of the rest. None: there are too few
    samples to say that even of the slowest one.
    """
    expected = samples * rate
    if expected > _EXACT_MOST:
        return math.floor(expected - _Z * math.sqrt(expected * (1 - rate)) - 1)
    spare = None
    total = 0.0
    for cases in range(samples):
        total += _chance_of(cases, samples, rate)
        if total > DOUBT:
            break
        spare = cases
    return spare


def samples_needed(rate: float) -> int:
    """Return from how many samples on the slowest one is beyond the quantile 1 - `rate` with 95 % certainty."""
    return math.ceil(math.log(DOUBT) / math.log1p(-rate))


def _chance_of(cases: int, samples: int, rate: float) -> float:
    if rate >= 1.0:
        return 1.0 if cases == samples else 0.0
    ways = math.lgamma(samples + 1) - math.lgamma(cases + 1) - math.lgamma(samples - cases + 1)
    return math.exp(ways + (cases * math.log(rate) if cases else 0.0) + (samples - cases) * math.log1p(-rate))


def _chance_of_at_most(cases: int, samples: int, rate: float) -> float:
    return sum(_chance_of(each, samples, rate) for each in range(cases + 1))


def _wilson(cases: int, samples: int) -> float:
    rate, square = cases / samples, _Z * _Z
    middle = rate + square / (2 * samples)
    margin = _Z * math.sqrt(rate * (1 - rate) / samples + square / (4 * samples * samples))
    return min(1.0, (middle + margin) / (1 + square / samples))
