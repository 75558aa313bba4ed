"""The next transaction after each abort of a plan goes well, and the rule about it finds one that does not."""

import pytest

from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos_producer.aborted_batches import abort_with_batches_in_flight
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.plan import ClusterPlan, ProducerPlan, draw
from tests.sim.chaos_producer.producer_cluster import ProducerCluster
from tests.sim.virtual import Hub

PLAN = ProducerPlan(1, "calm", 0, ClusterPlan(), (), ())


def play(plan: ProducerPlan) -> list[Entry]:
    """Return the history of the aborts alone."""
    with Hub(plan.seed) as hub:
        world = ProducerCluster(hub, plan)
        hub.spawn("app", lambda: abort_with_batches_in_flight(world))
        hub.run()
        assert hub.live_actors == ()
        return world.history.entries


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_transaction_after_an_abort_with_batches_in_flight_commits_soon(version: int) -> None:
    in_flight = []
    for seed in range(8):
        plan = PLAN._replace(seed=seed, cluster=ClusterPlan(transaction_version=version), aborts=draw(seed).aborts)
        entries = play(plan)
        assert check(entries, plan) == []
        in_flight += [entry.value["in_flight"] for entry in entries if entry.what == "after-abort"]
    assert len(in_flight) == 16
    assert sum(map(bool, in_flight)) > 8


@pytest.mark.parametrize(("changes", "rules"), [
    ({}, []),
    ({"took_ms": 1000}, ["T10 after-abort"]),
    ({"error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}, ["T10 after-abort"]),
])  # fmt: skip
def test_late_or_failed_transaction_after_an_abort_is_a_violation(changes: dict[str, object], rules: list[str]) -> None:
    value = {"took_ms": 999, "error": "", "delivery_ms": 1000} | changes
    entry = Entry(1, 5, CLUSTER, "event", "after-abort", value)
    assert [violation.rule for violation in check([entry], PLAN)] == rules
