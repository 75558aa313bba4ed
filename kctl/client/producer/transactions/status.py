"""TransactionStatus: state, cause, and outcome of a producer's transaction, changed by the network loop.

Application threads read `state` and `cause`, and check whether they may send.
"""

from typing import Literal

from kctl.client.broker_errors import ProducerFencedError
from kctl.client.errors import (
    AbortableTransactionError,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    TransactionAbortedError,
)
from kctl.client.producer.transactions.states import State, Step, after

End = Literal["committed", "aborted", "unknown", "open"]
"""Outcome of a transaction at close.

"unknown": its commit got no response. "open": the broker aborts it after the timeout. The coordinator has already
aborted the transaction of a fenced producer.
"""

_OPEN = frozenset({State.IN_TRANSACTION, State.COMMITTING, State.ABORTING, State.ABORTABLE_ERROR})


class TransactionStatus:
    """State of one producer's transactions.

    Attributes:
        cause: error after which the transaction can only be aborted, or the producer can only be closed.
        is_end_sent: whether EndTxn of the current transaction was sent.
    """

    def __init__(self) -> None:
        self.state = State.UNINITIALIZED
        self.cause: KafkaError | None = None
        self.is_end_sent = False
        self.is_closing = False
        self._is_commit_in_doubt = False
        """Whether a commit of the current transaction was sent, and no response reported its result."""
        self._last: End = "aborted"
        self._was_open_at_close = False

    def apply(self, step: Step) -> bool:
        next_state = after(self.state, step)
        if next_state is not None:
            self.state = next_state
        return next_state is not None

    @property
    def may_send(self) -> bool:
        return self.state in (State.IN_TRANSACTION, State.COMMITTING)

    @property
    def is_ending(self) -> bool:
        """Whether a transaction is ending, so records must not linger."""
        return self.state in (State.COMMITTING, State.ABORTING)

    def error(self) -> KafkaError:
        """Return the error for calls and records after the loss of the transaction or producer."""
        assert self.cause is not None
        if self.state is State.FATAL_ERROR:
            return FatalTransactionError(self.cause)
        return AbortableTransactionError(self.cause)

    def check_send(self) -> None:
        """Raise an error if no record can be sent now; any thread.

        Raises: IllegalStateError, AbortableTransactionError, FatalTransactionError.
        """
        error = self.record_refusal()
        if error is not None:
            raise error

    def record_refusal(self) -> KafkaError | None:
        state = self.state
        if state is State.IN_TRANSACTION:
            return None
        if self.is_closing:
            return self._refusal_at_close(state)
        if state in (State.ABORTABLE_ERROR, State.FATAL_ERROR):
            return self.error()
        return IllegalStateError(
            f"cannot send outside of a transaction: call begin_transaction() first (the producer is {state.value})"
        )

    def _refusal_at_close(self, state: State) -> IllegalStateError | TransactionAbortedError:
        if state is State.COMMITTING or (state is State.READY and self._last == "committed"):
            return IllegalStateError(
                "the producer was closed and its transaction was committed before the record was sent"
            )
        return TransactionAbortedError(
            "the producer was closed and its transaction was aborted before the record was sent"
        )

    def end_lost(self) -> None:
        self._is_commit_in_doubt |= self.state is State.COMMITTING

    def ended(self, how: End) -> None:
        self._last = how
        self._is_commit_in_doubt = False

    def begin_close(self) -> None:
        self.is_closing = True
        self._was_open_at_close = self.state in _OPEN

    def close_outcome(self, *, is_begun: bool) -> End | None:
        """Return the outcome of the transaction that was open at close; None if there was none.

        Args: is_begun: whether the coordinator may know the transaction.
        """
        state = self.state
        if self.is_end_sent if state is State.COMMITTING else self._is_commit_in_doubt:
            return "unknown"
        if state in _OPEN or state is State.FATAL_ERROR:
            if is_begun:
                return "aborted" if isinstance(self.cause, ProducerFencedError) else "open"
            return "aborted" if state in _OPEN else None
        return self._last if self._was_open_at_close else None
