"""The stories of a command that continues go well, and the rule about them finds one that does not."""

import pytest

from tests.sim.chaos.checker import check
from tests.sim.chaos.consumer_cluster import ConsumerCluster
from tests.sim.chaos.continuing import STORIES, continue_reading
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import Plan
from tests.sim.virtual import Hub

PLAN = Plan(1, "calm", 0, (), ())


@pytest.mark.slow
def test_command_continues_in_every_story() -> None:
    stories = set()
    for seed in range(10):
        with Hub(seed) as hub:
            world = ConsumerCluster(hub, PLAN)
            hub.spawn("app", lambda world=world: continue_reading(world))  # type: ignore[misc]  # a bound default
            with world.replies.installed():
                hub.run()
            assert hub.live_actors == ()
            assert check(world.history.entries, PLAN) == []
            stories |= {each.value["story"] for each in world.history.entries if each.what == "continued"}
    assert stories == set(STORIES)


@pytest.mark.parametrize(
    ("printed", "codes"), [(["1"], [0, 0]), (["1", "2", "2"], [0, 0]), (["1", "2"], [0, 24])], ids=str
)
def test_record_that_is_missing_or_comes_twice_is_a_violation(printed: list[str], codes: list[int]) -> None:
    value = {"story": "down", "wanted": ["1", "2"], "printed": printed, "codes": codes}
    entry = Entry(1, 5, CLUSTER, "event", "continued", value)
    assert [violation.rule for violation in check([entry], PLAN)] == ["C15 not-continued"]
