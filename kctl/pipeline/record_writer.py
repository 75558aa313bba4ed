"""RecordWriter: sends Arrow batches to topics through a producer, which a pool can reuse."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.config import INT_MAX, ProducerConfig
from kctl.client.errors import ConfigError, FlushTimeout, KafkaError, KafkaTimeoutError, UndeliveredError
from kctl.client.network.system import system_runtime
from kctl.client.producer import CloseResult, PartitionResult, Producer
from kctl.client.runtime import Runtime
from kctl.pipeline.ranges import Properties

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.client_pool import ClientPool
    from kctl.pipeline.record_rows import RecordRows, RowDestination

MOST_NAMED: Final = 5
"""Maximum number of partitions in an error message."""
BYTES_PER_CALL: Final = 2 << 20
"""Approximate size of the rows of one `send` call, in bytes. max.block.ms limits each call."""
BATCH_BYTES: Final = 256 << 10
"""Default of batch.size. Large batches cost brokers less, and rows arrive in large numbers."""
LARGEST_RECORD_BYTES: Final = 32 << 20
"""Default of max.request.size for copied records, equal to the default of buffer.memory."""


LOOK_AT_SINK_MS: Final = 5_000
"""Interval in ms of checks for topics recreated with fewer partitions, while waiting for acknowledgments."""
POOLED_METADATA_AGE_MS: Final = 5_000
"""Default of metadata.max.age.ms for a pooled producer, which may outlive a topic."""


class PartialWriteError(UndeliveredError):
    """Some rows are not in the topic; the message has the number and the first error for each partition.

    Attributes: delivered: number of rows in the topic.
    """

    def __init__(self, result: CloseResult, cause: KafkaError) -> None:
        super().__init__(result.undelivered, cause)
        self.delivered = result.delivered
        bad = [(tp, part) for tp, part in sorted(result.partitions.items()) if part.failed or part.unknown]
        said = [f"{tp.topic}{f'-{tp.partition}' if tp.partition >= 0 else ''}: {_fate(p)}" for tp, p in bad]
        more = f"; and {len(said) - MOST_NAMED} more" if len(said) > MOST_NAMED else ""
        total = result.undelivered + result.delivered
        text = f"{result.undelivered} of {total} rows not delivered: {'; '.join(said[:MOST_NAMED])}{more} [{cause}]"
        if not result.undelivered:
            text = f"{total} row{'' if total == 1 else 's'} delivered, but the next row was rejected [{cause}]"
        self.args = (text,)


def _fate(part: PartitionResult) -> str:
    counts = [(part.failed, "not written"), (part.unknown, "without a response, may be written")]
    return ", ".join(f"{count} {words}" for count, words in counts if count)


class RecordWriter:
    """Sender of Arrow batches; a context manager that leaves no requests pending.

    Args:
        properties: producer properties. max.block.ms and delivery.timeout.ms limit the writer.
        topic: topic of all rows. None uses the column `topic`.
        with_timestamps: use the times of the column `timestamp` that are not null.
        pool: pool that lends the producer until all rows are acknowledged. None creates a new producer.
    """

    def __init__(
        self,
        properties: Properties,
        topic: str | None = None,
        *,
        with_timestamps: bool = True,
        pool: "ClientPool[Producer] | None" = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._properties = properties
        self._pool = pool

        def make() -> Producer:
            age = {} if pool is None else {"metadata.max.age.ms": POOLED_METADATA_AGE_MS}
            config = ProducerConfig.parse(writing_properties({**age, **properties}))
            if config.acks == 0:
                self._pool = None  # an error closes the connection, which would lose the next writer's records
            return Producer(config, runtime or system_runtime())

        self._producer = make() if pool is None else pool.acquire(properties, make)
        self._before = self._producer.metrics()
        self._partition_counts: dict[str, int] = {}
        """Partition counts of written topics in the producer's metadata."""
        self._is_pooled = False
        self._topic = topic
        self._with_timestamps = with_timestamps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_pooled:
            self._producer.close(0)

    def write(self, batch: "pa.RecordBatch") -> None:
        """Pass every row to the producer.

        Raises:
            ConfigError: a column has an invalid type or value.
            PartialWriteError: earlier rows were not delivered. The error covers all rows.
            KafkaError: nothing was sent, and nothing can be sent.
        """
        from kctl.pipeline.record_rows import place_rows, record_rows

        record_rows(batch.slice(0, 0), with_timestamps=self._with_timestamps)  # check the types before any row is sent
        for part in _parts(batch):
            for place, rows in place_rows(part, self._topic):
                self._send(place, record_rows(rows, with_timestamps=self._with_timestamps))

    def _send(self, place: "RowDestination", rows: "RecordRows") -> None:
        send = self._producer.send_columns
        try:
            send(place.topic, rows.values, rows.keys, place.partition, rows.headers, rows.timestamps_ms)
        except KafkaError as error:
            raise self._account(error) from error
        except (TypeError, ValueError) as error:
            raise ConfigError(f"cannot send a row to topic {place.topic}: {error}") from None
        self._partition_counts.setdefault(place.topic, self._partition_count(place.topic))

    def finish(self) -> int:
        """Wait until every row is acknowledged and return their number."""
        try:
            while not self._is_flushed():
                self._refuse_recreated_topic()
        except KafkaError as error:
            raise self._account(error) from error
        counts, before = self._producer.metrics(), self._before
        if counts.records_failed + counts.records_unknown > before.records_failed + before.records_unknown:
            raise self._account(None)  # a flush that timed out has consumed the failures
        if self._pool is not None:
            self._is_pooled = True
            self._pool.release(self._properties, self._producer)
        return counts.records_delivered - before.records_delivered

    def _is_flushed(self) -> bool:
        try:
            self._producer.flush(LOOK_AT_SINK_MS / 1000)
        except FlushTimeout:
            return False
        return True

    def _refuse_recreated_topic(self) -> None:
        """Raise if a topic has fewer partitions than before: rows for removed partitions cannot be delivered."""
        for topic, count in self._partition_counts.items():
            now = self._partition_count(topic)
            if 0 < now < count:
                text = f"the topic was deleted and recreated with {now} instead of {count} partitions"
                raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"produce to {topic}", text)

    def _partition_count(self, topic: str) -> int:
        try:
            return len(self._producer.partitions_for(topic, 0))
        except KafkaTimeoutError:
            return 0

    def _account(self, error: KafkaError | None) -> KafkaError:
        """Close the producer. Return the error with the delivery result if any rows were sent, otherwise the error as
        is.

        A failed producer does not return to the pool, so the undelivered rows belong to this writer.
        """
        result = self._producer.close(0)
        result = result._replace(delivered=result.delivered - self._before.records_delivered)
        error = error or next(part.error for part in result.partitions.values() if part.error is not None)
        cause = error.cause if isinstance(error, UndeliveredError) else error
        return PartialWriteError(result, cause) if result.undelivered or result.delivered else error


def write_batches(
    properties: Properties,
    batches: "Iterable[pa.RecordBatch]",
    *,
    topic: str | None = None,
    with_timestamps: bool = True,
    pool: "ClientPool[Producer] | None" = None,
    runtime: Runtime | None = None,
) -> int:
    """Send every row of the batches, and return the number of rows when all are acknowledged.

    Args:
        batches: batches with the columns of `record_rows`. The producer fills nulls.
    """
    with RecordWriter(properties, topic, with_timestamps=with_timestamps, pool=pool, runtime=runtime) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish()


def writing_properties(properties: Properties) -> dict[str, object]:
    """Return producer properties with large batches, and with the API timeout as delivery.timeout.ms.

    Java's default of two minutes would exceed a shorter API timeout. A given delivery.timeout.ms is kept.

    Raises:
        ConfigError: linger.ms is given and leaves no time to send.
    """
    wanted = dict(properties)
    config = ProducerConfig.parse(wanted)
    limit_ms = config.max_block_ms
    if config.is_given(ProducerConfig.request_timeout_ms):
        limit_ms = max(limit_ms, config.linger_ms + config.request_timeout_ms)
    elif config.is_given(ProducerConfig.linger_ms) and not config.is_given(ProducerConfig.delivery_timeout_ms):
        wanted["request.timeout.ms"] = _request_timeout_ms(config, limit_ms)
    wanted.setdefault("delivery.timeout.ms", min(limit_ms, INT_MAX))
    wanted.setdefault("batch.size", BATCH_BYTES)
    return wanted


def copying_properties(properties: Properties) -> dict[str, object]:
    """Return producer properties for records that a cluster has accepted. Only the target's topics limit their size."""
    return {"max.request.size": LARGEST_RECORD_BYTES, **properties}


def _request_timeout_ms(config: ProducerConfig, limit_ms: int) -> int:
    if config.linger_ms >= limit_ms:
        raise ConfigError(f"linger.ms={config.linger_ms} must be less than the timeout of {limit_ms}ms")
    return min(config.request_timeout_ms, limit_ms - config.linger_ms)


def _parts(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    rows = max(1, batch.num_rows * BYTES_PER_CALL // max(batch.nbytes, 1))
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)
