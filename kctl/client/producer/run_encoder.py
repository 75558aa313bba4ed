"""RunEncoder: encodes and compresses send_columns rows on the caller's thread, as batches that lack only a header.

To move many small objects to another core costs more than to encode them. Smaller runs are left to the loop. Source:
Java's KafkaProducer.
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
"""Minimum size of a separate batch when rows are divided among partitions; small batches share a request."""
_LZ4_FAST = 9
"""Configured level that selects the fast lz4 compressor, which has no levels."""
_NO_LIMIT = (1 << 31) - 1
"""Batch limit of divided runs, which already have at most the size of a batch."""
LEAST_HELPED_BYTES = 64 * 1024
"""Minimum size for the helper thread; smaller batches are compressed faster than handed over."""


class RunEncoder:
    """Encoder of one producer; any thread.

    Args:
        expected_ratio: returns the expected ratio of compressed to plain size of a topic.
        compressor: helper thread, if any.
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
        return int(self._batch_size_bytes / self._expected_ratio(topic))

    def limits(self, topic: str, partition: int | None) -> RowLimits:
        is_each_placed = partition is None and self._takes_turns
        return RowLimits(
            self.batch_bytes(topic), self._buffer_memory_bytes, None if is_each_placed else self._new_builder
        )

    def _new_builder(self) -> RecordBatchBuilder:
        return RecordBatchBuilder(self._compression, self._level, _NO_LIMIT)

    def encode(self, run: RecordRun, topic: TopicInfo | None) -> None:
        """Divide keyed rows by partition, and encode runs that fill at least half a batch."""
        if run.encoded is not None:
            self._compress(run, run.encoded)
        elif run.partition != NO_PARTITION:
            self._encode(run, self.batch_bytes(run.topic) // 2)
        elif self._takes_turns:
            return  # each row gets its own partition
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
    """Return the compression level, or None for the codec's default.

    For lz4, level 9 (the default) means the fast compressor, as in Java's Lz4BlockOutputStream.
    """
    levels = {
        "gzip": config.compression_gzip_level if config.compression_gzip_level >= 0 else None,
        "lz4": config.compression_lz4_level if config.compression_lz4_level != _LZ4_FAST else None,
        "zstd": config.compression_zstd_level,
    }
    return levels.get(config.compression_type)
