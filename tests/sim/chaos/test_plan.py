"""Plans: every kind of fault is drawn, calm ones have none, and what no client could notice is left out."""

from collections import Counter

from tests.sim.chaos.plan import ERRORS, Kind, draw
from tests.sim.chaos.replies import failing_apis

SEEDS = range(400)


def test_every_kind_is_drawn_again_and_again() -> None:
    counts = Counter(fault.kind for seed in SEEDS for fault in draw(seed).faults)
    assert {kind.value for kind in Kind} == set(counts)
    assert min(counts.values()) > len(SEEDS) // 4


def test_every_class_is_drawn_and_calm_plans_have_no_fault() -> None:
    plans = [draw(seed) for seed in SEEDS]
    counts = Counter(plan.kind for plan in plans)
    assert counts["calm"] > 5
    assert counts["pair"] > 20
    assert counts["all"] > 30
    assert counts["swarm"] > 200
    assert all(not plan.faults for plan in plans if plan.kind == "calm")


def test_faults_lie_in_the_chaos_in_order_and_each_client_is_somebody() -> None:
    for seed in SEEDS:
        plan = draw(seed)
        times = [fault.at_ms for fault in plan.faults]
        assert times == sorted(times)
        assert all(0 <= at_ms < plan.chaos_ms for at_ms in times)
        assert plan.clients
        assert {fault.client for fault in plan.faults} <= {"", *(client.name for client in plan.clients)}


def test_no_partitions_are_added_behind_a_static_leader() -> None:
    plans = [draw(seed) for seed in SEEDS]
    of_static = [plan for plan in plans if plan.may_miss_partitions]
    assert of_static
    assert not any(fault.kind == "partitions" for plan in of_static for fault in plan.faults)
    assert any(client.is_static for plan in plans if not plan.may_miss_partitions for client in plan.clients)


def test_every_api_that_is_drawn_to_fail_can() -> None:
    assert set(ERRORS) <= failing_apis()
