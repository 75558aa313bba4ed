"""Latency percentiles in bounded memory, exact to a thousandth.

Buckets are 1us wide up to 2ms, then double in width with each power of two.
"""

_EXACT_BITS = 11
_EXACT = 1 << _EXACT_BITS
_STEPS = _EXACT // 2
_LONGEST_BITS = 44
"""Half a year. Longer durations count as that."""
_LONGEST_US = (1 << _LONGEST_BITS) - 1


class LatencyHistogram:
    """Number of durations in each bucket."""

    def __init__(self) -> None:
        self._counts = [0] * (_EXACT + (_LONGEST_BITS - _EXACT_BITS) * _STEPS)
        self.count = 0
        self.longest_us = 0

    def add(self, duration_us: int) -> None:
        """Count a duration in us. Negative durations count as 0."""
        duration_us = min(max(0, duration_us), _LONGEST_US)
        self._counts[_bucket(duration_us)] += 1
        self.count += 1
        self.longest_us = max(self.longest_us, duration_us)

    def percentile_us(self, percent: float) -> int | None:
        """Return the nearest-rank percentile in us, or None if there are no durations."""
        if not self.count:
            return None
        rank = max(1, -(-self.count * percent // 100))
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= rank:
                return min(_longest_of(bucket), self.longest_us)
        return self.longest_us


def _bucket(duration_us: int) -> int:
    if duration_us < _EXACT:
        return duration_us
    shift = duration_us.bit_length() - _EXACT_BITS
    return _EXACT + (shift - 1) * _STEPS + (duration_us >> shift) - _STEPS


def _longest_of(bucket: int) -> int:
    if bucket < _EXACT:
        return bucket
    shift, step = divmod(bucket - _EXACT, _STEPS)
    return ((step + _STEPS + 1) << (shift + 1)) - 1
