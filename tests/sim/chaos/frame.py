"""The frame of every run: chaos, then healing with a bound, calm that must stay calm, the ends of all, and readers.

What clients do, what calm means to them and how a history is judged comes from run.py, here and in
tests/sim/chaos_producer. It returns what the checker found; it prints nothing.
"""

import gc
import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from tests.sim.chaos.chaos_cluster import ChaosCluster, Phase
from tests.sim.chaos.checker import Violation
from tests.sim.chaos.coverage import Coverage
from tests.sim.chaos.faults import Trouble
from tests.sim.chaos.history import CLUSTER, Entry, History
from tests.sim.chaos.plan import Plan
from tests.sim.chaos_producer.plan import ProducerPlan
from tests.sim.virtual import Hub, SimNetwork, SimulationStuck

MAX_STEPS_AT_ONCE = 5_000
CALM_DOWN_MS = 6000
"""Time until earlier actions have completed and all metadata is current, in ms."""
Body = Callable[[], None]


class _Named(Protocol):
    """A client of a plan."""

    @property
    def name(self) -> str: ...


P = TypeVar("P", Plan, ProducerPlan)
W = TypeVar("W", bound=ChaosCluster)


class Outcome(NamedTuple):
    """Result of a run.

    Attributes:
        violations: violations in order; empty if all is well.
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


class Referee(ABC):
    """Leader of a run through its phases; writes measurements into the history.

    Args:
        chaos_ms: duration of the faults.
        heal_limit_ms: maximum time to recover after them.
        client_count: number of clients that are active during the calm.
    """

    def __init__(
        self, world: ChaosCluster, trouble: Trouble, *, chaos_ms: int, heal_limit_ms: int, client_count: int
    ) -> None:
        self._cluster = world
        self._trouble = trouble
        self._chaos_ms = chaos_ms
        self._heal_limit_ms = heal_limit_ms
        self._client_count = client_count

    def __call__(self) -> None:
        world, hub = self._cluster, self._cluster.hub
        while world.phase is Phase.CHAOS and hub.now_ms < self._chaos_ms:
            hub.sleep_ms(min(1000, self._chaos_ms - hub.now_ms))
        if world.phase is Phase.OVER:
            return
        world.history.event(CLUSTER, "heal")
        world.phase = Phase.HEAL
        self._trouble.heal()
        healed_ms = hub.now_ms
        why = self.settle(healed_ms + self._heal_limit_ms)
        world.history.event(CLUSTER, "settled", {"after_ms": hub.now_ms - healed_ms, "why_not": why})
        if not why:
            self._stay_calm()
        world.history.event(CLUSTER, "over")
        world.phase = Phase.OVER

    def settle(self, limit_ms: int) -> str:
        """Wait until the cluster is settled. Return the missing condition if the limit is reached."""
        why = "somebody has ended the run"
        while self._cluster.phase is Phase.HEAL and (why := self.unsettled()) and self._cluster.hub.now_ms < limit_ms:
            self._cluster.hub.sleep_ms(100)
        return why

    def _stay_calm(self) -> None:
        """Run the calm phase and record its steps."""
        world, hub = self._cluster, self._cluster.hub
        hub.sleep_ms(CALM_DOWN_MS)
        world.phase = Phase.STABLE
        world.history.event(CLUSTER, "stable")
        steps = hub.steps
        self.be_calm()
        world.history.event(CLUSTER, "calm", {"steps": hub.steps - steps, "clients": self._client_count})

    @abstractmethod
    def unsettled(self) -> str:
        """Return a condition that is not met yet; empty if all are."""

    @abstractmethod
    def be_calm(self) -> None:
        """Let the calm pass."""


class LoggedErrors(logging.Handler):
    """Log handler that adds errors to the history, unless they begin with an expected text."""

    def __init__(self, history: History, *, but: str | None = None) -> None:
        super().__init__(logging.ERROR)
        self._history = history
        self._but = but

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if self._but is None or not text.startswith(self._but):
            self._history.event(CLUSTER, "exception", {"actor": record.name, "text": text})


def perform(
    plan: P,
    make_world: Callable[[Hub, P], W],
    play: Callable[[W], None],
    check: Callable[[Iterable[Entry], P], Sequence[Violation]],
    *,
    most_steps: int,
    expected_error: str | None = None,
    keep_trace: bool = False,
) -> Outcome:
    """Run a plan and check its history.

    Args: expected_error: how a logged error begins that is no finding.
    """
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        with Hub(plan.seed, keep_trace=keep_trace, max_steps=most_steps, max_steps_at_once=MAX_STEPS_AT_ONCE) as hub:
            world = make_world(hub, plan)
            errors = LoggedErrors(world.history, but=expected_error)
            logging.getLogger("kctl").addHandler(errors)
            try:
                with world.replies.installed():
                    play(world)
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


def play_out(
    world: ChaosCluster,
    trouble: Trouble,
    clients: Iterable[_Named],
    during: Mapping[str, Body],
    after: tuple[str, Body],
    *,
    drain_s: int = 0,
) -> None:
    """Run all bodies to their end, then the bodies that check the rest.

    Args:
        clients: clients of the plan, which must leave nothing behind.
        during, after: bodies by name.
        drain_s: maximum time for pending traffic after all have ended.
    """
    hub = world.hub
    trouble.schedule()
    for name, body in during.items():
        hub.spawn(name, _guarded(world, body, name))
    try:
        hub.run()
        hub.run(until_ms=hub.now_ms + 1000)  # loops of clients closed with timeout 0 end later
        for _ in range(drain_s):
            if world.network.open_connections:
                hub.run(until_ms=hub.now_ms + 1000)
        world.history.event(CLUSTER, "left", _left_of(hub, world.network, clients))
        name, body = after
        hub.spawn(name, _guarded(world, body, name))
        hub.run()
    except SimulationStuck as stuck:
        world.history.event(CLUSTER, "stuck", str(stuck))
    except Exception:  # noqa: BLE001 - a network loop has raised: that is a finding
        world.history.event(CLUSTER, "exception", {"actor": "loop", "text": traceback.format_exc()})


def _guarded(world: ChaosCluster, body: Body, name: str) -> Body:
    """An exception that no application would expect is a finding, not the end of the simulation."""

    def run() -> None:
        try:
            body()
        except Exception:  # noqa: BLE001 - it becomes a violation with its traceback
            world.history.event(CLUSTER, "exception", {"actor": name, "text": traceback.format_exc()[-1500:]})
            world.phase = Phase.OVER

    return run


def _left_of(hub: Hub, network: SimNetwork, clients: Iterable[_Named]) -> dict[str, Any]:
    """Return what clients have left behind, all of which are closed."""
    names = [client.name for client in clients]
    entries = [owner for owner in hub.pending_owners if owner.split(".")[0].split("#")[0] in names]
    return {"actors": hub.live_actors, "connections": network.open_connections, "entries": entries}
