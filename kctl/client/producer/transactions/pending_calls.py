"""PendingCalls: the one call whose work is under way, who waits for it, and how one ended that nobody waited for.

A call that has timed out can be made again and goes on with the same work; until then no other is taken, as the fate of
the first would be forgotten. Owned by the network loop. Shown by tests/unit/producer/transactions/test_transactions.py.

Source: KIP-654 and Java's TransactionManager, which has the same rule for init, commit and abort.
"""

from collections.abc import Callable

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster_client import ClusterClient, LedgerMark
from kctl.client.errors import IllegalStateError, KafkaError
from kctl.client.producer.transactions.calls import TransactionCall
from kctl.client.producer.transactions.states import State, Step


class PendingCalls:
    """What is under way for callers. Attributes: `operation`: the call whose work it is, or None."""

    def __init__(self, client: ClusterClient) -> None:
        self.operation: TransactionCall | None = None
        self._client = client
        self._callers: list[tuple[TransactionCall, LedgerMark]] = []
        self._untold: tuple[TransactionCall, KafkaError | None] | None = None

    def admits(self, call: TransactionCall, state: State) -> bool:
        """Return whether a call may start something new; otherwise it waits with the others, or is answered here."""
        operation = self.operation
        if operation is not None:
            if call.is_like(operation):
                self._callers.append((call, self._client.ledger_mark()))
                return False
            if _gives_up(operation, call):
                return True
            call.finish(_under_way(operation) if self._callers else _must_be_repeated(operation))
            return False
        if self._untold is not None:
            untold, error = self._untold
            if call.is_like(untold):
                self._untold = None
                call.finish(error)
                return False
            if state is not State.ABORTABLE_ERROR and not _gives_up(untold, call):
                call.finish(_must_be_repeated(untold))
                return False
        return True

    def begin(self, call: TransactionCall) -> None:
        """Note that the work of a call begins."""
        self._untold = None
        self.operation = call
        self._callers = [(call, self._client.ledger_mark())]

    def finish(self, error: KafkaError | None = None) -> None:
        """End the work; who waits is told now, and if nobody does, whoever makes the call again."""
        operation, self.operation = self.operation, None
        if operation is not None and not self._callers:
            self._untold = (operation, error)
        self.fail(error)

    def fail(self, error: KafkaError | None) -> None:
        """End the waits; the work goes on if there is any."""
        callers, self._callers = self._callers, []
        for call, _ in callers:
            call.finish(error)

    def forget(self) -> None:
        """Forget how the last one ended: it does not matter any more."""
        self._untold = None

    @property
    def has_callers(self) -> bool:
        return bool(self._callers)

    def next_deadline_ms(self) -> int:
        return min((call.timer.deadline_at_ms for call, _ in self._callers), default=FOREVER_MS)

    def expire(
        self, now_ms: int, waiting_for: Callable[[Step], str], cause: Callable[[Step], KafkaError | None]
    ) -> None:
        """End the waits whose deadline has passed, each saying what the work waits for."""
        for entry in [entry for entry in self._callers if entry[0].timer.deadline_at_ms <= now_ms]:
            self._callers.remove(entry)
            call, mark = entry
            account = self._client.account_since(mark)
            call.finish(call.timed_out(waiting_for(call.step), cause(call.step), account))


def _gives_up(earlier: TransactionCall, call: TransactionCall) -> bool:
    """Whether a call makes the one before it pointless: offsets of a transaction that is aborted."""
    return earlier.step is Step.OFFSETS and call.step is Step.ABORT


def _under_way(call: TransactionCall) -> IllegalStateError:
    return IllegalStateError(f"{call.step.value}() is under way in another thread")


def _must_be_repeated(call: TransactionCall) -> IllegalStateError:
    others = " or abort_transaction()" if call.step is Step.OFFSETS else ""
    text = f"{call.step.value}() has timed out and its work goes on: make the same call again{others}, or close()"
    return IllegalStateError(text)
