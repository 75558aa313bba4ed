"""Accumulator: queues of records by partition, and the batches made from them. No other class changes the queues.

A run (`RecordRun`) is encoded when its batch is about to be sent, to fill the batch. Only runs that fill a batch arrive
encoded. The network loop owns the accumulator, which does no I/O.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicInfo, TopicPartition
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.producer.batch import NO_SEQUENCE, Batch, count_of
from kctl.client.producer.compression_ratio import CompressionRatios
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import Outcome
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partition_queue import PartitionQueue, plus
from kctl.client.producer.partitioner import QueueState
from kctl.client.producer.record_run import RecordRun
from kctl.client.producer.run_encoder import compression_level
from kctl.client.protocol.pieces import Pieces
from kctl.client.records import BATCH_OVERHEAD_BYTES, RecordBatchBuilder

NO_TOPICS: frozenset[str] = frozenset()
TimedOut = Callable[[PartitionQueue, Batch | None, RecordRun], KafkaError]


class Accumulator:
    def __init__(
        self,
        config: ProducerConfig,
        counters: ProducerCounters,
        deliveries: DeliveryTracker,
        *,
        is_transactional: bool = False,
    ) -> None:
        self._batch_size_bytes = config.batch_size
        self._linger_ms = config.linger_ms
        self._delivery_timeout_ms = config.delivery_timeout_ms
        self._compression = config.compression_type
        self._level = compression_level(config)
        self._window = config.max_in_flight_requests_per_connection
        self._is_idempotent = config.enable_idempotence
        self._is_transactional = is_transactional
        self.ratios = CompressionRatios(config)
        self._counters = counters
        self._deliveries = deliveries
        self._queues: dict[str, dict[int, PartitionQueue]] = {}
        self._active: dict[PartitionQueue, None] = {}
        self.is_linger_over = False
        """Whether to send batches without linger.ms, for a flush, close, commit, or a sender that waits for memory."""
        self.is_filling = False
        """Whether to send only full batches, because more posted records are about to be added."""

    # --- queues -------------------------------------------------------------------------------------------------------

    def queues(self, topic: str) -> dict[int, PartitionQueue]:
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = {}
        return queues

    def add(self, run: RecordRun) -> None:
        topic, partition = run.topic, run.partition
        queue = self.queues(topic).get(partition)
        if queue is None:
            queue = self.queues(topic)[partition] = PartitionQueue(
                TopicPartition(topic, partition),
                self._batch_size_bytes,
                window=self._window,
                is_idempotent=self._is_idempotent,
                counters=self._counters.of_topic(topic),
            )
        if not queue.runs:
            self._active[queue] = None
            queue.ratio = self.ratios.expected(topic)
        queue.put(run)

    def active(self) -> list[PartitionQueue]:
        """Return the nonempty queues, starting with the least recently served."""
        return list(self._active)

    def served(self, queue: PartitionQueue) -> None:
        self._active.pop(queue, None)
        self._active[queue] = None

    def state(self, topic: str, partition: int) -> QueueState | None:
        queue = self.queues(topic).get(partition)
        return None if queue is None else QueueState(queue.waiting_batches, queue.waiting_bytes)

    def is_idle(self, topic: str) -> bool:
        return all(queue.is_empty for queue in self._queues.get(topic, {}).values())

    # --- when ---------------------------------------------------------------------------------------------------------

    def due_at_ms(self, queue: PartitionQueue) -> int:
        if self.is_filling:
            return queue.due_at_ms(FOREVER_MS, is_linger_over=False)
        return queue.due_at_ms(self._linger_ms, is_linger_over=self.is_linger_over)

    def expires_at_ms(self, queue: PartitionQueue) -> int:
        return queue.expires_at_ms(self._delivery_timeout_ms)

    def look(self, now_ms: int) -> tuple[list[PartitionQueue], int]:
        """Return the due queues, and the time at which another queue is due or a record expires."""
        linger_ms, is_linger_over = self._linger_ms, self.is_linger_over
        if self.is_filling:
            linger_ms, is_linger_over = FOREVER_MS, False
        delivery_timeout_ms, next_ms = self._delivery_timeout_ms, FOREVER_MS
        due: list[PartitionQueue] = []
        for queue in self._active:
            expires_at_ms = queue.expires_at_ms(delivery_timeout_ms)
            due_at_ms = queue.due_at_ms(linger_ms, is_linger_over=is_linger_over)
            if due_at_ms <= now_ms:
                due.append(queue)
            elif due_at_ms < next_ms:
                next_ms = due_at_ms
            if expires_at_ms < next_ms:
                next_ms = expires_at_ms
        return due, next_ms

    def room_bytes(self) -> int:
        """Return the smallest free space in the batches that are being filled."""
        most_bytes = self._batch_size_bytes - BATCH_OVERHEAD_BYTES
        if not self._active:
            return most_bytes
        return min([room for queue in self._active if (room := queue.room_bytes()) > 0], default=most_bytes)

    def topics_awaiting_responses(self, topics: Mapping[str, TopicInfo]) -> frozenset[str]:
        """Return the topics that can send nothing before a response, or an empty set if any queue can send."""
        if not self._active:
            return NO_TOPICS
        counts: dict[str, int] = {}
        for queue in self._active:
            if not queue.awaits_response:
                return NO_TOPICS
            name, partition = queue.topic_partition
            if name in topics and partition in topics[name].partitions:
                counts[name] = counts.get(name, 0) + 1
        return frozenset([name for name, count in counts.items() if count == len(topics[name].partitions)])

    # --- batches ------------------------------------------------------------------------------------------------------

    def next_batch(self, queue: PartitionQueue) -> Batch:
        """Return the oldest batch not in flight, or a new batch. A batch above the limit is split."""
        batch = queue.next_frozen()
        if batch is None:
            return self.freeze(queue)
        is_too_large = batch.record_count > 1 and batch.size_bytes > queue.limit.bytes
        if not is_too_large or batch.may_be_written or not queue.is_open_behind(batch):
            return batch
        self._cut_again(queue, batch)
        return queue.next_frozen() or self.freeze(queue)

    def freeze(self, queue: PartitionQueue) -> Batch:
        """Encode waiting runs as the next batch, and append it to the queue."""
        sequence = queue.sequence
        base_sequence = sequence.next_sequence if queue.is_idempotent else NO_SEQUENCE
        batch, ratio = self._cut(queue, queue.runs, queue.batch_size_bytes, base_sequence)
        topic = queue.topic_partition.topic
        self.ratios.observe(topic, ratio)
        queue.ratio = self.ratios.expected(topic)
        if queue.is_idempotent:
            sequence.reserve(batch.record_count)
        queue.queued_bytes -= sum([run.size_bytes for run in batch.runs])
        queue.queued_count -= batch.record_count
        queue.batches.append(batch)
        return batch

    def split(self, queue: PartitionQueue, batch: Batch) -> None:
        """Split a batch that was too large for the broker, keeping the sequence numbers, and lower the limit."""
        queue.limit.refused(batch.size_bytes)
        queue.ratio = 1.0
        self.ratios.reset(queue.topic_partition.topic)
        self._counters.batches_split += 1
        queue.replace(batch, self._pieces(queue, batch.runs, queue.limit.bytes, batch.base_sequence))

    def _cut_again(self, queue: PartitionQueue, batch: Batch) -> None:
        """Split a batch that no log contains, leaving out expired records."""
        pieces = self._pieces(queue, batch.pending(), queue.batch_size_bytes, batch.base_sequence)
        for piece in pieces:
            piece.retry_at_ms, piece.last_error, piece.failures = batch.retry_at_ms, batch.last_error, batch.failures
        queue.replace(batch, pieces)

    # --- records that are done ----------------------------------------------------------------------------------------

    def acknowledge(self, queue: PartitionQueue, batch: Batch, outcome: Outcome) -> None:
        queue.acknowledged(batch)
        queue.limit.accepted(batch.limit_bytes, batch.size_bytes)
        self._complete(queue, [(batch.pending(), outcome)])

    def fail(self, queue: PartitionQueue, batch: Batch, error: KafkaError) -> None:
        """Fail a batch that is not in flight, and renumber later batches if possible."""
        outcome = batch.failure(error)
        queue.drop(batch)
        self._complete(queue, [(batch.pending(), outcome)])

    def fail_waiting(self, error: KafkaError) -> bool:
        """Fail all records that are not in flight; return whether sequence numbers may have a gap now."""
        has_gap = False
        for queue in self.active():
            waiting = queue.pop_all()
            for batch in [batch for batch in queue.batches if not batch.is_in_flight]:
                has_gap = has_gap or not queue.is_open_behind(batch)
                self.fail(queue, batch, error)
            self._complete(queue, [(waiting, Outcome(error))])
        return has_gap

    def fail_all(self, error: KafkaError, unsent: KafkaError | None = None) -> None:
        """Fail all records with `error`, or with `unsent` if they were never sent."""
        unsent = unsent or error
        for queue in self.active():
            waiting = queue.pop_all()
            failed = [(batch.pending(), batch.failure(error if batch.attempts else unsent)) for batch in queue.batches]
            queue.drop_everything()
            self._complete(queue, [*failed, (waiting, Outcome(unsent))])

    def begin_epoch(self, queue: PartitionQueue) -> None:
        """Start an epoch after a gap. Batches that a broker may already have written fail, to avoid duplicates."""
        for batch in [batch for batch in queue.batches if batch.may_be_written]:
            assert batch.last_error is not None
            self.fail(queue, batch, batch.last_error)
        queue.begin_epoch()
        self._counters.epochs_begun += 1

    def expire(self, queue: PartitionQueue, now_ms: int, timed_out: TimedOut) -> None:
        """Fail the expired records of a queue.

        Args: timed_out: returns the error for a queue, a batch (None for waiting records), and its first expired run.
        """
        late: list[tuple[Batch | None, list[RecordRun]]] = [
            (batch, batch.pop_expired(now_ms, self._delivery_timeout_ms)) for batch in queue.batches
        ]
        late.append((None, queue.pop_expired(now_ms, self._delivery_timeout_ms)))
        errors = [(batch, runs, timed_out(queue, batch, runs[0])) for batch, runs in late if runs]
        done = []
        for batch, runs, error in errors:
            outcome = Outcome(error) if batch is None else self._drop_expired(queue, batch, batch.failure(error))
            done.append((runs, outcome))
        self._complete(queue, done)

    def _drop_expired(self, queue: PartitionQueue, batch: Batch, outcome: Outcome) -> Outcome:
        if batch.is_expired:
            if batch.is_in_flight and batch.base_sequence != NO_SEQUENCE:
                return outcome  # its place is needed until the response decides how later batches are numbered
            queue.drop(batch)
        elif not batch.is_unknown:
            if not queue.is_open_behind(batch):
                return outcome._replace(is_unknown=True)  # later batches are in flight: it must go unchanged
            self._cut_again(queue, batch)
        return outcome

    def _complete(self, queue: PartitionQueue, done: Sequence[tuple[list[RecordRun], Outcome]]) -> None:
        if not queue.runs and not queue.batches:
            self._active.pop(queue, None)  # its next run adds it again
        for runs, outcome in done:
            self._deliveries.finish(runs, outcome)

    def outstanding(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the numbers of records that would be failed and unknown if all failed now, by partition."""
        found = {}
        for queue in self._active:
            failed, unknown = queue.queued_count, 0
            for batch in queue.batches:
                pending = count_of(batch.pending())
                failed += 0 if batch.is_unknown else pending
                unknown += pending if batch.is_unknown else 0
            found[queue.topic_partition] = (failed, unknown)
        return found

    def last_error(self) -> KafkaError | None:
        errors = (batch.last_error for queue in self._active for batch in queue.batches)
        return next((error for error in errors if error is not None), None)

    # --- cutting ------------------------------------------------------------------------------------------------------

    def _pieces(
        self, queue: PartitionQueue, runs: list[RecordRun], limit_bytes: int, base_sequence: int
    ) -> list[Batch]:
        waiting = deque(runs)
        pieces: list[Batch] = []
        first = base_sequence
        while waiting:
            piece, _ = self._cut(queue, waiting, limit_bytes, first)
            if base_sequence != NO_SEQUENCE:
                first = plus(first, piece.record_count)
            pieces.append(piece)
        return pieces

    def _cut(
        self, queue: PartitionQueue, waiting: deque[RecordRun], limit_bytes: int, base_sequence: int
    ) -> tuple[Batch, float]:
        builder = self._encoded(waiting[0], limit_bytes)
        if builder is None:
            builder = RecordBatchBuilder(self._compression, self._level, limit_bytes, expected_ratio=queue.ratio)
            runs = self._fill(builder, waiting, limit_bytes)
        else:
            runs = [waiting.popleft()]
            runs[0].offset_in_batch = 0
        if base_sequence != NO_SEQUENCE:
            sequence = queue.sequence
            builder.set_producer_state(sequence.producer_id, sequence.epoch, base_sequence, self._is_transactional)
        data = Pieces(*builder.build_pieces())
        return Batch(runs, data, base_sequence, builder.plain_bytes, limit_bytes), builder.ratio

    def _encoded(self, run: RecordRun, limit_bytes: int) -> RecordBatchBuilder | None:
        encoded = run.encoded
        is_too_large = encoded is not None and limit_bytes < min(self._batch_size_bytes, encoded.size_bytes)
        return None if is_too_large else encoded

    def _fill(self, builder: RecordBatchBuilder, waiting: deque[RecordRun], limit_bytes: int) -> list[RecordRun]:
        runs: list[RecordRun] = []
        while waiting and not (runs and (waiting[0].is_compressing or self._encoded(waiting[0], limit_bytes))):
            run = waiting[0]
            run.offset_in_batch = builder.record_count
            fitting = builder.try_append_rows(run.rows, run.first, run.end)
            if fitting < run.end - run.first:
                if fitting:
                    runs.append(run.cut_off(fitting))
                break
            runs.append(waiting.popleft())
        return runs
