"""The stories of an input go well under each fault, and the rule about them finds an account that is wrong."""

from typing import Any

import pytest

from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.input_account import account
from tests.sim.chaos_producer.plan import ClusterPlan, ProducerPlan
from tests.sim.chaos_producer.producer_cluster import ProducerCluster
from tests.sim.virtual import Hub

PLAN = ProducerPlan(1, "calm", 0, ClusterPlan(), (), ())
RIGHT: dict[str, Any] = {
    "lines": 9, "written": [1, 2, 3], "kept": None, "took_ms": 4000, "limit_ms": 4300,
    "code": 20, "delivered": 3, "failed": 2, "not_sent": 6, "read_to": 9,
}  # fmt: skip
KEPT = RIGHT | {"kept": [4, 5, 6, 7], "read_to": 7}


def entry(**changes: object) -> Entry:
    return Entry(1, 5, CLUSTER, "event", "accounted", RIGHT | changes)


@pytest.mark.slow
def test_input_is_accounted_for_under_every_fault() -> None:
    codes = set()
    for seed in range(24):
        with Hub(seed) as hub:
            world = ProducerCluster(hub, PLAN)
            hub.spawn("app", lambda world=world: account(world))  # type: ignore[misc]  # a bound default
            hub.run()
            assert hub.live_actors == ()
            assert check(world.history.entries, PLAN) == []
            codes |= {each.value["code"] for each in world.history.entries if each.what == "accounted"}
    assert codes == {0, 11, 12, 20}


@pytest.mark.parametrize("value", [RIGHT, KEPT], ids=["counted", "kept"])
def test_right_account_breaks_no_rule(value: dict[str, object]) -> None:
    assert check([entry(**value)], PLAN) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"failed": 1},
        {"not_sent": None},
        {"not_sent": None, "read_to": None},
        {"written": [1, 2, 3, 3]},
        {"written": [1, 2, 3, 8]},
        {"written": [1, 2]},
        {"code": 0},
        {"took_ms": 4301},
        KEPT | {"kept": [4, 5, 7]},
        KEPT | {"kept": [4, 5, 6, 7, 8]},
        KEPT | {"read_to": None},
    ],
)
def test_wrong_account_is_a_violation(changes: dict[str, object]) -> None:
    assert [violation.rule for violation in check([entry(**changes)], PLAN)] == ["F6 unaccounted"]
