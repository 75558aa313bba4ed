"""Every kind that only producers meet changes something, and so do those that mean something else to them."""

import pytest

from kctl.sandbox.partition import NO_LEADER
from kctl.sandbox.quotas import Quota
from tests.sim.chaos.plan import Fault
from tests.sim.chaos_producer.actors import Actor
from tests.sim.chaos_producer.faults import ProducerTrouble
from tests.sim.chaos_producer.plan import BEFORE_1970_MS, ClusterPlan, ProducerClient, ProducerPlan
from tests.sim.chaos_producer.producer_cluster import ProducerCluster
from tests.sim.virtual import Hub

END_MS = 4000
LIMITS: dict[str, str | int] = {
    "request.timeout.ms": 1000,
    "delivery.timeout.ms": 8000,
    "linger.ms": 1000,
    "batch.size": 0,
    "buffer.memory": 100_000,
    "max.request.size": 2000,
    "max.block.ms": 2000,
    "retry.backoff.ms": 10,
}
CLIENTS = (
    ProducerClient("p1", LIMITS),
    ProducerClient("p2", {**LIMITS, "transactional.id": "x1", "transaction.timeout.ms": 5000}),
)


def play(*faults: Fault, end_ms: int = END_MS) -> tuple[ProducerCluster, list[str]]:
    """Return a world after some seconds, and the trace without the words of the plan itself."""
    plan = ProducerPlan(1, "swarm", end_ms, ClusterPlan(lag_ms=500, min_insync=3), CLIENTS, faults)
    with Hub(1, keep_trace=True) as hub:
        world = ProducerCluster(hub, plan)
        with world.replies.installed():
            ProducerTrouble(world).schedule()
            for client in CLIENTS:
                hub.spawn(client.name, Actor(world, client))
            hub.run(until_ms=end_ms)
            lines = [line for line in hub.trace_lines if "event fault" not in line and "plan runs" not in line]
    return world, lines


@pytest.fixture(scope="module")
def undisturbed() -> list[str]:
    return play()[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "number", "word"),
    [
        ("expire-producers", 1, ""),
        ("hold-markers", 0, ""),
        ("lag", 1, ""),
        ("hold", 1, ""),
        ("shrink", 1, ""),
        ("quota", 300, ""),
        ("too-large", 150, ""),
        *(("unreadable", how, "") for how in range(5)),
        ("leader", 1, ""),
        ("election", 1, ""),
        ("coordinator", 0, ""),
        ("trouble", 0, "COORDINATOR_LOAD_IN_PROGRESS"),
        ("errors", 3, "Produce NOT_LEADER_OR_FOLLOWER"),
        ("errors", 3, "EndTxn CONCURRENT_TRANSACTIONS"),
    ],
)
def test_every_kind_changes_something(kind: str, number: int, word: str, undisturbed: list[str]) -> None:
    faults = [Fault(500, kind, node, "", 2000, number, word) for node in (1, 2, 3)]
    assert play(*faults)[1] != undisturbed


def test_clock_of_one_client_shows_a_time_before_1970_for_a_while() -> None:
    def refused(fault: Fault, *, heals: bool) -> list[int]:
        """Return when sends were refused for the clock."""
        with Hub(1) as hub:
            world = ProducerCluster(hub, ProducerPlan(1, "swarm", END_MS, ClusterPlan(), CLIENTS[:1], (fault,)))
            trouble = ProducerTrouble(world)
            trouble.schedule()
            hub.spawn("p1", Actor(world, CLIENTS[0]))
            if heals:
                hub.call_later_ms(1500, "test", trouble.heal)
            hub.run(until_ms=END_MS)
            return [entry.at_ms for entry in world.history.entries if entry.error == "WrongClock"]

    fault = Fault(1000, "wall-clock", 1, "p1", 2000, BEFORE_1970_MS)
    lasting, healed = refused(fault, heals=False), refused(fault, heals=True)
    assert len(lasting) > len(healed) > 0
    assert 1000 <= lasting[0] <= lasting[-1] < 3000
    assert healed[-1] < 1500


def test_a_leader_is_chosen_among_those_in_sync_and_a_cut_is_told() -> None:
    plan = ProducerPlan(1, "swarm", END_MS, ClusterPlan(replication_ms=50), CLIENTS, ())
    with Hub(1) as hub:
        world = ProducerCluster(hub, plan)
        trouble = ProducerTrouble(world)
        tp = world.partitions()[0]
        partition = world.partition(tp)
        followers = [one for one in partition.replicas if one != partition.leader_id]
        world.sandbox.hold_follower(*tp, followers[0])
        trouble._do["leader"](Fault(0, "leader", followers[0], number=0))
        assert partition.leader_id == followers[1]


def test_healing_ends_what_is_going_on() -> None:
    kinds = [
        ("hold-markers", ""),
        ("lag", ""),
        ("hold", ""),
        ("shrink", ""),
        ("quota", ""),
        ("too-large", ""),
        ("election", ""),
    ]
    faults = [Fault(100, kind, node, "", 60_000, 100, word) for kind, word in kinds for node in (1, 2, 3)]
    with Hub(1) as hub:
        world = ProducerCluster(hub, ProducerPlan(1, "swarm", END_MS, ClusterPlan(), CLIENTS, tuple(faults)))
        trouble = ProducerTrouble(world)
        trouble.schedule()
        hub.run(until_ms=200)
        quotas = world.sandbox.cluster.nodes[1].quotas
        limit = quotas.limit_of(Quota.PRODUCE, "p1")
        assert limit is not None
        assert quotas.debt_ms(limit, 0) == 0
        trouble.heal()
        hub.run(until_ms=300)
        for tp in world.partitions():
            partition = world.partition(tp)
            assert partition.leader_id != NO_LEADER
            assert list(partition.in_sync) == list(partition.replicas)
            assert partition.log.settings.max_message_bytes == world.sandbox.cluster.settings.message_max_bytes
