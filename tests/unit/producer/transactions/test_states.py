"""Every call in every state, and every happening in every state, on the real thing: two literal tables."""

from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import (
    AbortableTransactionError,
    DeliveryTimeout,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
)
from kctl.client.producer.transactions.states import TRANSITIONS, State, Step
from tests.unit.producer.transactions.fakes import CALLS, Scenario

LOST = DeliveryTimeout("it waited", timeout_ms=1, elapsed_ms=1)
FENCED = broker_error(ErrorCode.PRODUCER_FENCED, "produce to t-0")


def _in(state: State, version: int) -> Scenario:
    """Return a producer in that state."""
    scenario = Scenario(version)
    match state:
        case State.UNINITIALIZED:
            pass
        case State.INITIALIZING:
            scenario.call(Step.INIT)
        case State.READY:
            scenario.initialized()
        case State.IN_TRANSACTION:
            scenario.with_partition()
        case State.COMMITTING:
            scenario.with_partition().call(Step.COMMIT)
        case State.ABORTING:
            scenario.with_partition().call(Step.ABORT)
        case State.ABORTABLE_ERROR:
            scenario.with_partition().transactions.record_lost(LOST)
        case State.FATAL_ERROR:
            scenario.with_partition().transactions.record_lost(FENCED)
    assert scenario.state is state
    return scenario


_OUTCOMES: dict[type[KafkaError] | None, str] = {
    IllegalStateError: "illegal",
    AbortableTransactionError: "abort first",
    FatalTransactionError: "close only",
    None: "done",
}

#                          init       begin          send_offsets   commit         abort
CALL_TABLE = {
    State.UNINITIALIZED: ("waits", "illegal", "illegal", "illegal", "illegal"),
    State.INITIALIZING: ("waits", "illegal", "illegal", "illegal", "illegal"),
    State.READY: ("illegal", "done", "illegal", "illegal", "illegal"),
    State.IN_TRANSACTION: ("illegal", "illegal", "waits", "waits", "waits"),
    State.COMMITTING: ("illegal", "illegal", "illegal", "waits", "illegal"),
    State.ABORTING: ("illegal", "illegal", "illegal", "illegal", "waits"),
    State.ABORTABLE_ERROR: ("illegal", "abort first", "abort first", "abort first", "waits"),
    State.FATAL_ERROR: ("close only", "close only", "close only", "close only", "close only"),
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("column", range(len(CALLS)), ids=[step.value for step in CALLS])
def test_every_call_in_every_state(state: State, column: int, version: int) -> None:
    call = _in(state, version).call(CALLS[column])
    outcome = _OUTCOMES[None if call.error is None else type(call.error)] if call.is_done else "waits"
    assert outcome == CALL_TABLE[state][column]


@pytest.mark.parametrize("state", list(State))
def test_records_in_every_state(state: State) -> None:
    """The same for send(): only an open transaction takes records."""
    refusal = _in(state, 2).transactions.status.record_refusal()
    outcome = _OUTCOMES[None if refusal is None else type(refusal)]
    expected = {
        State.IN_TRANSACTION: "done",
        State.ABORTABLE_ERROR: "abort first",
        State.FATAL_ERROR: "close only",
    }
    assert outcome == expected.get(state, "illegal")


def _answered(scenario: Scenario) -> None:
    scenario.answer(scenario.sent())


HAPPENINGS: dict[str, Callable[[Scenario], None]] = {
    "a record is lost": lambda scenario: scenario.transactions.record_lost(LOST),
    "fenced": lambda scenario: scenario.transactions.record_lost(FENCED),
    "answered": _answered,
    "refused": lambda scenario: scenario.answer(scenario.sent(), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
_NOTHING = (State.UNINITIALIZED, State.READY, State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.FATAL_ERROR)
"""States in which no request is on its way."""

HAPPENING_TABLE = {
    (State.INITIALIZING, "answered"): State.READY,
    (State.INITIALIZING, "refused"): State.UNINITIALIZED,
    (State.IN_TRANSACTION, "a record is lost"): State.ABORTABLE_ERROR,
    (State.IN_TRANSACTION, "fenced"): State.FATAL_ERROR,
    (State.COMMITTING, "fenced"): State.FATAL_ERROR,
    (State.COMMITTING, "answered"): State.READY,
    (State.COMMITTING, "refused"): State.FATAL_ERROR,
    (State.ABORTING, "answered"): State.READY,
    (State.ABORTING, "refused"): State.FATAL_ERROR,
}
"""What is not here changes nothing."""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("happening", list(HAPPENINGS))
def test_every_happening_in_every_state(state: State, happening: str, version: int) -> None:
    scenario = _in(state, version)
    if happening in ("answered", "refused") and state in _NOTHING:
        assert scenario.names() == []
        return
    HAPPENINGS[happening](scenario)
    assert scenario.state is HAPPENING_TABLE.get((state, happening), state)


def test_the_table_has_no_state_that_nothing_leads_to_or_out_of() -> None:
    leads_to = {after for (before, _), after in TRANSITIONS.items() if before is not after}
    assert leads_to == set(State)
    assert {before for before, _ in TRANSITIONS} == set(State)


@pytest.mark.parametrize("version", [1, 2])
def test_record_refused_while_the_commit_is_in_flight_leaves_the_commit_to_succeed(version: int) -> None:
    scenario = Scenario(version).with_partition()
    call = scenario.call(Step.COMMIT)
    scenario.transactions.record_lost(LOST)
    assert (scenario.state, call.is_done) == (State.COMMITTING, False)
    scenario.answer(scenario.sent())
    assert (scenario.state, call.is_done, call.error) == (State.READY, True, None)


def test_record_refused_before_the_commit_is_sent_fails_the_commit() -> None:
    scenario = Scenario(2).with_partition()
    scenario.records.in_flight = 1
    call = scenario.call(Step.COMMIT)
    scenario.transactions.record_lost(LOST)
    assert (scenario.state, type(call.error)) == (State.ABORTABLE_ERROR, AbortableTransactionError)
