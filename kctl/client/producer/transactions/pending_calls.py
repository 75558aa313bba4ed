"""PendingCalls: the one call whose work is under way, its callers, and a result that no caller has.

A call that timed out or was interrupted can be made again and continues with the same work; until then other calls are
refused, because the result of the first would be lost. Owned by the network loop.
Shown by tests/unit/producer/transactions/test_transactions.py and tests/sim/producer/test_interrupts.py.

Source: KIP-654 and Java's TransactionManager, which has the same rule for init, commit and abort.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster_client import ClusterClient, LedgerMark
from kctl.client.errors import IllegalStateError, KafkaError
from kctl.client.producer.transactions.calls import TransactionCall
from kctl.client.producer.transactions.states import State, Step


class EndedCall(NamedTuple):
    """How the last operation ended, and the calls to which that was reported."""

    operation: TransactionCall
    error: KafkaError | None
    callers: list[TransactionCall]

    @property
    def is_lost(self) -> bool:
        """Whether every caller had timed out before, or was interrupted before it had the result."""
        return not any(call.is_collected for call in self.callers)


class PendingCalls:
    """What is under way for callers. Attributes: `operation`: the call whose work it is, or None."""

    def __init__(self, client: ClusterClient) -> None:
        self.operation: TransactionCall | None = None
        self._client = client
        self._callers: list[tuple[TransactionCall, LedgerMark]] = []
        self._ended: EndedCall | None = None

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
        if self._ended is not None and self._ended.is_lost:
            ended, error, _ = self._ended
            if call.is_like(ended):
                self._ended = EndedCall(ended, error, [call])
                call.finish(error)
                return False
            is_harmless = ended.step is Step.BEGIN or state is State.ABORTABLE_ERROR
            if not is_harmless and not _gives_up(ended, call):
                call.finish(_must_be_repeated(ended))
                return False
        return True

    def answer(self, call: TransactionCall) -> None:
        """Answer a call that needed no work."""
        self._ended = EndedCall(call, None, [call])
        call.finish()

    def abandon(self, call: TransactionCall) -> None:
        """Forget a caller that was interrupted."""
        self._callers = [entry for entry in self._callers if entry[0] is not call]

    def begin(self, call: TransactionCall) -> None:
        """Note that the work of a call begins."""
        self._ended = None
        self.operation = call
        self._callers = [(call, self._client.ledger_mark())]

    def finish(self, error: KafkaError | None = None) -> None:
        """End the work and report the result to its callers; without any, to the same call made again."""
        operation, self.operation = self.operation, None
        if operation is not None:
            self._ended = EndedCall(operation, error, [call for call, _ in self._callers])
        self.fail(error)

    def fail(self, error: KafkaError | None) -> None:
        """End the waits; the work goes on if there is any."""
        callers, self._callers = self._callers, []
        for call, _ in callers:
            call.finish(error)

    def forget(self) -> None:
        """Forget how the last one ended: it does not matter any more."""
        self._ended = None

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
    call_again = f"make the same call again{others}, or close()"
    text = f"{call.step.value}() timed out or was interrupted, and its result is not known: {call_again}"
    return IllegalStateError(text)
