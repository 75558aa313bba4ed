"""The states of a transactional producer and the one table of what leads from which to which. Pure.

What is not in the table is refused where the application asks for it, and ignored where it merely happens.
Shown by tests/unit/producer/transactions/test_states.py.

Source: KIP-98; Java's TransactionManager. Differs: a failed abort or look-up never opens an aborted transaction again.
"""

from enum import Enum
from typing import Literal

from kctl.client.errors import IllegalStateError, TransactionAbortedError


class State(Enum):
    """Where a producer stands with its transactions."""

    UNINITIALIZED = "not initialised"
    INITIALIZING = "initialising"
    READY = "between two transactions"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "in a transaction that can only be aborted"
    FATAL_ERROR = "good for nothing but close()"


class Step(Enum):
    """What leads from one state to another: calls of the application first, then what happens."""

    INIT = "init_transactions"
    BEGIN = "begin_transaction"
    OFFSETS = "send_offsets_to_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    CLOSE = "the producer closes"
    INITIALIZED = "the producer id has come"
    REFUSED = "no producer id for the time being"
    ENDED = "the transaction has ended"
    FAILED = "something of the transaction is lost"
    BROKEN = "the producer cannot continue"


CALLS = (Step.INIT, Step.BEGIN, Step.OFFSETS, Step.COMMIT, Step.ABORT)

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
    """Return the state that a step leads to, or None where it leads nowhere."""
    return TRANSITIONS.get((state, step))


def refusal(state: State, step: Step) -> str:
    """Return why a call does not fit a state, for the error."""
    needed = {
        Step.INIT: "it is called once, before everything else",
        Step.BEGIN: "it needs init_transactions() before, and the end of the transaction before it",
    }.get(step, "it needs begin_transaction() before")
    return f"{step.value}() does not fit here: {needed} (this producer is {state.value})"


End = Literal["committed", "aborted", "unknown", "open"]
"""How a close found or left a transaction; unknown: its commit was not answered; open: the broker aborts it in time."""

_OPEN = frozenset({State.IN_TRANSACTION, State.COMMITTING, State.ABORTING, State.ABORTABLE_ERROR})


class TransactionEnd:
    """How the present transaction ends, and what a close of the producer finds.

    Attributes:
        is_sent: whether an EndTxn of the present transaction was sent.
        is_closing: whether the producer closes.
    """

    def __init__(self) -> None:
        self.is_sent = False
        self.is_closing = False
        self._is_commit_in_doubt = False
        """A commit of the present transaction was sent, and no response reported its result."""
        self._last: End = "aborted"
        self._was_open_at_close = False

    def response_lost(self, state: State) -> None:
        """Note that an EndTxn has no response, or will have none."""
        self._is_commit_in_doubt |= state is State.COMMITTING

    def ended(self, how: End) -> None:
        """Note how the transaction ended."""
        self._last = how
        self._is_commit_in_doubt = False

    def begin_close(self, state: State) -> None:
        """Note that the producer closes, in this state."""
        self.is_closing = True
        self._was_open_at_close = state in _OPEN

    def at_close(self, state: State, *, is_begun: bool) -> End | None:
        """Return what became of the transaction that was open at the close; None if there was none.

        Args: is_begun: whether the coordinator may have a transaction.
        """
        if self.is_sent if state is State.COMMITTING else self._is_commit_in_doubt:
            return "unknown"
        if state in _OPEN or state is State.FATAL_ERROR:
            if is_begun:
                return "open"
            return "aborted" if state in _OPEN else None
        return self._last if self._was_open_at_close else None

    def refusal_at_close(self, state: State) -> IllegalStateError | TransactionAbortedError:
        """Return why a record that comes while the producer closes is refused."""
        if state is State.COMMITTING or (state is State.READY and self._last == "committed"):
            return IllegalStateError("the producer was closed, and its transaction committed before the record came")
        return TransactionAbortedError("the producer was closed and its transaction aborted before the record came")
