"""Transactions: state, calls, and the records and offsets that are committed together or not at all.

Owns the state, the producer id and epoch, and the order of requests; records are queued and sent elsewhere, which asks
for the producer id before each batch and reports what was lost. Owned by the network loop; application threads read
only `state` and `cause`. Shown by tests/unit/producer/transactions and tests/sim/producer/test_transactions*.py.

Source: KIP-98, KIP-360, KIP-447, KIP-588, KIP-654, KIP-890. Differs: with transaction.version below 2 a request that
ended without an answer is followed by a new epoch before the next transaction, because it could still arrive then and
commit or abort the wrong one; Java asks for a new epoch after errors alone.
"""

from random import Random
from typing import Protocol

from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import (
    AbortableTransactionError,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    TransactionAbortedError,
)
from kctl.client.producer.future import Outcome
from kctl.client.producer.transactions.calls import PendingCalls, TransactionCall
from kctl.client.producer.transactions.contents import Contents
from kctl.client.producer.transactions.exchange import Asked, Exchange
from kctl.client.producer.transactions.identity import TransactionalIdentity
from kctl.client.producer.transactions.offsets import OffsetsInTransaction
from kctl.client.producer.transactions.requests import (
    END_V1_VERSION,
    as_told,
    is_fatal_for_records,
)
from kctl.client.producer.transactions.states import End, State, Step, TransactionEnd, after, refusal
from kctl.client.protocol.api.end_txn import EndTxnRequest, EndTxnResponse
from kctl.client.protocol.api.init_producer_id import InitProducerIdResponse
from kctl.client.protocol.schema import Response
from kctl.client.requests.coordinator import Coordinator
from kctl.client.requests.find_coordinator import KeyType
from kctl.client.requests.producer_id import NO_PRODUCER_ID, ProducerId, init_producer_id
from kctl.client.requests.retry import TXN_FIND_COORDINATOR, Decision, retry_backoff
from kctl.client.wording import counted


class Records(Protocol):
    """The records of the transaction; kept by the sender."""

    @property
    def outstanding(self) -> int:
        """Number of records that were accepted and are not done."""
        ...

    def fail_waiting(self, error: KafkaError) -> None:
        """Fail those that are not in flight."""
        ...

    def fail_all(self, error: KafkaError) -> None:
        """Fail all of them."""
        ...

    def forget_failures(self) -> None:
        """Report the failures up to now with no later flush."""
        ...


class Transactions:
    """The transactions of one producer.

    Attributes:
        name: the transactional.id.
        state: where it stands; read by application threads.
        cause: what made the transaction abortable, or the producer useless.
        identity: the producer id and epoch, for those who send batches.
    """

    def __init__(self, config: ProducerConfig, client: ClusterClient, rng: Random, records: Records) -> None:
        assert config.transactional_id is not None
        self.name = config.transactional_id
        self.state = State.UNINITIALIZED
        self.cause: KafkaError | None = None
        self._client = client
        self._timeout_ms = config.transaction_timeout_ms
        self._records = records
        self._link = Coordinator(config, client, rng, self.name, TXN_FIND_COORDINATOR, key_type=KeyType.TRANSACTION)
        backoff = retry_backoff(config, rng)
        self._exchange = Exchange(self._link, client.clock, backoff, self._on_failed, self._on_response_lost)
        self._calls = PendingCalls(client)
        self.abandon, self.fail_calls = self._calls.abandon, self._calls.fail
        self._offsets = OffsetsInTransaction(
            config, client, rng, self._calls.finish, self._on_failed, self._on_response_lost
        )
        self._contents = Contents(self.name, client.clock)
        self._end = TransactionEnd()
        self.identity = TransactionalIdentity(self.name, self._contents, self._exchange, self._may_send)

    def _may_send(self) -> bool:
        return self.state in (State.IN_TRANSACTION, State.COMMITTING)

    def _apply(self, step: Step) -> bool:
        """Move to the next state of a step; return whether there is one."""
        next_state = after(self.state, step)
        if next_state is not None:
            self.state = next_state
        return next_state is not None

    def start(self, call: TransactionCall) -> None:
        """Start a call, or raise why it cannot."""
        if self.state is State.FATAL_ERROR:
            call.finish(self._present_error())
            return
        if not self._calls.admits(call, self.state):
            return
        if self._calls.operation is not None:
            self._offsets.cancel()
            self._calls.finish(TransactionAbortedError("the offsets are not committed: the transaction was aborted"))
        self._start(call)

    def _start(self, call: TransactionCall) -> None:
        if after(self.state, call.step) is None:
            is_failed = self.state is State.ABORTABLE_ERROR and call.step is not Step.INIT
            call.finish(self._present_error() if is_failed else IllegalStateError(refusal(self.state, call.step)))
            return
        self._calls.forget()
        if call.step is Step.BEGIN:
            self._begin()
            self._apply(call.step)
            self._calls.answer(call)
        elif call.step is Step.OFFSETS and not call.offsets:
            call.finish()
        else:
            if call.step is Step.OFFSETS:
                assert call.member is not None
                self._offsets.start(call.offsets, call.member)
            self._end.is_sent = False
            self._apply(call.step)
            self._calls.begin(call)
            self._client.network.clear_refusals()

    def _begin(self) -> None:
        self.identity.learn_version()
        self.cause = None
        self._contents.clear()
        self._offsets.begin()

    def _cause_of_wait(self, step: Step) -> KafkaError | None:
        of_offsets = self._offsets.last_error if step is Step.OFFSETS else None
        return of_offsets or self.identity.last_error or self._client.last_error()

    def _waiting_for(self, step: Step, now_ms: int) -> str:
        """Return what a call waits for."""
        if step in (Step.COMMIT, Step.ABORT):
            return self._waiting_for_end(now_ms)
        if (
            step is Step.OFFSETS
            and not self._exchange.api
            and (self.identity.is_v2 or self._offsets.group_to_add() is None)
        ):
            return self._offsets.waiting_for
        if self._exchange.api:
            return f"waiting for the {self._exchange.api} answer of the transaction coordinator of {self.name}"
        return self._link.waiting_for

    def _waiting_for_end(self, now_ms: int) -> str:
        if self._records.outstanding:
            count = self._records.outstanding
            doing = f"{counted(count, 'record')} of the transaction waited for an acknowledgement"
        elif self._end.is_sent:
            doing = "EndTxn not answered"
        else:
            doing = self._link.waiting_for
        if self._contents.started_at_ms is None:
            return doing
        left_s = max(0, -(-(self._contents.started_at_ms + self._timeout_ms - now_ms) // 1000))
        unless = " unless it is committed" if self._end.is_sent and self.state is State.COMMITTING else ""
        return f"{doing}; broker will abort in {left_s} s{unless}"

    def check_send(self) -> None:
        """Raise the error of sending a record now; any thread may call it.

        Raises:
            IllegalStateError: no transaction is open.
            AbortableTransactionError, FatalTransactionError: it, or the producer, is lost.
        """
        error = self.record_refusal()
        if error is not None:
            raise error

    def record_refusal(self) -> KafkaError | None:
        """Return why a record cannot be part of a transaction now, or None."""
        state = self.state
        if state is State.IN_TRANSACTION:
            return None
        if self._end.is_closing:
            return self._end.refusal_at_close(state)
        if state in (State.ABORTABLE_ERROR, State.FATAL_ERROR):
            return self._present_error()
        return IllegalStateError(
            f"a record needs an open transaction: begin_transaction() comes first (this producer is {state.value})"
        )

    @property
    def is_linger_over(self) -> bool:
        """Whether records should not linger."""
        return self.state in (State.COMMITTING, State.ABORTING)

    @property
    def is_asked(self) -> bool:
        return self._calls.has_callers

    def record_failed(self, outcome: Outcome) -> None:
        """Note that records of the transaction are not delivered: it can only be aborted."""
        if outcome.is_unknown:
            self.identity.need_epoch_after_end()
        if outcome.error is not None:
            self.record_lost(outcome.error)

    def record_lost(self, error: KafkaError) -> None:
        """Note that a record is not part of the transaction though the application wanted it to be.

        EndTxn is sent when all accepted records are delivered; a record refused after that is no part of it.
        """
        if isinstance(error, IllegalStateError | TransactionAbortedError | AbortableTransactionError):
            return  # never part of it, or failed because of it
        if self.state in (State.IN_TRANSACTION, State.COMMITTING):
            if is_fatal_for_records(error):
                self._break(error)
            elif self.state is State.IN_TRANSACTION or not self._end.is_sent:
                self._fail(error)

    def begin_close(self) -> None:
        """Abort what is open; a commit or abort under way continues."""
        if not self._end.is_closing:
            self._end.begin_close(self.state)
            self._abort_for_close()

    def _abort_for_close(self) -> None:
        if self._apply(Step.CLOSE):
            self._offsets.cancel()
            self._calls.finish(IllegalStateError("the producer is closed"))
            self._end.is_sent = False

    @property
    def is_ending(self) -> bool:
        """Whether a transaction is about to end."""
        return self.state in (State.COMMITTING, State.ABORTING)

    def close_outcome(self) -> End | None:
        """Return what became of the transaction that was open at the close; None if there was none."""
        is_begun = self._contents.started_at_ms is not None or self._contents.unsettled is not None
        return self._end.at_close(self.state, is_begun=is_begun)

    def run(self, now_ms: int) -> int:
        """Send what is due; return when to run again at the latest."""
        if now_ms >= self._calls.next_deadline_ms():
            self._calls.expire(now_ms, lambda step: self._waiting_for(step, now_ms), self._cause_of_wait)
        if self._end.is_closing:
            self._abort_for_close()
        if self._link.refusal is not None:
            self._on_failed(self._link.refusal, TXN_FIND_COORDINATOR.decide(self._link.refusal))
        self._settle_records()
        self._advance()
        return min(
            self._link.run(now_ms),
            self._offsets.run(now_ms),
            self._exchange.next_deadline_ms(),
            self._calls.next_deadline_ms(),
        )

    def _settle_records(self) -> None:
        """Fail the records that can no longer be part of a transaction that commits."""
        if not self._records.outstanding:
            return
        if self.state is State.FATAL_ERROR:
            self._records.fail_all(self._present_error())
        elif self.state is State.ABORTABLE_ERROR:
            self._records.fail_waiting(self._present_error())
        elif self.state is State.ABORTING:
            error = TransactionAbortedError("the transaction was aborted before the record was sent")
            if self.identity.is_v2:
                self._records.fail_all(error)  # the end brings a new epoch, which fences what is on its way
            else:
                self._records.fail_waiting(error)

    def _advance(self) -> None:
        match self.state:
            case State.INITIALIZING:
                self._initialize(NO_PRODUCER_ID)
            case State.READY if self.identity.needs_epoch:
                self._initialize(self.identity.current)
            case State.IN_TRANSACTION | State.COMMITTING if self.identity.needs_epoch and (
                self.state is State.IN_TRANSACTION or self._has_work
            ):
                self._initialize(self.identity.current)
            case State.IN_TRANSACTION:
                self._add()
            case State.COMMITTING:
                self._add()
                if not self._has_work:
                    self._send_end(committed=True)
            case State.ABORTING:
                self._abort()
            case _:
                pass

    @property
    def _has_work(self) -> bool:
        return bool(
            self._records.outstanding or self._contents.wanted or self._exchange.api or self._offsets.is_pending
        )

    def _initialize(self, current: ProducerId) -> None:
        """Request a producer id, or the next epoch of the current one. Source: KIP-360."""
        if self._exchange.can_send():
            request = init_producer_id(self.name, self._timeout_ms, current)
            self._exchange.send(Asked(request, self._on_identity))

    def _on_identity(self, response: Response) -> None:
        assert isinstance(response, InitProducerIdResponse)
        self.identity.adopt(ProducerId(response.producer_id, response.producer_epoch))
        if self._apply(Step.INITIALIZED):
            self.identity.learn_version()
            self._calls.finish()

    def _add(self) -> None:
        """Make partitions and offsets part of the transaction."""
        if self._contents.wanted and self._exchange.can_send():
            self._exchange.send(self._contents.ask_for_partitions(self.identity.current))
        if not self._offsets.is_pending or self._offsets.is_in_flight:
            return
        group = None if self.identity.is_v2 else self._offsets.group_to_add()
        if group is None:
            if self._offsets.send(self.name, self.identity.current, is_v2=self.identity.is_v2):
                self._contents.start()
        elif self._exchange.can_send():
            self._exchange.send(self._contents.ask_for_group(self.identity.current, group, self._offsets.group_added))

    def _abort(self) -> None:
        """End the transaction; with the older protocol not before it is known what became of all that was sent."""
        self._contents.wanted.clear()
        if not self.identity.is_v2 and (self._records.outstanding or self._offsets.is_in_flight):
            return
        if self._exchange.api:
            return
        if self._contents.started_at_ms is None and self._contents.unsettled is not None:
            if self._exchange.can_send():
                self._exchange.send(self._contents.unsettled)
            return
        self._send_end(committed=False)

    def _send_end(self, *, committed: bool) -> None:
        if self._contents.started_at_ms is None:
            self._on_ended("committed" if committed else "aborted")
            return
        if not self._exchange.can_send():
            return
        self._end.is_sent = True

        def done(response: Response) -> None:
            assert isinstance(response, EndTxnResponse)
            self.identity.adopt_after_end(ProducerId(response.producer_id, response.producer_epoch))
            self._on_ended("committed" if committed else "aborted")

        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.identity.current.producer_id,
            producer_epoch=self.identity.current.epoch,
            committed=committed,
        )
        self._exchange.send(Asked(request, done, max_version=None if self.identity.is_v2 else END_V1_VERSION))

    def _on_ended(self, how: End) -> None:
        if self._apply(Step.ENDED):
            self._end.ended(how)
            self.identity.ended()
            self._contents.clear()
            self._records.forget_failures()
            self._calls.finish()

    def _on_response_lost(self, api: str) -> None:
        """A request may have been done or not, or arrive later: only a new epoch makes sure that it is over."""
        if api != "InitProducerId":
            self.identity.need_epoch_after_end()
        if api == "EndTxn":
            self._end.response_lost(self.state)
        self._contents.response_lost(api)

    def _on_failed(self, error: KafkaError, decision: Decision) -> None:
        error = as_told(error)
        if decision is not Decision.FATAL and self._apply(Step.REFUSED):
            self._calls.finish(error)
        elif decision is Decision.FATAL or (self.state is State.ABORTING and self._end.is_sent):
            self._break(error)
        else:
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        """The transaction can only be aborted, which ends what was under way."""
        if self.state is State.ABORTING:
            self._contents.unsettled = None  # what could not be added is not part of it
        if self._apply(Step.FAILED):
            self.identity.need_epoch_after_end()
            self._offsets.cancel()
            self.cause = error
            self._calls.finish(self._present_error())

    def _break(self, error: KafkaError) -> None:
        if self._exchange.api == "EndTxn":
            self._end.response_lost(self.state)
        self.cause = error
        self._apply(Step.BROKEN)
        self._offsets.cancel()
        self._calls.finish(self._present_error())
        self._calls.forget()

    def _present_error(self) -> KafkaError:
        assert self.cause is not None
        if self.state is State.FATAL_ERROR:
            return FatalTransactionError(self.cause)
        return AbortableTransactionError(self.cause)
