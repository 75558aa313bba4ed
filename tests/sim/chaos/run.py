"""One run: chaos, then healing with a bound, calm that must stay calm, the ends of all clients, and a fresh reader.

It returns what the checker found; it prints nothing. Shown by tests/sim/chaos/test_seeds.py.
"""

import gc
import logging
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError
from kctl.sandbox.sim import Hub, SimNetwork, SimulationStuck, sim_runtime
from tests.sim.chaos.actors import Actor, value_of, write_steadily
from tests.sim.chaos.checker import Violation, check
from tests.sim.chaos.coverage import Coverage
from tests.sim.chaos.faults import Trouble
from tests.sim.chaos.history import CLUSTER, History
from tests.sim.chaos.plan import MAX_POLL_MS, ClientPlan, Plan
from tests.sim.chaos.world import BOOTSTRAP, Phase, World
from tests.sim.chaos_producer.plan import ProducerClient, ProducerPlan

HEAL_LIMIT_MS = 3 * MAX_POLL_MS + 60_000
"""The last stall, a rebalance in which somebody is missing, and a request of 30 s that nobody answers, in a row."""
STABLE_MS = 12_000
PROBES = 4
MAX_STEPS = 600_000
MAX_STEPS_AT_ONCE = 5_000
FRESH_READER_LIMIT_MS = 30_000


class Outcome(NamedTuple):
    """What became of a run.

    Attributes:
        violations: what the checker found, the first first; empty when all is well.
        trace_hash: equal for equal runs.
    """

    plan: Plan | ProducerPlan
    violations: tuple[Violation, ...]
    trace_hash: str
    trace: tuple[str, ...]
    coverage: Coverage
    history: History
    virtual_ms: int
    steps: int


class Referee:
    """Leads the run through its phases; what it measures goes into the history."""

    def __init__(self, world: World, trouble: Trouble, actors: list[Actor]) -> None:
        self._world = world
        self._trouble = trouble
        self._actors = actors

    def __call__(self) -> None:
        world, hub = self._world, self._world.hub
        while world.phase is Phase.CHAOS and hub.now_ms < world.plan.chaos_ms:
            hub.sleep_ms(min(1000, world.plan.chaos_ms - hub.now_ms))
        if world.phase is Phase.OVER:
            return
        world.history.event(CLUSTER, "heal")
        world.phase = Phase.HEAL
        self._trouble.heal()
        healed_ms = hub.now_ms
        why = self._settle(healed_ms + HEAL_LIMIT_MS)
        if not why:
            # Somebody at the end may wait for an answer that was lost in the chaos: request.timeout.ms has to pass.
            for tp in world.partitions():
                world.write(tp, 1)
            why = self._settle(healed_ms + HEAL_LIMIT_MS)
        world.history.event(CLUSTER, "settled", {"after_ms": hub.now_ms - healed_ms, "why_not": why})
        if not why:
            self._stay_calm()
        world.history.event(CLUSTER, "over")
        world.phase = Phase.OVER

    def _settle(self, limit_ms: int) -> str:
        """Wait until all is as it should be; return what is not when the limit has come."""
        why = ""
        while self._world.phase is Phase.HEAL and (why := self._unsettled()) and self._world.hub.now_ms < limit_ms:
            self._world.hub.sleep_ms(100)
        return why

    def _unsettled(self) -> str:
        """Return what is not as it should be yet."""
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

    def _stay_calm(self) -> None:
        """Write a little; everything is read soon, nothing rebalances, and nobody is busy."""
        world, hub = self._world, self._world.hub
        hub.sleep_ms(6000)  # what was sent before the calm is answered, and everybody has the newest metadata
        world.phase = Phase.STABLE
        world.history.event(CLUSTER, "stable")
        steps = hub.steps
        for number in range(PROBES):
            if number == PROBES // 2:
                self._bounce()
            for tp in world.partitions():
                world.write(tp, 1)
            hub.sleep_ms(STABLE_MS // PROBES)
        world.history.event(CLUSTER, "calm", {"steps": hub.steps - steps, "clients": len(self._actors)})

    def _bounce(self) -> None:
        """Let a static member go and come back, which nobody else may notice."""
        for actor in self._actors:
            if actor.plan.is_static:
                self._world.history.event("referee", "bounce", actor.plan.name)
                actor.is_to_bounce = True
                return


class _Ends(Protocol):
    """A world that can be told that its run is over."""

    phase: Phase

    @property
    def history(self) -> History: ...


def guarded(world: _Ends, body: Callable[[], None], name: str) -> Callable[[], None]:
    """An exception that no application would expect is a finding, not the end of the simulation."""

    def run() -> None:
        try:
            body()
        except Exception:  # noqa: BLE001 - it becomes a violation with its traceback
            world.history.event(CLUSTER, "exception", {"actor": name, "text": traceback.format_exc()[-1500:]})
            world.phase = Phase.OVER

    return run


class LoggedErrors(logging.Handler):
    """Logged errors become part of the history, but for those that begin with what is expected."""

    def __init__(self, history: History, *, but: str | None = None) -> None:
        super().__init__(logging.ERROR)
        self._history = history
        self._but = but

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if self._but is None or not text.startswith(self._but):
            self._history.event(CLUSTER, "exception", {"actor": record.name, "text": text})


def run(plan: Plan, *, keep_trace: bool = False) -> Outcome:
    """Run a plan and check its history."""
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        with Hub(plan.seed, keep_trace=keep_trace, max_steps=MAX_STEPS, max_steps_at_once=MAX_STEPS_AT_ONCE) as hub:
            world = World(hub, plan)
            errors = LoggedErrors(world.history)
            logging.getLogger("kctl").addHandler(errors)
            try:
                with world.replies.installed():
                    _play(world)
            finally:
                logging.getLogger("kctl").removeHandler(errors)
            violations = check(world.history.entries, plan)
            return Outcome(
                plan, tuple(violations), hub.trace_hash, tuple(hub.trace_lines), world.coverage, world.history,
                hub.now_ms, hub.steps,
            )  # fmt: skip
    finally:
        if gc_was_on:
            gc.enable()


def _play(world: World) -> None:
    hub = world.hub
    trouble = Trouble(world)
    trouble.schedule()
    actors = [Actor(world, plan) for plan in world.plan.clients]
    for actor in actors:
        hub.spawn(actor.plan.name, guarded(world, actor, actor.plan.name))
    hub.spawn("writer", guarded(world, lambda: write_steadily(world), "writer"))
    hub.spawn("referee", guarded(world, Referee(world, trouble, actors), "referee"))
    try:
        hub.run()
        hub.run(until_ms=hub.now_ms + 1000)  # loops of consumers that were closed with 0 end by themselves
        world.history.event(CLUSTER, "left", left_of(world.hub, world.network, world.plan.clients))
        hub.spawn("reader", guarded(world, lambda: _read_everything(world), "reader"))
        hub.run()
    except SimulationStuck as stuck:
        world.history.event(CLUSTER, "stuck", str(stuck))
    except Exception:  # noqa: BLE001 - a network loop has raised: that is a finding
        world.history.event(CLUSTER, "exception", {"actor": "loop", "text": traceback.format_exc()})


def left_of(hub: Hub, network: SimNetwork, clients: Iterable[ClientPlan | ProducerClient]) -> dict[str, Any]:
    """Return what clients have left behind, all of which are closed."""
    names = [client.name for client in clients]
    entries = [owner for owner in hub.pending_owners if owner.split(".")[0].split("#")[0] in names]
    return {"actors": hub.live_actors, "connections": network.open_connections, "entries": entries}


def _read_everything(world: World) -> None:
    """Read all that is left in the log as somebody who comes anew."""
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
