"""Run of producers: in the calm, all calls succeed immediately, and readers see all records."""

from tests.sim.chaos import frame
from tests.sim.chaos.frame import Outcome
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.on_event_loop import application
from tests.sim.chaos_producer.aborted_batches import abort_with_batches_in_flight
from tests.sim.chaos_producer.actors import Actor
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.faults import ProducerTrouble
from tests.sim.chaos_producer.input_account import account
from tests.sim.chaos_producer.narrow_batches import narrow
from tests.sim.chaos_producer.plan import ProducerPlan
from tests.sim.chaos_producer.producer_cluster import ProducerCluster
from tests.sim.chaos_producer.reader import read_along, read_at_the_end
from tests.sim.chaos_producer.saturation import saturate

HEAL_LIMIT_MS = 120_000
"""Sum of the last stall, a transaction timeout, and a request without a response, in ms."""
STABLE_MS = 4000
MAX_STEPS = 400_000
DRAIN_S = 300
"""With acks=0 a producer may be closed while a slow link has its records: a byte a millisecond, as much as is sent."""


class Referee(frame.Referee):
    """All is well when every application has sent to every partition."""

    def __init__(self, world: ProducerCluster, trouble: ProducerTrouble, actors: list[Actor]) -> None:
        super().__init__(
            world,
            trouble,
            chaos_ms=world.plan.chaos_ms,
            heal_limit_ms=HEAL_LIMIT_MS,
            client_count=len(actors) + 1,  # and who reads along
        )
        self._actors = actors

    def unsettled(self) -> str:
        return ", ".join(f"{actor.plan.name} is not there yet" for actor in self._actors if not actor.is_settled)

    def be_calm(self) -> None:
        self._cluster.hub.sleep_ms(STABLE_MS)


def run(plan: ProducerPlan, *, keep_trace: bool = False) -> Outcome:
    """Run a plan and check its history."""
    return frame.perform(
        plan,
        ProducerCluster,
        _play,
        check,
        most_steps=MAX_STEPS,
        expected_error="close() called in a callback",
        keep_trace=keep_trace,
    )


def _play(world: ProducerCluster) -> None:
    trouble = ProducerTrouble(world)
    actors = [Actor(world, plan) for plan in world.plan.clients]
    during: dict[str, frame.Body] = {
        **{actor.plan.name: application(world, actor.plan.name, actor) for actor in actors},
        "reader": lambda: read_along(world),
        "referee": Referee(world, trouble, actors),
    }
    drain_s = DRAIN_S if any(client.acks == "0" for client in world.plan.clients) else 0
    after = ("fresh", lambda: _look_at_all(world))
    frame.play_out(world, trouble, world.plan.clients, during, after, drain_s=drain_s)


def _look_at_all(world: ProducerCluster) -> None:
    for tp in world.partitions():
        world.history.event(CLUSTER, "log", [tp, world.records(tp)])
    read_at_the_end(world)
    saturate(world)
    narrow(world)
    account(world)
    abort_with_batches_in_flight(world)
