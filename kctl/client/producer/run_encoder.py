"""RunEncoder: encodes the rows of send_columns on the caller's thread, as batches that only lack their header.

The rows are in the caller's caches, and the network loop is left with a few large pieces of bytes: handing many small
objects from one core to another costs more than encoding them. Compression is here too. What fills less than half a
batch is left to the loop, which joins it with what follows.

Source: Java's KafkaProducer, which chooses partitions, encodes and compresses in send().
"""

from collections.abc import Callable

from kctl.client.cluster import TopicInfo
from kctl.client.config import ProducerConfig
from kctl.client.producer.batch_compressor import BatchCompressor
from kctl.client.producer.future import NO_PARTITION
from kctl.client.producer.given_rows import RowLimits
from kctl.client.producer.record import UNENCODED_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import RecordBatchBuilder

_PIECE_BYTES = 32 * 1024
"""What is worth a batch of its own where rows are divided among partitions: their batches share a request."""
_LZ4_FAST = 9
"""The level that means the fast compressor, which has no levels."""
_NO_LIMIT = (1 << 31) - 1
"""Of a batch's size: the run was cut to the size of a batch, and divided it is smaller."""
LEAST_HELPED_BYTES = 64 * 1024
"""Smaller batches are compressed in less time than it takes to hand them to another thread."""


class RunEncoder:
    """The encoder of one producer; any thread.

    Args:
        expected_ratio: compressed size over plain size that is expected of a topic's records.
        compressor: a helper thread for it; None: the caller compresses.
    """

    def __init__(
        self,
        config: ProducerConfig,
        expected_ratio: Callable[[str], float],
        compressor: BatchCompressor | None = None,
    ) -> None:
        self._compression = config.compression_type
        self._compressor = None if config.compression_type == "none" else compressor
        self._level = compression_level(config)
        self._batch_size_bytes = config.batch_size
        self._buffer_memory_bytes = config.buffer_memory
        self._takes_turns = config.partitioner_class == "round_robin"
        self._ignores_keys = config.partitioner_ignore_keys
        self._expected_ratio = expected_ratio

    def batch_bytes(self, topic: str) -> int:
        """Return about how many bytes of records fill a batch before compression."""
        return int(self._batch_size_bytes / self._expected_ratio(topic))

    def limits(self, topic: str, partition: int | None) -> RowLimits:
        """Return how the rows of a call are divided into runs."""
        is_each_placed = partition is None and self._takes_turns
        return RowLimits(
            self.batch_bytes(topic), self._buffer_memory_bytes, None if is_each_placed else self._new_builder
        )

    def _new_builder(self) -> RecordBatchBuilder:
        return RecordBatchBuilder(self._compression, self._level, _NO_LIMIT)

    def encode(self, run: RecordRun, topic: TopicInfo | None) -> None:
        """Divide the rows by their keys where they have any, and encode what fills a batch of its own."""
        if run.encoded is not None:
            self._compress(run, run.encoded)
        elif run.partition != NO_PARTITION:
            self._encode(run, self.batch_bytes(run.topic) // 2)
        elif self._takes_turns:
            return  # each row by itself
        elif run.is_packed and not self._ignores_keys:
            self._divide(run, topic)
        elif run.rows.keys is None or self._ignores_keys:
            self._encode(run, self.batch_bytes(run.topic) // 2)
        elif topic is not None and topic.partitions:
            pieces = run.by_key(len(topic.partitions))
            for piece in pieces or ():
                self._encode(piece, min(_PIECE_BYTES, self.batch_bytes(run.topic) // 2))
            if pieces is not None:
                run.divided = len(topic.partitions), pieces
                run.drop_rows()

    def _divide(self, run: RecordRun, topic: TopicInfo | None) -> None:
        """Divide packed rows by their keys; make objects of them where that cannot be done here."""
        least_bytes = min(_PIECE_BYTES, self.batch_bytes(run.topic) // 2)
        count = 0 if topic is None else len(topic.partitions)
        pieces = run.divide_packed(count, self._new_builder, least_bytes) if count else None
        if pieces is None:
            run.unpack()
            return
        for piece in pieces:
            if piece.encoded is not None:
                self._compress(piece, piece.encoded)
        run.divided = count, pieces
        run.drop_rows()

    def _encode(self, run: RecordRun, least_bytes: int) -> None:
        if run.size_bytes - UNENCODED_BYTES * run.count < least_bytes or not run.rows.is_plain:
            return
        builder = self._new_builder()
        builder.try_append_rows(run.rows, run.first, run.end)
        run.encoded = builder
        self._compress(run, builder)
        run.drop_rows()

    def _compress(self, run: RecordRun, builder: RecordBatchBuilder) -> None:
        if self._compressor is None or builder.plain_bytes < LEAST_HELPED_BYTES:
            builder.compress()
        else:
            self._compressor.compress(run)


def compression_level(config: ProducerConfig) -> int | None:
    """Return the level of the compression chosen; None for its own default, and where there are no levels.

    Source: Java's Lz4BlockOutputStream, where level 9, the default, means the fast compressor and no level at all.
    """
    levels = {
        "gzip": config.compression_gzip_level if config.compression_gzip_level >= 0 else None,
        "lz4": config.compression_lz4_level if config.compression_lz4_level != _LZ4_FAST else None,
        "zstd": config.compression_zstd_level,
    }
    return levels.get(config.compression_type)
