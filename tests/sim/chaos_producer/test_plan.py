"""Plans of producers: every kind is drawn, calm ones have none, files keep them, and each error can be ordered."""

from collections import Counter

from kctl.client.producer import Producer
from tests.sim.chaos.replies import failing_apis
from tests.sim.chaos_producer.coverage import NEEDED
from tests.sim.chaos_producer.plan import ERRORS, KINDS, draw, from_json, to_json
from tests.sim.virtual import Hub, SimNetwork, sim_runtime

SEEDS = range(300)


def test_every_kind_and_every_class_is_drawn() -> None:
    plans = [draw(seed) for seed in SEEDS]
    counts = Counter(fault.kind for plan in plans for fault in plan.faults)
    assert set(KINDS) == set(counts)
    assert min(counts.values()) > len(SEEDS) // 6
    assert {plan.kind for plan in plans} == {"calm", "pair", "all", "swarm"}
    assert all(not plan.faults for plan in plans if plan.kind == "calm")


def test_faults_lie_in_the_chaos_and_each_concerns_somebody() -> None:
    for seed in SEEDS:
        plan = draw(seed)
        times = [fault.at_ms for fault in plan.faults]
        assert times == sorted(times)
        assert all(0 <= at_ms < plan.chaos_ms for at_ms in times)
        assert {fault.client for fault in plan.faults} <= {"", *(client.name for client in plan.clients)}


def test_every_guarantee_is_drawn() -> None:
    clients = [client for seed in SEEDS for client in draw(seed).clients]
    assert {client.acks for client in clients} == {"all", "1", "0"}
    assert {client.is_idempotent for client in clients} == {True, False}
    assert any(client.transactional_id for client in clients)
    assert any(client.is_rival for client in clients)
    assert {draw(seed).cluster.transaction_version for seed in SEEDS} == {1, 2}


def test_every_producer_that_is_drawn_can_be_made() -> None:
    with Hub(1) as hub:
        network = SimNetwork(hub)
        for seed in SEEDS:
            for client in draw(seed).clients:
                properties = {"bootstrap.servers": "10.0.0.1:9092", **client.properties}
                Producer(properties, sim_runtime(hub, "p", network)).config  # noqa: B018 - it raises, or it does not


def test_a_plan_is_the_same_after_its_file() -> None:
    for seed in range(50):
        plan = draw(seed)
        assert from_json(to_json(plan)) == plan
        assert plan == draw(seed)


def test_every_api_that_is_drawn_to_fail_can_and_what_is_needed_can_be_drawn() -> None:
    assert set(ERRORS) <= failing_apis()
    assert {fault for fault, _ in NEEDED} <= set(KINDS)
    assert len(set(NEEDED)) == len(NEEDED)
