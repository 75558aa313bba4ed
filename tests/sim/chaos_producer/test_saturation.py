"""The stories of a saturated producer go well, and the rule about them finds one that does not."""

import pytest

from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.plan import ClusterPlan, ProducerPlan
from tests.sim.chaos_producer.producer_cluster import ProducerCluster
from tests.sim.chaos_producer.saturation import STORIES, saturate
from tests.sim.virtual import Hub

PLAN = ProducerPlan(1, "calm", 0, ClusterPlan(), (), ())


def play(seed: int) -> list[Entry]:
    """Return the history of a saturation alone."""
    with Hub(seed) as hub:
        world = ProducerCluster(hub, PLAN)
        hub.spawn("app", lambda: saturate(world))
        hub.run()
        assert hub.live_actors == ()
        return world.history.entries


@pytest.mark.slow
def test_saturated_producer_learns_of_topics_and_leaders_in_every_story() -> None:
    stories = set()
    for seed in range(12):
        entries = play(seed)
        assert check(entries, PLAN) == []
        stories |= {entry.value["story"] for entry in entries if entry.what == "saturated"}
    assert stories == set(STORIES)


@pytest.mark.parametrize(
    "value", [{"story": "topic", "took_ms": 1001, "limit_ms": 1000}, {"story": "died", "error": "DeliveryTimeout()"}]
)
def test_starved_producer_is_a_violation(value: dict[str, object]) -> None:
    entry = Entry(1, 5, CLUSTER, "event", "saturated", value)
    assert [violation.rule for violation in check([entry], PLAN)] == ["H2 starved"]
