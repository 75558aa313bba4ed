"""Makes a failing plan small: deletes faults and clients, ends the chaos sooner, bisects durations; the rule stays.

Every subset of a plan is a plan, so each step is "delete, run, keep if it still fails the same rule".
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tests.sim.chaos.plan import Fault, Plan
from tests.sim.chaos_producer.plan import ProducerPlan

T = TypeVar("T")
P = TypeVar("P", Plan, ProducerPlan)
SHORT_MS = (1, 20, 300)
"""Durations that are tried before bisecting."""
CLOSE_ENOUGH_MS = 5


class Shrunk(NamedTuple, Generic[P]):
    """The smallest plan found, and how many runs that took."""

    plan: P
    runs: int


class _Budget(Generic[P]):
    """Counts runs, and ends them."""

    def __init__(self, fails: Callable[[P], bool], most: int) -> None:
        self._fails: Callable[[P], bool] = fails
        self._most = most
        self.runs = 0

    def fails(self, plan: P) -> bool:
        if self.runs >= self._most:
            return False
        self.runs += 1
        return self._fails(plan)


def shrink(plan: P, fails: Callable[[P], bool], *, most_runs: int = 300) -> Shrunk[P]:
    """Return a smaller plan that fails as well.

    Args:
        plan: one that fails.
        fails: runs a plan and says whether it breaks the same rule.
        most_runs: the smallest plan so far is returned after so many.
    """
    budget = _Budget(fails, most_runs)
    plan = plan._replace(faults=_fewer(plan.faults, lambda some: budget.fails(plan._replace(faults=some))))
    kept = plan
    plan = plan._replace(
        clients=_fewer(plan.clients, lambda some: bool(some) and budget.fails(kept._replace(clients=some)))
    )
    end_ms = max((fault.at_ms for fault in plan.faults), default=0) + 1000
    for chaos_ms in (end_ms, end_ms + 5000, end_ms + 15_000):
        if chaos_ms < plan.chaos_ms and budget.fails(plan._replace(chaos_ms=chaos_ms)):
            plan = plan._replace(chaos_ms=chaos_ms)
            break
    for number in range(len(plan.faults)):
        plan = _shorter(plan, number, budget.fails)
    return Shrunk(plan, budget.runs)


def _fewer(items: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Delete unneeded items: halves first, then smaller parts, finally single ones (ddmin)."""
    size = len(items)
    while size >= 1 and items:
        at = 0
        while at < len(items):
            without = items[:at] + items[at + size :]
            if len(without) < len(items) and fails(without):
                items = without
            else:
                at += size
        size = size // 2 if size > 1 else 0
    return items


def _shorter(plan: P, number: int, fails: Callable[[P], bool]) -> P:
    """Let one fault last as short as it may: some short durations, then bisection to the smallest that fails."""
    longest_ms = plan.faults[number].duration_ms
    low_ms = 0
    for duration_ms in SHORT_MS:
        if duration_ms >= longest_ms:
            break
        if fails(_with_duration(plan, number, duration_ms)):
            return _with_duration(plan, number, duration_ms)
        low_ms = duration_ms
    while longest_ms - low_ms > CLOSE_ENOUGH_MS:
        middle_ms = (low_ms + longest_ms) // 2
        if fails(_with_duration(plan, number, middle_ms)):
            longest_ms = middle_ms
        else:
            low_ms = middle_ms
    return _with_duration(plan, number, longest_ms)


def _with_duration(plan: P, number: int, duration_ms: int) -> P:
    faults: Sequence[Fault] = [
        fault._replace(duration_ms=duration_ms) if at == number else fault for at, fault in enumerate(plan.faults)
    ]
    return plan._replace(faults=tuple(faults))
