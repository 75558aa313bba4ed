import math
from random import Random

BASE = 2
JITTER = 0.2


class ExponentialBackoff:
    """Wait that doubles from `initial_ms` to `max_ms`, with random `jitter`, and never exceeds `max_ms`.

    Source: KIP-580, Java ExponentialBackoff. As in Java, it is constant and has no jitter if max_ms <= initial_ms.
    """

    __slots__ = ("_initial_ms", "_jitter", "_max_exponent", "_max_ms", "_rng")

    def __init__(self, initial_ms: int, max_ms: int, rng: Random, jitter: float = JITTER) -> None:
        self._initial_ms = initial_ms
        self._max_ms = max_ms
        self._jitter = jitter
        self._rng = rng
        self._max_exponent = math.log(max_ms / max(initial_ms, 1), BASE) if max_ms > initial_ms else 0.0

    def backoff_ms(self, attempts: int) -> int:
        """Return the wait in ms. Args: attempts: number of earlier waits."""
        if self._max_exponent == 0.0:
            return self._initial_ms
        exponent = min(attempts, self._max_exponent)
        spread = self._rng.uniform(1 - self._jitter, 1 + self._jitter)
        return min(int(spread * self._initial_ms * BASE**exponent), self._max_ms)
