"""One run of producers: chaos, healing with a bound, a calm in which all goes well, the ends of all, and readers.

It returns what the checker found; it prints nothing. Shown by tests/sim/chaos_producer/test_seeds.py.
"""

import gc
import logging
import traceback

from kctl.sandbox.sim import Hub, SimulationStuck
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.run import LoggedErrors, Outcome, guarded, left_of
from tests.sim.chaos_producer.actors import Actor
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.faults import ProducerTrouble
from tests.sim.chaos_producer.plan import ProducerPlan
from tests.sim.chaos_producer.reader import read_along, read_at_the_end
from tests.sim.chaos_producer.world import Phase, ProducerWorld

HEAL_LIMIT_MS = 120_000
"""The last stall, a transaction that has to time out, and a request that nobody answers, in a row."""
STABLE_MS = 4000
MAX_STEPS = 400_000
MAX_STEPS_AT_ONCE = 5_000


class Referee:
    """Leads the run through its phases; what it measures goes into the history."""

    def __init__(self, world: ProducerWorld, trouble: ProducerTrouble, actors: list[Actor]) -> None:
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
        while (why := self._unsettled()) and hub.now_ms < healed_ms + HEAL_LIMIT_MS:
            hub.sleep_ms(100)
        world.history.event(CLUSTER, "settled", {"after_ms": hub.now_ms - healed_ms, "why_not": why})
        if not why:
            hub.sleep_ms(6000)  # what was begun before the calm has ended, and everybody has the newest metadata
            world.phase = Phase.STABLE
            world.history.event(CLUSTER, "stable")
            steps = hub.steps
            hub.sleep_ms(STABLE_MS)
            world.history.event(CLUSTER, "calm", {"steps": hub.steps - steps, "clients": len(self._actors) + 1})
        world.history.event(CLUSTER, "over")
        world.phase = Phase.OVER

    def _unsettled(self) -> str:
        """Return what is not as it should be yet."""
        if self._world.phase is not Phase.HEAL:
            return "somebody has ended the run"
        return ", ".join(f"{actor.plan.name} is not there yet" for actor in self._actors if not actor.is_settled)


def run(plan: ProducerPlan, *, keep_trace: bool = False) -> Outcome:
    """Run a plan and check its history."""
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        with Hub(plan.seed, keep_trace=keep_trace, max_steps=MAX_STEPS, max_steps_at_once=MAX_STEPS_AT_ONCE) as hub:
            world = ProducerWorld(hub, plan)
            errors = LoggedErrors(world.history, but="close() called in a callback")
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


def _play(world: ProducerWorld) -> None:
    hub = world.hub
    trouble = ProducerTrouble(world)
    trouble.schedule()
    actors = [Actor(world, plan) for plan in world.plan.clients]
    for actor in actors:
        hub.spawn(actor.plan.name, guarded(world, actor, actor.plan.name))
    hub.spawn("reader", guarded(world, lambda: read_along(world), "reader"))
    hub.spawn("referee", guarded(world, Referee(world, trouble, actors), "referee"))
    try:
        hub.run()
        hub.run(until_ms=hub.now_ms + 1000)  # what is on the wire arrives
        world.history.event(CLUSTER, "left", left_of(hub, world.network, world.plan.clients))
        hub.spawn("fresh", guarded(world, lambda: read_at_the_end(world), "fresh"))
        for tp in world.partitions():
            world.history.event(CLUSTER, "log", [tp, world.records(tp)])
        hub.run()
    except SimulationStuck as stuck:
        world.history.event(CLUSTER, "stuck", str(stuck))
    except Exception:  # noqa: BLE001 - a network loop has raised: that is a finding
        world.history.event(CLUSTER, "exception", {"actor": "loop", "text": traceback.format_exc()})
