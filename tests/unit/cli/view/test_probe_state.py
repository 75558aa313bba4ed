"""Events folded into rows."""

from kctl.cli.view.probe_state import Outcome, ProbeState, Step, fold, phases_of
from kctl.client.errors import ConnectionRefused, ConnectTimeout, DnsError
from kctl.client.events import (
    Closed,
    Event,
    Expired,
    Failed,
    Lost,
    Phase,
    PhaseDone,
    Ready,
    RequestSent,
    Started,
    Target,
)

PLAN = phases_of(uses_tls=False, uses_sasl=False)
NAME = Target(1, -1, "a", 9092, "")
FIRST = Target(1, -1, "a", 9092, "10.0.0.1:9092")
SECOND = Target(1, -1, "a", 9092, "10.0.0.2:9092")


def _folded(*events: Event) -> ProbeState:
    state = ProbeState(PLAN)
    for event in events:
        state = fold(state, event)
    return state


LOOKED_UP = (Started(0, NAME, Phase.DNS, 10_000), PhaseDone(3, NAME, Phase.DNS, 3, "10.0.0.1:9092"))


def test_plans() -> None:
    assert phases_of(uses_tls=True, uses_sasl=True) == (
        Phase.DNS, Phase.TCP, Phase.TLS, Phase.APIVERSIONS, Phase.SASL, Phase.READY,
    )  # fmt: skip
    assert phases_of(uses_tls=False, uses_sasl=False) == (Phase.DNS, Phase.TCP, Phase.APIVERSIONS, Phase.READY)


def test_a_lookup_is_a_row_until_an_address_is_dialled() -> None:
    state = _folded(*LOOKED_UP)
    (row,) = state.rows
    assert (row.target, row.phase, row.outcome) == (NAME, Phase.TCP, Outcome.RUNNING)
    state = fold(state, Started(3, FIRST, Phase.TCP, 9997))
    (row,) = state.rows
    assert (row.target, row.phase, row.limit_ms) == (FIRST, Phase.TCP, 9997)
    assert row.steps == (Step(Phase.DNS, 3, "10.0.0.1:9092"),)


def test_every_address_has_its_row_with_the_lookup_of_the_name() -> None:
    state = _folded(*LOOKED_UP, Started(3, FIRST, Phase.TCP, 9997), Started(103, SECOND, Phase.TCP, 9897))
    assert [row.target for row in state.rows] == [FIRST, SECOND]
    assert all(row.step(Phase.DNS) is not None for row in state.rows)


def test_phases_follow_the_plan() -> None:
    state = _folded(*LOOKED_UP, Started(3, FIRST, Phase.TCP, 9997), PhaseDone(7, FIRST, Phase.TCP, 4, "local"))
    (row,) = state.rows
    assert (row.phase, row.phase_started_at_ms) == (Phase.APIVERSIONS, 7)
    state = fold(state, PhaseDone(9, FIRST, Phase.APIVERSIONS, 2, "70 APIs"))
    assert state.rows[0].phase is Phase.READY
    state = fold(state, Ready(9, FIRST, 6))
    (row,) = state.rows
    assert (row.outcome, row.elapsed_ms, row.elapsed_at(500)) == (Outcome.READY, 6, 6)
    assert [step.phase for step in row.steps] == [Phase.DNS, Phase.TCP, Phase.APIVERSIONS]


def test_elapsed_runs_while_the_attempt_does_and_is_never_negative() -> None:
    (row,) = _folded(Started(10, FIRST, Phase.TCP, 1000)).rows
    assert (row.elapsed_at(9), row.elapsed_at(250)) == (0, 240)


def test_a_failed_lookup() -> None:
    error = DnsError("no such name")
    (row,) = _folded(LOOKED_UP[0], Failed(5, NAME, Phase.DNS, 5, error)).rows
    assert (row.outcome, row.phase, row.elapsed_ms, row.error) == (Outcome.FAILED, Phase.DNS, 5, error)


def test_failed_expired_and_lost() -> None:
    refused, expired = ConnectionRefused("no"), ConnectTimeout("no", limit_ms=1000, elapsed_ms=1000)
    starts = (Started(0, FIRST, Phase.TCP, 1000), Started(0, SECOND, Phase.TCP, 1000))
    state = _folded(
        *starts, Failed(2, FIRST, Phase.TCP, 2, refused), Expired(1000, SECOND, Phase.TCP, 1000, 1000, expired)
    )
    assert [row.outcome for row in state.rows] == [Outcome.FAILED, Outcome.EXPIRED]
    assert state.errors == [refused, expired]
    assert (state.count(Outcome.READY), state.count(Outcome.FAILED, Outcome.EXPIRED)) == (0, 2)
    (row,) = _folded(starts[0], Lost(30, FIRST, refused)).rows
    assert (row.outcome, row.elapsed_ms, row.error) == (Outcome.FAILED, 30, refused)


def test_what_was_ready_stays_ready() -> None:
    state = _folded(Started(0, FIRST, Phase.TCP, 1000), Ready(5, FIRST, 5))
    after = fold(state, Lost(90, FIRST, ConnectionRefused("gone")))
    assert after == state


def test_another_attempt_replaces_the_row() -> None:
    again = FIRST._replace(attempt=2)
    state = _folded(
        Started(0, FIRST, Phase.TCP, 1000),
        Failed(2, FIRST, Phase.TCP, 2, ConnectionRefused("no")),
        Started(50, again, Phase.TCP, 1000),
    )
    (row,) = state.rows
    assert (row.target, row.outcome, row.error) == (again, Outcome.RUNNING, None)


def test_other_events_change_nothing() -> None:
    state = _folded(Started(0, FIRST, Phase.TCP, 1000))
    assert fold(state, Closed(5, FIRST, "idle")) == state
    assert fold(state, RequestSent(5, FIRST, "ApiVersions", 3, 1, 20)) == state
    assert fold(state, Ready(5, SECOND, 5)) == state
