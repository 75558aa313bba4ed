"""Spread: how durations are spread, where some were cut off before their end: bounded, and two of them make one.

A duration that ended is an *end*; one that was given up (its limit passed, a race was lost) is a *cut*: it would have
taken longer than that, and nobody knows how much. Leaving cuts out would make what is slow look fast, taking them as
ends would make a dead node look like a slow one. `curve()` is the estimate of Kaplan and Meier (1958): of what had
neither ended nor been cut when a duration began, the share that ended within it, multiplied up.
Shown by tests/unit/pipeline/report/test_spread.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

EXACT_MS = 512
"""Below it each millisecond is counted by itself; above, steps are never wider than one part in 256."""
_STEPS_BITS = 8
LONGEST_MS = 2**40 - 1
"""Longer ones (34 years) are counted as this: at most 8,400 steps in all."""


def step_of(ms: int) -> int:
    """Return the step that counts a duration; steps are numbered in the order of their durations."""
    ms = min(ms, LONGEST_MS)
    shift = max(0, ms.bit_length() - _STEPS_BITS - 1)
    return (shift << _STEPS_BITS) + (ms >> shift)


def step_end_ms(step: int) -> int:
    """Return the longest duration that a step counts."""
    shift = max(0, (step >> _STEPS_BITS) - 1)
    return (((step - (shift << _STEPS_BITS)) + 1) << shift) - 1


class Point(NamedTuple):
    """One place of the curve: within `ms` this share has ended; `left` were still under way."""

    ms: int
    ended: float
    left: int


class Spread:
    """Durations by steps: ends and cuts."""

    __slots__ = ("cuts", "ends")

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self.cuts: dict[int, int] = {}

    def end(self, ms: int, count: int = 1) -> None:
        """Count durations that ended."""
        step = step_of(ms)
        self.ends[step] = self.ends.get(step, 0) + count

    def cut(self, ms: int, count: int = 1) -> None:
        """Count durations that were given up after `ms`."""
        step = step_of(ms)
        self.cuts[step] = self.cuts.get(step, 0) + count

    def add(self, other: "Spread") -> None:
        """Take in all that another one counted."""
        for mine, theirs in ((self.ends, other.ends), (self.cuts, other.cuts)):
            for step, count in theirs.items():
                mine[step] = mine.get(step, 0) + count

    @property
    def ended(self) -> int:
        return sum(self.ends.values())

    @property
    def cut_off(self) -> int:
        return sum(self.cuts.values())

    @property
    def slowest_ms(self) -> int | None:
        """The longest duration that ended; None when none did."""
        return step_end_ms(max(self.ends)) if self.ends else None

    @property
    def longest_cut_ms(self) -> int | None:
        """The longest that anything was waited for in vain."""
        return step_end_ms(max(self.cuts)) if self.cuts else None

    def without_cuts_from(self, ms: int) -> tuple["Spread", int]:
        """Return this without the cuts at `ms` and later, and how many they were."""
        kept = Spread()
        kept.ends = dict(self.ends)
        kept.cuts = {step: count for step, count in self.cuts.items() if step_end_ms(step) < ms}
        return kept, self.cut_off - kept.cut_off

    def curve(self) -> Iterator[Point]:
        """Yield the estimate at each duration at which something ended, the shortest first."""
        left = self.ended + self.cut_off
        going_on = 1.0
        for step in sorted(self.ends.keys() | self.cuts.keys()):
            ends = self.ends.get(step, 0)
            if ends:
                # What was cut at the same duration was still under way then.
                going_on = going_on * (left - ends) / left if left > ends else 0.0
                yield Point(step_end_ms(step), 1.0 - going_on, left)
            left -= ends + self.cuts.get(step, 0)

    def quantile_ms(self, share: float) -> int | None:
        """Return within what time a share ends; None where the cuts leave that unknown."""
        reached = share - 1e-12  # sums of floats
        return next((point.ms for point in self.curve() if point.ended >= reached), None)

    def later_than(self, ms: int) -> float:
        """Return the share that takes longer than `ms`, as far as it is known: what never ended counts as longer."""
        ended = 0.0
        for point in self.curve():
            if point.ms > ms:
                break
            ended = point.ended
        return 1.0 - ended
