from random import Random

import pytest

from kctl.client.backoff import ExponentialBackoff


class Extreme(Random):
    """Always draws the upper or the lower end."""

    def __init__(self, upper: bool) -> None:
        super().__init__(0)
        self.upper = upper

    def uniform(self, a: float, b: float) -> float:
        return b if self.upper else a


@pytest.mark.parametrize(
    ("attempts", "low_ms", "high_ms"), [(0, 80, 120), (1, 160, 240), (2, 320, 480), (3, 640, 960), (4, 800, 1000)]
)
def test_kafkas_table_of_retry_backoffs(attempts: int, low_ms: int, high_ms: int) -> None:
    assert ExponentialBackoff(100, 1000, Extreme(upper=False)).backoff_ms(attempts) == low_ms
    assert ExponentialBackoff(100, 1000, Extreme(upper=True)).backoff_ms(attempts) == high_ms


def test_never_above_the_maximum_however_many_attempts() -> None:
    backoff = ExponentialBackoff(50, 1000, Random(1))
    assert max(backoff.backoff_ms(attempts) for attempts in range(5, 10_000, 7)) <= 1000


def test_constant_without_jitter_when_the_maximum_is_not_above_the_first() -> None:
    backoff = ExponentialBackoff(100, 100, Random(1))
    assert {backoff.backoff_ms(attempts) for attempts in range(20)} == {100}
