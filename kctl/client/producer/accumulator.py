"""Accumulator: records wait here, by partition, until a batch of them may go.

Owns the queues, when each is due and what has expired. A record is encoded when its batch is about to be sent, not
before: so a batch is as full as it can be, and each record keeps a deadline of its own. At most one batch of a
partition is under way, which keeps its records in order. Owned by the network loop; does no I/O.
Shown by tests/unit/producer/test_accumulator.py.
"""

from collections import deque
from collections.abc import Iterator

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ProducerConfig
from kctl.client.producer.batch import Batch
from kctl.client.producer.future import SendFuture
from kctl.client.producer.sequences import PartitionSequence
from kctl.client.records import RecordBatchBuilder

COMPRESSION_LEVELS = {
    "gzip": "compression.gzip.level",
    "lz4": "compression.lz4.level",
    "zstd": "compression.zstd.level",
}


class PartitionQueue:
    """The records of one partition that are not done: `batch` is under way, `records` wait behind it."""

    __slots__ = ("batch", "batch_size_bytes", "queued_bytes", "records", "sequence", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, batch_size_bytes: int) -> None:
        self.topic_partition = topic_partition
        self.batch_size_bytes = batch_size_bytes
        """batch.size, or less once the broker has found a batch too large."""
        self.records: deque[SendFuture] = deque()
        self.queued_bytes = 0
        self.batch: Batch | None = None
        self.sequence = PartitionSequence()

    def put_back(self, records: list[SendFuture]) -> None:
        """Put the records of a batch that was not written back to the front, in their order."""
        self.records.extendleft(reversed(records))
        self.queued_bytes += sum(record.size_bytes for record in records)

    def unfreeze(self) -> None:
        """Put the batch, which was certainly not written, back among the waiting records; its sequences are free."""
        assert self.batch is not None
        if self.batch.base_sequence >= 0:
            self.sequence.give_back(self.batch.base_sequence)
        self.put_back(self.batch.pending())
        self.batch = None

    def split(self) -> None:
        """Unfreeze a batch that the broker found too large; from now on batches are at most half of it."""
        assert self.batch is not None
        self.batch_size_bytes = max(min(self.batch_size_bytes, self.batch.plain_bytes) // 2, 1)
        self.unfreeze()

    def drop_batch(self) -> None:
        """Be done with the batch; when its fate is unknown, the partition's sequences start anew."""
        assert self.batch is not None
        batch, self.batch = self.batch, None
        if batch.base_sequence < 0:
            return
        if batch.is_in_flight or batch.may_be_written:
            self.sequence.start_anew()
        else:
            self.sequence.give_back(batch.base_sequence)

    def take_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[SendFuture]:
        """Take out the waiting records whose deadline has passed."""
        expired: list[SendFuture] = []
        while self.records and self.records[0].created_at_ms + delivery_timeout_ms <= now_ms:
            record = self.records.popleft()
            self.queued_bytes -= record.size_bytes
            expired.append(record)
        return expired

    def take_all(self) -> list[SendFuture]:
        """Take out every waiting record."""
        taken = list(self.records)
        self.records.clear()
        self.queued_bytes = 0
        return taken


class Accumulator:
    """The queues of all partitions that have something to do."""

    def __init__(self, config: ProducerConfig) -> None:
        self._batch_size_bytes = config.batch_size
        self._linger_ms = config.linger_ms
        self._delivery_timeout_ms = config.delivery_timeout_ms
        self._compression = config.compression_type
        self._level = _compression_level(config)
        self._queues: dict[tuple[str, int], PartitionQueue] = {}
        self._active: dict[TopicPartition, PartitionQueue] = {}
        self.is_hurried = False
        """No lingering: someone flushes, closes or waits for memory."""

    def add(self, record: SendFuture) -> None:
        """Let the record wait in the queue of its partition."""
        queue = self._queues.get((record.topic, record.partition))  # a plain tuple is made faster, and equal
        if queue is None:
            key = TopicPartition(record.topic, record.partition)
            queue = self._queues[key] = PartitionQueue(key, self._batch_size_bytes)
        if not queue.records and queue.batch is None:
            self._active[queue.topic_partition] = queue
        queue.records.append(record)
        queue.queued_bytes += record.size_bytes

    def active(self) -> list[PartitionQueue]:
        """Return the queues that are not empty, those served least recently first."""
        return list(self._active.values())

    def settle(self, queue: PartitionQueue) -> None:
        """Note that the queue's batch is done: an empty queue is put away, another goes to the end of the line."""
        self._active.pop(queue.topic_partition, None)
        if queue.batch is not None or queue.records:
            self._active[queue.topic_partition] = queue

    def due_at_ms(self, queue: PartitionQueue) -> int:
        """Return from when on the next batch may be sent; FOREVER_MS while one is in flight or nothing waits."""
        batch = queue.batch
        if batch is not None:
            return FOREVER_MS if batch.is_in_flight else batch.retry_at_ms
        if not queue.records:
            return FOREVER_MS
        if self.is_hurried or queue.queued_bytes >= queue.batch_size_bytes:
            return 0
        return queue.records[0].created_at_ms + self._linger_ms

    def expires_at_ms(self, queue: PartitionQueue) -> int:
        """Return the next deadline of a record in the queue or its batch."""
        waiting_ms = queue.records[0].created_at_ms + self._delivery_timeout_ms if queue.records else FOREVER_MS
        if queue.batch is None:
            return waiting_ms
        return min(waiting_ms, queue.batch.expires_at_ms(self._delivery_timeout_ms))

    def freeze(self, queue: PartitionQueue) -> Batch:
        """Encode the next batch of the queue, as full as batch.size allows, and make it the one under way."""
        assert queue.batch is None
        sequence = queue.sequence
        builder = RecordBatchBuilder(self._compression, self._level, queue.batch_size_bytes)
        records = list(self._fill(builder, queue))
        base_sequence = -1
        if sequence.epoch >= 0:
            base_sequence = sequence.take(len(records))
            builder.set_producer_state(sequence.producer_id, sequence.epoch, base_sequence)
        plain_bytes = builder.size_bytes
        queue.batch = Batch(records, builder.build(), base_sequence, plain_bytes)
        return queue.batch

    @staticmethod
    def _fill(builder: RecordBatchBuilder, queue: PartitionQueue) -> Iterator[SendFuture]:
        waiting = queue.records
        while waiting:
            record = waiting[0]
            position = builder.try_append(record.key, record.value, record.headers, record.timestamp_ms)
            if position is None:
                return
            record.offset_in_batch = position
            queue.queued_bytes -= record.size_bytes
            yield waiting.popleft()


def _compression_level(config: ProducerConfig) -> int | None:
    """Return the level of the compression chosen; None for its own default, and where there are no levels."""
    levels = {
        "gzip": config.compression_gzip_level if config.compression_gzip_level >= 0 else None,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return levels.get(config.compression_type)
