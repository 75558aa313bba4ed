"""Every kind of fault has an effect, healing ends all of them, and injected errors occur once."""

from random import Random

import pytest

from kctl.client.cluster import TopicPartition
from kctl.sandbox.partition import NO_LEADER
from tests.sim.chaos.consumer_cluster import ConsumerCluster
from tests.sim.chaos.faults import Trouble
from tests.sim.chaos.lives import Actor, write_steadily
from tests.sim.chaos.plan import ClientPlan, Fault, Kind, Plan, size_of
from tests.sim.virtual import Hub

BEGIN_MS, CUT_MS, END_MS = 2000, 2500, 6000
CLIENT = ClientPlan(
    "c1",
    "g",
    {"group.id": "g", "auto.offset.reset": "earliest", "request.timeout.ms": 1000, "metadata.max.age.ms": 500},
)
CUT = Fault(CUT_MS, "cut", client="c1")
"""So that what concerns new connections has some to concern."""


def play(*faults: Fault) -> tuple[ConsumerCluster, list[str]]:
    """Return a world after some seconds, and the trace without the words of the plan itself."""
    plan = Plan(1, "swarm", END_MS, (CLIENT,), faults)
    with Hub(1, keep_trace=True) as hub:
        world = ConsumerCluster(hub, plan)
        with world.replies.installed():
            Trouble(world).schedule()
            hub.spawn("c1", Actor(world, CLIENT))
            hub.spawn("writer", lambda: write_steadily(world))
            hub.run(until_ms=END_MS)
            lines = [line for line in hub.trace_lines if "event fault" not in line and "plan runs" not in line]
    return world, lines


@pytest.fixture(scope="module")
def undisturbed() -> list[str]:
    return play(CUT)[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
def test_every_kind_changes_something(kind: Kind, undisturbed: list[str]) -> None:
    number, word = size_of(Random(f"size {kind.value}"), kind)
    if kind is Kind.ERRORS:
        number, word = 2, "Fetch NOT_LEADER_OR_FOLLOWER"
    whom = "c1" if kind is Kind.STALL else ""
    begin_ms = 0 if kind is Kind.LATE else BEGIN_MS  # the member joins at the beginning
    changed = []
    for node in (1, 2, 3):  # nothing changes if the node already is the new value, as with leaders
        fault = Fault(begin_ms, kind.value, node, whom, 3000, number, word)
        changed.append(play(fault, CUT)[1] != undisturbed)
    assert any(changed)


def test_healing_ends_what_is_going_on() -> None:
    faults = [
        Fault(100, "clog", duration_ms=60_000),
        Fault(100, "pause", 2, duration_ms=60_000),
        Fault(100, "election", 2, duration_ms=60_000),
        Fault(100, "trouble", duration_ms=60_000, word="NOT_COORDINATOR"),
        Fault(100, "recreate", duration_ms=60_000),
        Fault(100, "resolver", 1, duration_ms=60_000, word="slow"),
        Fault(100, "throttle", duration_ms=60_000, number=50),
    ]
    with Hub(1) as hub:
        world = ConsumerCluster(hub, Plan(1, "swarm", END_MS, (CLIENT,), tuple(faults)))
        trouble = Trouble(world)
        trouble.schedule()
        hub.run(until_ms=200)
        assert world.sandbox.cluster.nodes[2].faults.active
        assert world.replies.throttle_ms
        answered: list[int] = []
        world.resolver.lookup("node-1", 9092, lambda: answered.append(hub.now_ms))
        trouble.heal()
        hub.run(until_ms=300)
        assert answered == [200], "a look-up that was slow ends with what made it slow"
        assert world.sandbox.cluster.nodes[2].faults.active == ()
        assert world.replies.throttle_ms == 0
        assert [tp for tp in world.partitions() if leader_of(world, tp) == NO_LEADER] == []
        assert "u" in world.sandbox.cluster.topics
        assert world.sandbox.cluster.groups.lookup_error("g") == 0


def leader_of(world: ConsumerCluster, tp: TopicPartition) -> int:
    return world.sandbox.cluster.topics[tp.topic].partitions[tp.partition].leader_id


def test_a_cut_takes_whole_batches_and_what_is_written_then_says_so() -> None:
    with Hub(1) as hub:
        world = ConsumerCluster(hub, Plan(1, "swarm", END_MS, (CLIENT,), ()))
        tp = TopicPartition("t", 0)
        world.write(tp, 10)
        world.write(tp, 10)
        world.cut(tp, 2, 5)
        assert world.end(tp) == 10
        assert world.history.entries[-1][4:6] == ("cut", [tp, 10])
        assert world.cuts == {tp: 1}
        world.cut(tp, 3, 0)
        assert world.cuts == {tp: 1}, "nothing was lost"
