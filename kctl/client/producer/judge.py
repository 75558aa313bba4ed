"""Judge: decides from what became of an attempt whether a batch is delivered, sent again, cut smaller or given up.

Owns these decisions and the words of a delivery that failed; how a queue's sequence numbers follow is
partition_queue.py's. Owned by the network loop. Shown by tests/unit/producer/test_judge.py and test_batch_sender.py.

Source: KIP-98, KIP-360; Java's Sender.completeBatch and TransactionManager.canRetry. Differs: a batch that may have
been written is given up as unknown when the broker has forgotten its producer, or calls it out of order though nothing
before it is missing; Java sends it again under a new epoch and may write it twice.
"""

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch import Batch
from kctl.client.producer.deliveries import Deliveries
from kctl.client.producer.future import Outcome
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.produce_calls import Verdict
from kctl.client.requests.retry import PRODUCE, RETRIES, Decision


class Judge:
    """What becomes of batches."""

    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        accumulator: Accumulator,
        deliveries: Deliveries,
        backoff: ExponentialBackoff,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._deliveries = deliveries
        self._backoff = backoff
        self._retries = config.retries
        self._is_transactional = config.transactional_id is not None

    def decide(self, queue: PartitionQueue, batch: Batch, verdict: Verdict) -> None:
        """Act on what an answer, or the lack of one, says about the present attempt of a batch."""
        error = verdict.error
        if verdict.outcome is not None:
            queue.acknowledged(batch)
            self._accumulator.settle(queue)
            self._deliveries.finish(batch.pending(), verdict.outcome)
            return
        assert error is not None
        batch.is_in_flight = False
        if verdict.is_maybe_written and not queue.needs_restart:
            batch.may_be_written = True
        decision = PRODUCE.decide(error)
        if decision is Decision.LEADER and not verdict.is_leader_news:
            self._client.metadata.request_update()
        if decision is Decision.SEQUENCE and queue.is_idempotent:
            self._sequence_lost(queue, batch, verdict.code, error)
        elif batch.is_expired:
            self.give_up(queue, batch, error)
        elif decision is Decision.SPLIT and batch.record_count > 1 and not batch.may_be_written:
            self._accumulator.split(queue, batch)
        elif (decision in RETRIES or verdict.is_unanswered) and batch.failures < self._retries:
            self._send_again(batch, error, at_once=verdict.is_leader_news)
        else:
            self.give_up(queue, batch, error)

    def _send_again(self, batch: Batch, error: KafkaError, *, at_once: bool = False) -> None:
        wait_ms = 0 if at_once else self._backoff.backoff_ms(batch.failures)
        batch.to_retry(error, self._client.clock.start_ms() + wait_ms)

    def _sequence_lost(self, queue: PartitionQueue, batch: Batch, code: int, error: KafkaError) -> None:
        """The broker does not find that the batch follows what it has of this producer.

        For a batch behind one that is not written that is no surprise: it goes again after that one. For the oldest it
        means a gap: a batch before it was given up, and is not written. Then neither is this one, which goes again
        under a new epoch. Without such a batch, or when the broker has forgotten the producer, the word tells nothing
        about earlier attempts.
        """
        is_oldest = queue.batches[0] is batch
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_oldest:
            batch.held_back(error)
            if batch.is_expired:
                self.give_up(queue, batch, error)
            return
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and (queue.has_gap or not batch.may_be_written):
            queue.lost_sequence()
        queue.needs_restart = True
        may_go_again = code != ErrorCode.INVALID_PRODUCER_EPOCH and not batch.is_unknown
        if self._is_transactional:
            may_go_again = False  # its epoch is the transaction's, which can only be aborted now
        if may_go_again and not batch.is_expired and batch.failures < self._retries:
            self._send_again(batch, error)
        else:
            self.give_up(queue, batch, error)

    def give_up_doubtful(self, queue: PartitionQueue) -> None:
        """Fail what may be written already before a new epoch begins: it could be written twice."""
        for batch in [batch for batch in queue.batches if batch.may_be_written]:
            assert batch.last_error is not None
            self.give_up(queue, batch, batch.last_error)

    def give_up(self, queue: PartitionQueue, batch: Batch, error: KafkaError) -> None:
        """Fail the records of a batch that is not in flight; those behind it follow."""
        outcome = batch.failure(error)
        queue.drop(batch)
        self._accumulator.settle(queue)
        self._deliveries.finish(batch.pending(), outcome)

    def fail_waiting(self, error: KafkaError) -> None:
        """Give up what is not on its way to a broker."""
        for queue in self._accumulator.active():
            waiting = queue.take_all()
            for batch in [batch for batch in queue.batches if not batch.is_in_flight]:
                self.give_up(queue, batch, error)
            self._accumulator.settle(queue)
            self._deliveries.finish(waiting, Outcome(error))

    def fail_all(self, error: KafkaError, unsent: KafkaError | None = None) -> None:
        """Fail everything at once, with `unsent` what was never sent; nothing more is sent of it."""
        unsent = unsent or error
        for queue in self._accumulator.active():
            waiting = queue.take_all()
            failed = [(batch.pending(), batch.failure(error if batch.attempts else unsent)) for batch in queue.batches]
            queue.drop_everything()
            self._accumulator.settle(queue)
            for records, outcome in failed:
                self._deliveries.finish(records, outcome)
            self._deliveries.finish(waiting, Outcome(unsent))
