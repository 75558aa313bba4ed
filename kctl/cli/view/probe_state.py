"""ProbeState: events of connection attempts folded into what `probe` shows, a row per node and address.

Pure: `fold` takes a state and an event and returns the next state. Shown by tests/unit/cli/view/test_probe_state.py.
"""

from enum import Enum
from typing import NamedTuple

from kctl.client.errors import KafkaError
from kctl.client.events import Event, Expired, Failed, Lost, Phase, PhaseDone, Ready, Started, Target


class Outcome(Enum):
    """How a row stands."""

    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"
    EXPIRED = "expired"


class Step(NamedTuple):
    """A finished phase."""

    phase: Phase
    elapsed_ms: int
    detail: str


class Row(NamedTuple):
    """One address of one node; while its name is looked up the address is empty."""

    target: Target
    started_at_ms: int
    limit_ms: int
    phase: Phase
    """The phase under way, or the one it ended in."""
    phase_started_at_ms: int
    steps: tuple[Step, ...] = ()
    outcome: Outcome = Outcome.RUNNING
    elapsed_ms: int = 0
    """Of the whole attempt, once it has ended."""
    error: KafkaError | None = None

    def step(self, phase: Phase) -> Step | None:
        """Return the finished step of that phase."""
        return next((step for step in self.steps if step.phase is phase), None)

    def elapsed_at(self, now_ms: int) -> int:
        """Return how long the attempt has taken, or took."""
        return max(0, now_ms - self.started_at_ms) if self.outcome is Outcome.RUNNING else self.elapsed_ms


class ProbeState(NamedTuple):
    """Everything seen, in the order in which nodes and addresses appeared."""

    plan: tuple[Phase, ...]
    """The phases that every attempt goes through, in order, READY last."""
    attempts: tuple[Row, ...] = ()
    """A row per address, and one per look-up."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """What to show, the addresses of a node together: a look-up gives way to the addresses it found."""
        by_node: dict[int, list[Row]] = {}
        for row in self.attempts:
            by_node.setdefault(row.target.node_id, []).append(row)
        shown: list[Row] = []
        for rows in by_node.values():
            shown.extend([row for row in rows if row.target.address] or rows)
        return tuple(shown)

    def count(self, *outcomes: Outcome) -> int:
        """Return how many rows stand like that."""
        return sum(row.outcome in outcomes for row in self.rows)

    @property
    def errors(self) -> list[KafkaError]:
        """The errors of the rows that failed, in row order."""
        return [row.error for row in self.rows if row.error is not None]


def phases_of(*, uses_tls: bool, uses_sasl: bool) -> tuple[Phase, ...]:
    """Return the phases of an attempt under a security protocol, in order."""
    between = ((Phase.TLS, uses_tls), (Phase.APIVERSIONS, True), (Phase.SASL, uses_sasl))
    return (Phase.DNS, Phase.TCP, *(phase for phase, used in between if used), Phase.READY)


def summary(state: ProbeState) -> str:
    """Return the state in a few words: `2 of 3 addresses ready, 1 failed`."""
    ready, failed = state.count(Outcome.READY), state.count(Outcome.FAILED, Outcome.EXPIRED)
    running = state.count(Outcome.RUNNING)
    words = f"{ready} of {len(state.rows)} addresses ready"
    if failed:
        words += f", {failed} failed"
    if running:
        words += f", {running} under way"
    return words


def fold(state: ProbeState, event: Event) -> ProbeState:
    """Return the state after `event`; events that are not about attempts change nothing."""
    if isinstance(event, Started):
        return _started(state, event)
    if not isinstance(event, PhaseDone | Ready | Failed | Expired | Lost):
        return state
    index = _index_of(state, event.target.node_id, event.target.address)
    if index is None:
        return state
    row = state.attempts[index]
    if row.outcome is not Outcome.RUNNING:
        return state  # an address that was ready and is lost later keeps what it showed
    following = _phase_done(state.plan, row, event) if isinstance(event, PhaseDone) else _ended(row, event)
    return state._replace(attempts=_put(state.attempts, index, following))


def _started(state: ProbeState, event: Started) -> ProbeState:
    target = event.target
    lookup = _index_of(state, target.node_id, "") if target.address else None
    fresh = Row(
        target=target,
        started_at_ms=event.at_ms,
        limit_ms=event.limit_ms,
        phase=event.phase,
        phase_started_at_ms=event.at_ms,
        steps=() if lookup is None else state.attempts[lookup].steps,
    )
    known = _index_of(state, target.node_id, target.address)
    return state._replace(attempts=_put(state.attempts, len(state.attempts) if known is None else known, fresh))


def _phase_done(plan: tuple[Phase, ...], row: Row, event: PhaseDone) -> Row:
    following = plan[plan.index(event.phase) + 1] if event.phase in plan[:-1] else Phase.READY
    return row._replace(
        steps=(*row.steps, Step(event.phase, event.elapsed_ms, event.detail)),
        phase=following,
        phase_started_at_ms=event.at_ms,
    )


def _ended(row: Row, event: Ready | Failed | Expired | Lost) -> Row:
    if isinstance(event, Ready):
        return row._replace(phase=Phase.READY, outcome=Outcome.READY, elapsed_ms=event.elapsed_ms)
    if isinstance(event, Lost):
        elapsed_ms = event.at_ms - row.started_at_ms
        return row._replace(outcome=Outcome.FAILED, elapsed_ms=elapsed_ms, error=event.error)
    outcome = Outcome.EXPIRED if isinstance(event, Expired) else Outcome.FAILED
    return row._replace(phase=event.phase, outcome=outcome, elapsed_ms=event.elapsed_ms, error=event.error)


def _index_of(state: ProbeState, node_id: int, address: str) -> int | None:
    wanted = (node_id, address)
    return next((i for i, row in enumerate(state.attempts) if (row.target.node_id, row.target.address) == wanted), None)


def _put(rows: tuple[Row, ...], index: int, row: Row) -> tuple[Row, ...]:
    return (*rows[:index], row, *rows[index + 1 :])
