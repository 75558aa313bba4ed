"""Shrinking: unneeded items are removed, durations end near the smallest failing one, and plans survive their file."""

from tests.sim.chaos.plan import Fault, Plan, draw, from_json, to_json
from tests.sim.chaos.shrink import CLOSE_ENOUGH_MS, shrink


def test_two_needed_faults_are_left_and_the_duration_is_at_its_edge() -> None:
    faults = tuple(
        Fault(at_ms, "clog" if at_ms % 700 else "pause", duration_ms=9000) for at_ms in range(100, 4000, 100)
    )
    plan = draw(1)._replace(faults=faults)

    def fails(some: Plan) -> bool:
        kinds = {fault.at_ms: fault.duration_ms for fault in some.faults}
        return kinds.get(700, 0) >= 4010 and 1500 in kinds and len(some.clients) >= 1

    small = shrink(plan, fails).plan
    assert [fault.at_ms for fault in small.faults] == [700, 1500]
    assert 4010 <= small.faults[0].duration_ms <= 4010 + CLOSE_ENOUGH_MS
    assert small.faults[1].duration_ms == 1
    assert len(small.clients) == 1


def test_a_plan_is_the_same_after_its_file() -> None:
    for seed in range(50):
        plan = draw(seed)
        assert from_json(to_json(plan)) == plan
        assert plan == draw(seed)
