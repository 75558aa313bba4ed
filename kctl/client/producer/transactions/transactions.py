"""Transactions: decides which transaction call may begin, and how errors affect the transaction.

The network loop owns it. Source: KIP-98, KIP-588, KIP-654.
"""

from random import Random

from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import AbortableTransactionError, IllegalStateError, KafkaError, TransactionAbortedError
from kctl.client.producer.future import Outcome
from kctl.client.producer.transactions.calls import PendingCalls, TransactionCall
from kctl.client.producer.transactions.requests import as_reported, is_fatal_for_records
from kctl.client.producer.transactions.states import State, Step, after, refusal
from kctl.client.producer.transactions.status import End, TransactionStatus
from kctl.client.producer.transactions.work import Records, TransactionWork
from kctl.client.requests.retry import Decision


class Transactions:
    """Transactions of one producer; application threads check `status` before they send."""

    def __init__(self, config: ProducerConfig, client: ClusterClient, rng: Random, records: Records) -> None:
        self._client = client
        self.status = TransactionStatus()
        self._calls = PendingCalls(client)
        self.abandon, self.fail_calls = self._calls.abandon, self._calls.fail
        self._work = TransactionWork(
            config, client, rng, self.status, records, done=self._calls.finish, failed=self._on_failed
        )
        self.identity = self._work.identity

    def start(self, call: TransactionCall) -> None:
        """Start a call, let it wait for an equal call in progress, or finish it with an error.

        An abort ends a pending commit of offsets with TransactionAbortedError.
        """
        if self.status.state is State.FATAL_ERROR:
            call.finish(self.status.error())
            return
        if not self._calls.admits(call, self.status.state):
            return
        if self._calls.operation is not None:
            self._work.offsets.cancel()
            self._calls.finish(TransactionAbortedError("the offsets are not committed: the transaction was aborted"))
        self._start(call)

    def _start(self, call: TransactionCall) -> None:
        if after(self.status.state, call.step) is None:
            call.finish(self._refusal(call.step))
            return
        self._calls.forget()
        if call.step is Step.BEGIN:
            self._work.begin()
            self.status.cause = None
            self.status.apply(call.step)
            self._calls.answer(call)
        elif call.step is Step.OFFSETS and not call.offsets:
            call.finish()
        else:
            if call.step is Step.OFFSETS:
                assert call.member is not None
                self._work.offsets.start(call.offsets, call.member)
            self.status.is_end_sent = False
            self.status.apply(call.step)
            self._calls.begin(call)
            self._client.network.status.clear_refusals()

    @property
    def is_asked(self) -> bool:
        return self._calls.has_callers

    def _refusal(self, step: Step) -> KafkaError:
        if self.status.state is State.ABORTABLE_ERROR and step is not Step.INIT:
            return self.status.error()
        return IllegalStateError(refusal(self.status.state, step))

    def record_failed(self, outcome: Outcome) -> None:
        if outcome.is_unknown:
            self.identity.need_epoch_after_end()
        if outcome.error is not None:
            self.record_lost(outcome.error)

    def record_lost(self, error: KafkaError) -> None:
        """Make the transaction abortable, because one of its records is missing.

        EndTxn follows all accepted records. A record that is rejected after EndTxn is not part of the transaction.
        """
        if isinstance(error, IllegalStateError | TransactionAbortedError | AbortableTransactionError):
            return  # it was never part of the transaction, or failed because of it
        if self.status.state is State.ABORTING:
            self.identity.need_epoch_after_end()  # its partition may have lost its sequence
        if self.status.state in (State.IN_TRANSACTION, State.COMMITTING):
            if is_fatal_for_records(error):
                self._break(error)
            elif self.status.state is State.IN_TRANSACTION or not self.status.is_end_sent:
                self._fail(error)

    def begin_close(self) -> None:
        """Abort an open transaction; a commit or abort in progress continues."""
        if not self.status.is_closing:
            self.status.begin_close()
            self._abort_for_close()

    def _abort_for_close(self) -> None:
        if self.status.apply(Step.CLOSE):
            self._work.offsets.cancel()
            self._calls.finish(IllegalStateError("the producer is closed"))
            self.status.is_end_sent = False

    def close_outcome(self) -> End | None:
        return self.status.close_outcome(is_begun=self._work.contents.is_begun)

    def next_call_deadline_at_ms(self) -> int:
        return self._calls.next_deadline_at_ms()

    def run(self, now_ms: int) -> int:
        if now_ms >= self._calls.next_deadline_at_ms():
            self._calls.expire(now_ms, lambda step: self._work.waiting_for(step, now_ms), self._work.cause_of_wait)
        if self.status.is_closing:
            self._abort_for_close()
        return min(self._work.run(now_ms), self._calls.next_deadline_at_ms())

    def _on_failed(self, error: KafkaError, decision: Decision) -> None:
        error = as_reported(error)
        if decision is not Decision.FATAL and self.status.apply(Step.REFUSED):
            self._calls.finish(error)
        elif decision is Decision.FATAL or (self.status.state is State.ABORTING and self.status.is_end_sent):
            self._break(error)
        else:
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        if self.status.state is State.ABORTING:
            self._work.contents.unsettled = None  # the request that could not be added is not part of it
        if self.status.apply(Step.FAILED):
            self.identity.need_epoch_after_end()
            self._work.offsets.cancel()
            self.status.cause = error
            self._calls.finish(self.status.error())

    def _break(self, error: KafkaError) -> None:
        if self._work.is_end_in_flight:
            self.status.end_lost()
        self.status.cause = error
        self.status.apply(Step.BROKEN)
        self._work.offsets.cancel()
        self._calls.finish(self.status.error())
        self._calls.forget()
