"""States of a transactional producer, and the table of transitions.

A call without a transition is rejected; an event without a transition is ignored.

Source: KIP-98; Java's TransactionManager. Differs: a failed abort or coordinator query never reopens an aborted
transaction.
"""

from enum import Enum


class State(Enum):
    UNINITIALIZED = "not initialized"
    INITIALIZING = "initializing"
    READY = "between two transactions"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "in a transaction that can only be aborted"
    FATAL_ERROR = "failed, and can only be closed"


class Step(Enum):
    """Cause of a transition: calls of the application first, then events."""

    INIT = "init_transactions"
    BEGIN = "begin_transaction"
    OFFSETS = "send_offsets_to_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    CLOSE = "the producer is closing"
    INITIALIZED = "the producer has a producer id"
    REFUSED = "the producer currently has no producer id"
    ENDED = "the transaction has ended"
    FAILED = "a part of the transaction was lost"
    BROKEN = "the producer cannot continue"


TRANSITIONS: dict[tuple[State, Step], State] = {
    (State.UNINITIALIZED, Step.INIT): State.INITIALIZING,
    (State.INITIALIZING, Step.INITIALIZED): State.READY,
    (State.INITIALIZING, Step.REFUSED): State.UNINITIALIZED,
    (State.READY, Step.BEGIN): State.IN_TRANSACTION,
    (State.IN_TRANSACTION, Step.OFFSETS): State.IN_TRANSACTION,
    (State.IN_TRANSACTION, Step.COMMIT): State.COMMITTING,
    (State.IN_TRANSACTION, Step.ABORT): State.ABORTING,
    (State.IN_TRANSACTION, Step.FAILED): State.ABORTABLE_ERROR,
    (State.IN_TRANSACTION, Step.CLOSE): State.ABORTING,
    (State.COMMITTING, Step.ENDED): State.READY,
    (State.COMMITTING, Step.FAILED): State.ABORTABLE_ERROR,
    (State.ABORTABLE_ERROR, Step.ABORT): State.ABORTING,
    (State.ABORTABLE_ERROR, Step.CLOSE): State.ABORTING,
    (State.ABORTING, Step.ENDED): State.READY,
    **{(state, Step.BROKEN): State.FATAL_ERROR for state in State},
}


def after(state: State, step: Step) -> State | None:
    return TRANSITIONS.get((state, step))


def refusal(state: State, step: Step) -> str:
    """Return the reason why a call is not possible in a state."""
    needed = {
        Step.INIT: "call it once, before all other calls",
        Step.BEGIN: "call init_transactions() first, and end the previous transaction",
    }.get(step, "call begin_transaction() first")
    return f"{step.value}() is not possible: {needed} (this producer is {state.value})"
