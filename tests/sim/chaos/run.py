"""Run of consumers: in the calm, all records are read soon without rebalances, and a new reader reads the rest."""

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError
from tests.sim.chaos import frame
from tests.sim.chaos.actors import value_of
from tests.sim.chaos.checker import check
from tests.sim.chaos.consumer_cluster import BOOTSTRAP, ConsumerCluster
from tests.sim.chaos.continuing import continue_reading
from tests.sim.chaos.faults import Trouble
from tests.sim.chaos.frame import Outcome
from tests.sim.chaos.lives import Actor, write_steadily
from tests.sim.chaos.on_event_loop import application
from tests.sim.chaos.plan import MAX_POLL_MS, Plan
from tests.sim.virtual import sim_runtime

HEAL_LIMIT_MS = 3 * MAX_POLL_MS + 60_000
"""Sum of the last stall, a rebalance with a missing member, and a request of 30 s without a response, in ms."""
STABLE_MS = 12_000
PROBES = 4
MAX_STEPS = 600_000
FRESH_READER_LIMIT_MS = 30_000


class Referee(frame.Referee):
    """All is well when every group is whole and everybody has reached the end."""

    def __init__(self, world: ConsumerCluster, trouble: Trouble, actors: list[Actor]) -> None:
        super().__init__(
            world,
            trouble,
            chaos_ms=world.plan.chaos_ms,
            heal_limit_ms=HEAL_LIMIT_MS,
            client_count=len(actors),
        )
        self._world = world
        self._actors = actors

    def settle(self, limit_ms: int) -> str:
        why = super().settle(limit_ms)
        if not why:
            # a consumer at the end may wait for a lost response until request.timeout.ms
            for tp in self._world.partitions():
                self._world.write(tp, 1)
            why = super().settle(limit_ms)
        return why

    def unsettled(self) -> str:
        world = self._world
        for actor in self._actors:
            life = actor.life
            if life is None or not actor.is_settled:
                return f"{actor.plan.name} is not there yet"
            given = [tp for (_, tp, _), owner in world.owners.items() if owner == life.proc]
            if actor.plan.is_member and sorted(given) != sorted(life.owned):
                return f"{life.proc} has not polled since its share changed"
            if not life.owned:
                if not self._may_have_nothing(actor):
                    return f"{actor.plan.name} has no partition"
                continue
            if not life.has_arrived():
                return f"{life.proc} has not reached the end: {self._lags(actor)}"
        for group in dict.fromkeys(actor.plan.group for actor in self._actors if actor.plan.is_member):
            found = world.sandbox.cluster.groups.get(group)
            members = [actor for actor in self._actors if actor.plan.group == group]
            if found is None or len(found.members) != len(members):
                return f"{group} has {0 if found is None else len(found.members)} members, and not {len(members)}"
            if found.state_name != "Stable":
                return f"{group} is {found.state_name}"
            free = [str(tp) for tp in world.partitions() if not world.has_owner(group, tp)]
            if free:
                return f"nobody in {group} has {', '.join(free)}"
        return ""

    def _may_have_nothing(self, actor: Actor) -> bool:
        """Range and its kin leave members without a partition where there are more members than partitions."""
        return actor.plan.is_member and all(
            self._world.has_owner(actor.plan.group, tp) for tp in self._world.partitions()
        )

    def _lags(self, actor: Actor) -> str:
        life = actor.life
        assert life is not None
        lags = [
            f"{tp} {life.next.get(tp)}/{self._world.end(tp)}"
            for tp in life.owned
            if life.next.get(tp, 0) != self._world.end(tp)
        ]
        return ", ".join(lags)

    def be_calm(self) -> None:
        """Write a little; everything is read soon, nothing rebalances."""
        for number in range(PROBES):
            if number == PROBES // 2:
                self._bounce()
            for tp in self._world.partitions():
                self._world.write(tp, 1)
            self._world.hub.sleep_ms(STABLE_MS // PROBES)

    def _bounce(self) -> None:
        """Let a static member go and come back, which nobody else may notice."""
        for actor in self._actors:
            if actor.plan.is_static:
                self._world.history.event("referee", "bounce", actor.plan.name)
                actor.is_to_bounce = True
                return


def run(plan: Plan, *, keep_trace: bool = False) -> Outcome:
    """Run a plan and check its history."""
    return frame.perform(plan, ConsumerCluster, _play, check, most_steps=MAX_STEPS, keep_trace=keep_trace)


def _play(world: ConsumerCluster) -> None:
    trouble = Trouble(world)
    actors = [Actor(world, plan) for plan in world.plan.clients]
    during: dict[str, frame.Body] = {
        **{actor.plan.name: application(world, actor.plan.name, actor) for actor in actors},
        "writer": lambda: write_steadily(world),
        "referee": Referee(world, trouble, actors),
    }
    frame.play_out(world, trouble, world.plan.clients, during, ("reader", lambda: _look_at_all(world)))


def _look_at_all(world: ConsumerCluster) -> None:
    _read_everything(world)
    continue_reading(world)


def _read_everything(world: ConsumerCluster) -> None:
    """Read the entire log with a new consumer."""
    for isolation in ("read_uncommitted", "read_committed"):
        properties = {"bootstrap.servers": BOOTSTRAP, "auto.offset.reset": "earliest", "isolation.level": isolation}
        consumer = Consumer(properties, sim_runtime(world.hub, "fresh", world.network, world.resolver))
        found: dict[TopicPartition, list[int]] = {tp: [] for tp in world.partitions()}
        limit_ms = world.hub.now_ms + FRESH_READER_LIMIT_MS
        try:
            consumer.assign(found)
            while world.hub.now_ms < limit_ms and any(
                world.start(tp) < world.end(tp) and (not found[tp] or found[tp][-1] < world.end(tp) - 1) for tp in found
            ):
                for record in consumer.poll(1):
                    found[TopicPartition(record.topic, record.partition)].append(value_of(record).offset)
        except KafkaError as error:
            world.history.event("fresh", "failed", repr(error))
        consumer.close()
        limits = [[tp, world.start(tp), world.end(tp), found[tp]] for tp in found]
        world.history.event("fresh", "read", {"isolation": isolation, "partitions": limits})
