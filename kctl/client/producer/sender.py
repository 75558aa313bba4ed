"""Sender: the producer's network loop, which ends by its deadline."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import Account, CloseTimeout, KafkaError
from kctl.client.loop.at_exit import Unfinished
from kctl.client.loop.client_loop import ClientLoop
from kctl.client.loop.close import DELIVERING, CloseRequest, CloseResult
from kctl.client.loop.mailbox import CallInterrupted
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch_expiry import BatchExpiry
from kctl.client.producer.batch_sender import BatchSender
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import Outcome
from kctl.client.producer.identity import Identity, ProducerIdentity
from kctl.client.producer.mailbox import (
    Event,
    FlushMark,
    Posted,
    ProducerMailbox,
    RecordRefused,
    TopicWait,
    WatchFuture,
)
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.partitioner import Load, NodeProgress, Partitioner
from kctl.client.producer.produce_responses import ProduceResponseHandler
from kctl.client.producer.record_router import RecordRouter
from kctl.client.producer.record_run import RecordRun, unfinished
from kctl.client.producer.transactions.calls import TransactionCall
from kctl.client.requests.retry import retry_backoff
from kctl.client.runtime import Runtime

if TYPE_CHECKING:
    from kctl.client.producer.transactions.transactions import Transactions


UNCOMMITTED = {"aborted": "aborted", "open": "left open", "unknown": "committed or aborted (no response)"}
"""Descriptions of the end of a transaction that was open when its producer ended."""


class Sender(ClientLoop[Posted]):
    EVENTS_PER_TURN = 4000
    """Maximum number of events in a turn, so that a full mailbox does not delay responses.

    The number allows some records for each of 1,000 partitions.
    """
    MOST_FILLING_EVENTS = 4 * EVENTS_PER_TURN
    """Maximum number of posted events to take before partly filled batches are sent."""

    def __init__(
        self,
        config: ProducerConfig,
        runtime: Runtime,
        client: ClusterClient,
        mailbox: ProducerMailbox,
        memory: BufferMemory,
        counters: ProducerCounters,
    ) -> None:
        super().__init__(client, mailbox)
        self._records_mailbox = mailbox
        self._memory = memory
        self._delivery_timeout_ms = config.delivery_timeout_ms
        self._transactional_id = config.transactional_id
        backoff = retry_backoff(config, runtime.rng)
        self._counters = counters
        progress = NodeProgress()
        is_transactional = config.transactional_id is not None
        self._deliveries = DeliveryTracker(memory, counters)
        self._accumulator = Accumulator(config, counters, self._deliveries, is_transactional=is_transactional)
        identity: Identity | None = None
        self.transactions: Transactions | None = None
        if config.transactional_id is not None:
            from kctl.client.producer.transactions import transactions

            self.transactions = transactions.Transactions(config, client, runtime.rng, self)
            identity = self.transactions.identity
            self._deliveries.on_failure = self.transactions.record_failed
        elif config.enable_idempotence:
            identity = ProducerIdentity(client, backoff, config.request_timeout_ms)
        self._identity = identity
        partitioner = Partitioner(
            config, runtime.rng, Load(self._accumulator.state, progress.waited_ms, self._accumulator.ratios.expected)
        )
        refusal = None if self.transactions is None else self.transactions.status.record_refusal
        self._router = RecordRouter(config, client, partitioner, self._accumulator, self._deliveries, refusal)
        self._expiry = BatchExpiry(config, client, self._accumulator, identity)
        responses = ProduceResponseHandler(config, client, self._accumulator, backoff)
        self._batches = BatchSender(config, client, self._accumulator, responses, identity, counters, progress)
        self._left_to_take = 0
        """Number of posted events that partly filled batches still wait for."""
        self.on_end: Callable[[], None] | None = None
        """Called when the loop takes no more events."""
        self._end_cause: KafkaError | None = None
        """Error of the records that remain at the end, if they were sent."""
        self._unsent_cause: KafkaError | None = None
        """Error of the remaining records that were never sent."""
        self._expired_in: str | None = None
        """Step of the close in which its deadline passed."""

    def expected_ratio(self, topic: str) -> float:
        return self._accumulator.ratios.expected(topic)

    # --- the turn -----------------------------------------------------------------------------------------------------

    def _apply(self, events: Iterable[Posted]) -> None:
        """Handle events. Partly filled batches wait for the events that are already posted."""
        per_turn = self.EVENTS_PER_TURN
        if self._left_to_take:
            self._left_to_take = max(0, self._left_to_take - per_turn)
        else:
            self._left_to_take = min(self._records_mailbox.size, self.MOST_FILLING_EVENTS - per_turn)
        self._router.route(cast("Iterable[Event]", events), self._apply_other)  # events without single records

    def _advance(self, now_ms: int) -> None:
        self._router.refresh()
        if now_ms >= self._until_ms:
            self._apply_deadlines(now_ms)
        self._fail_if_hopeless()
        if self.close_request is not None:
            self._advance_close(self.close_request, now_ms)

    def _run(self, now_ms: int) -> int:
        is_ending = self.transactions is not None and self.transactions.status.is_ending
        has_all_records = self._deliveries.is_flushing or is_ending  # flushes and commits follow their records
        is_filling = self._left_to_take > 0 and not self._records_mailbox.is_empty
        self._accumulator.is_filling = is_filling and not has_all_records
        self._accumulator.is_linger_over = has_all_records or self.close_request is not None or self._memory.is_awaited
        self._client.send_due_requests(now_ms)
        until_ms = min(
            self._batches.run(now_ms),
            self._router.next_deadline_at_ms(self._delivery_timeout_ms),
            self._deliveries.next_flush_deadline_at_ms(),
        )
        if self.transactions is not None:
            until_ms = min(until_ms, self.transactions.run(now_ms))
        accumulator = self._accumulator
        self._records_mailbox.expect(
            until_ms,
            accumulator.room_bytes(),
            now_ms=now_ms,
            is_linger_over=accumulator.is_linger_over,
            awaiting_responses=accumulator.topics_awaiting_responses(self._client.metadata.cluster.topics),
        )
        if self.close_request is None:
            return until_ms
        is_closable = self._is_all_done  # the last step may have needed no response
        return now_ms if is_closable else min(until_ms, self.close_request.deadline_at_ms)

    def _apply_other(self, event: Posted) -> None:
        match event:
            case WatchFuture(future, waiter):
                if future.done():
                    waiter.notify()
                else:
                    future.waiters = [*(future.waiters or ()), waiter]
            case TopicWait():
                self._router.ask(event)
            case FlushMark():
                event.time_mark = self._client.time_mark()
                self._deliveries.flush(event)
            case CallInterrupted(FlushMark() as mark):
                self._deliveries.abandon(mark)
            case CallInterrupted(TransactionCall() as call) if self.transactions is not None:
                self.transactions.abandon(call)
            case TransactionCall() if self.transactions is not None:
                self.transactions.start(event)
            case RecordRefused(error) if self.transactions is not None:
                self.transactions.record_lost(error)

    # --- deadlines and failures ---------------------------------------------------------------------------------------

    def _nearest_deadline_at_ms(self) -> int:
        return min(
            self._router.next_deadline_at_ms(self._delivery_timeout_ms),
            self._deliveries.next_flush_deadline_at_ms(),
            FOREVER_MS if self.transactions is None else self.transactions.next_call_deadline_at_ms(),
            FOREVER_MS if self.close_request is None else self.close_request.deadline_at_ms,
        )

    def _apply_deadlines(self, now_ms: int) -> None:
        self._router.forget_idle(now_ms)
        late = self._expiry.late(now_ms)
        if late or now_ms >= self._nearest_deadline_at_ms():
            self._client.poll_arrived()
            self._router.refresh()
        self._expire(now_ms, late)

    def _expire(self, now_ms: int, late: Sequence[PartitionQueue]) -> None:
        for run in self._router.pop_expired(now_ms, self._delivery_timeout_ms):
            error = self._expiry.delivery_timeout(run, now_ms, f"topic {run.topic} was not in the metadata", None)
            self._deliveries.finish([run], Outcome(error))
        self._expiry.expire(late, now_ms)
        self._router.expire(now_ms)
        if now_ms >= self._deliveries.next_flush_deadline_at_ms():
            self._deliveries.expire_flushes(now_ms, self._last_error(), self._account_of)

    def _last_error(self) -> KafkaError | None:
        return self._accumulator.last_error() or self._client.last_error()

    def _account_of(self, flush: FlushMark) -> Account:
        return Account() if flush.time_mark is None else self._client.account_since(flush.time_mark)

    def _fail_if_hopeless(self) -> None:
        """Fail all records, waits, and calls after rejected credentials, or without permission to produce."""
        is_asked = self._router.has_waits or (self.transactions is not None and self.transactions.is_asked)
        if not (self._deliveries.outstanding or is_asked):
            return
        error = self._client.network.status.fatal_error()
        if error is None and self._identity is not None:
            error = self._identity.error
        if error is None:
            return
        self.fail_all(error)
        self._router.fail_waits(error)
        if self.transactions is not None:
            self.transactions.fail_calls(error)
        self._client.network.status.clear_refusals()
        if self._identity is not None:
            self._identity.error = None

    def fail_all(self, error: KafkaError, unsent: KafkaError | None = None) -> None:
        """Fail all records with `error`; if never sent, with `unsent` if given. The loop only."""
        for run in self._router.pop_all():
            self._deliveries.finish([run], Outcome(unsent or error))
        self._accumulator.fail_all(error, unsent)

    def end_transaction(self, *, is_aborted: bool) -> None:
        self._deliveries.end_transaction(is_aborted=is_aborted)

    def fail_waiting(self, error: KafkaError) -> bool:
        for run in self._router.pop_all():
            self._deliveries.finish([run], Outcome(error))
        return self._accumulator.fail_waiting(error)

    # --- the end ------------------------------------------------------------------------------------------------------

    def _advance_close(self, request: CloseRequest, now_ms: int) -> None:
        """End the loop when all is delivered, or at the deadline. Source: KIP-15."""
        if now_ms >= request.deadline_at_ms:
            self._expired_in = None if self._is_all_done else DELIVERING
            doing = "the producer was closed before the record was acknowledged"
            self._end_cause = self._close_error(request, doing)
            doing = "the producer was closed before the record was sent"
            self._unsent_cause = self._close_error(request, doing)
        else:
            if self.transactions is not None:
                self.transactions.begin_close()
            if not self._is_all_done:
                return
        self.is_over = True

    @property
    def _is_all_done(self) -> bool:
        is_ending = self.transactions is not None and self.transactions.status.is_ending
        return not self._deliveries.outstanding and self._mailbox.is_empty and not is_ending

    def _close_error(self, close: CloseRequest, waiting_for: str) -> KafkaError:
        return CloseTimeout(
            waiting_for, timeout_ms=close.timeout_ms, elapsed_ms=close.timeout_ms, cause=self._last_error()
        )

    def _fail_outstanding(self) -> None:
        over = self._mailbox.closed_error()
        self.fail_all(self._end_cause or over, self._unsent_cause or over)

    def _end(self, events: Sequence[Posted]) -> None:
        over = self._mailbox.closed_error()
        try:
            for event in events:
                if not isinstance(event, list | RecordRun):
                    self._apply_other(event)
                elif (run := unfinished(event)) is not None:
                    self._deliveries.accept(run)
                    self._deliveries.finish([run], Outcome(self._unsent_cause or over))
        finally:
            self._deliveries.fail_flushes(over)
            self._router.fail_waits(over)
            if self.transactions is not None:
                self.transactions.fail_calls(over)
            self._memory.wake_all()
            if self.on_end is not None:
                self.on_end()

    @property
    def was_forced(self) -> bool:
        """Whether the close deadline ended the loop; any thread."""
        return self._end_cause is not None

    @property
    def steps(self) -> int:
        """Counter that grows while the loop delivers or fails records. Any thread may read it."""
        return self._deliveries.steps

    @property
    def running_callback(self) -> object:
        """Record or rows whose callback is running; any thread."""
        return self._deliveries.running_callback

    @property
    def outstanding(self) -> int:
        return self._deliveries.outstanding

    @property
    def has_in_flight(self) -> bool:
        return any(queue.has_in_flight for queue in self._accumulator.active())

    def unfinished(self) -> Unfinished:
        """Return the records and the transaction that are lost if the loop stops; any thread."""
        records, error = self._deliveries.unreported()
        outcome = None if self.transactions is None else self.transactions.close_outcome()
        fate = None if outcome is None else UNCOMMITTED.get(outcome)
        transaction = None if fate is None else f"transaction {self._transactional_id} {fate}"
        records += self._records_mailbox.posted_records()
        return Unfinished(records, error or (self._client.last_error() if records else None), transaction)

    def close_now(self) -> CloseResult:
        """Return the counts of delivered and undelivered records, and ignore later responses. Only for the loop."""
        self._batches.is_over = True
        return self.result()

    def result(self) -> CloseResult:
        """Return the counts as if outstanding records failed now; on the loop, or after its end."""
        outstanding = self._accumulator.outstanding()
        for key, (failed, unknown) in self._router.outstanding().items():
            queued = outstanding.get(key, (0, 0))
            outstanding[key] = (queued[0] + failed, queued[1] + unknown)
        request, ended_at_ms = self.close_request, self.ended_at_ms
        elapsed_ms = 0 if request is None or ended_at_ms is None else ended_at_ms - request.at_ms
        transaction = None if self.transactions is None else self.transactions.close_outcome()
        return self._deliveries.result(outstanding, is_aborted=transaction == "aborted")._replace(
            transaction=transaction,
            expired_in=self._expired_in,
            elapsed_ms=max(0, elapsed_ms),  # rounding can place the start up to a millisecond late
        )
