"""RecordWriter: Arrow batches to topics through a producer, one after the other through the same where it is pooled.

Owns what is reported when not all of it was delivered; which columns make a record is record_rows.py's. Knows nothing
of Spark.
"""

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
"""Partitions that an error names."""
BYTES_PER_CALL: Final = 2 << 20
"""About how much is handed to the producer in one call, which has max.block.ms for it."""
BATCH_BYTES: Final = 256 << 10
"""batch.size where none is given: rows come in masses here, and brokers write large batches at less cost."""
LARGEST_RECORD_BYTES: Final = 32 << 20
"""Of records that are copied, where max.request.size is not given: what the default of buffer.memory holds."""


LOOK_AT_SINK_MS: Final = 5_000
"""How often a writer that waits for acknowledgements looks whether its topic was recreated with fewer partitions."""
POOLED_METADATA_AGE_MS: Final = 5_000
"""metadata.max.age.ms of a pooled producer where none is given: it outlives its task, and maybe its topic."""


class PartialWriteError(UndeliveredError):
    """Not every row is in the topic: how many of which partition, and why the first of each is not.

    Attributes: `delivered`, how many rows are in the topic all the same.
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
            text = f"{total} row{'' if total == 1 else 's'} delivered, the next one refused [{cause}]"
        self.args = (text,)


def _fate(part: PartitionResult) -> str:
    counts = [(part.failed, "not written"), (part.unknown, "written or not, no response")]
    return ", ".join(f"{count} {words}" for count, words in counts if count)


class RecordWriter:
    """Sends Arrow batches; a context manager that leaves nothing under way.

    Args:
        properties: Kafka properties of a producer; max.block.ms and delivery.timeout.ms limit it.
        topic: where all rows go; None: a column `topic` says where.
        with_timestamps: records get the times of the column `timestamp`, where that is not null.
        pool: that has producers of earlier writers, and gets this one's once all of its rows are acknowledged; None: a
            producer for this writer alone.
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
                self._pool = None  # an error closes the connection, and would lose the records of the next writer
            return Producer(config, runtime or system_runtime())

        self._producer = make() if pool is None else pool.acquire(properties, make)
        self._before = self._producer.metrics()
        self._partition_counts: dict[str, int] = {}
        """Of the topics that rows were sent to, as the producer knew them."""
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
        """Hand every row to the producer.

        Raises:
            ConfigError: a column has a type that records do not have, or a value that no record can have.
            PartialWriteError: earlier rows are lost; this is what became of all of them.
            KafkaError: nothing was sent yet, and nothing can be.
        """
        from kctl.pipeline.record_rows import place_rows, record_rows

        record_rows(batch.slice(0, 0), with_timestamps=self._with_timestamps)  # the types, before any row is sent
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
            raise ConfigError(f"to {place.topic}: {error}") from None
        self._partition_counts.setdefault(place.topic, self._partition_count(place.topic))

    def finish(self) -> int:
        """Return once every row is acknowledged: how many that are.

        Raises: PartialWriteError.
        """
        try:
            while not self._is_flushed():
                self._refuse_recreated_topic()
        except KafkaError as error:
            raise self._account(error) from error
        counts, before = self._producer.metrics(), self._before
        if counts.records_failed + counts.records_unknown > before.records_failed + before.records_unknown:
            raise self._account(None)  # a flush that timed out has reported the failures, and the last one has not
        if self._pool is not None:
            self._is_pooled = True
            self._pool.release(self._properties, self._producer)
        return counts.records_delivered - before.records_delivered

    def _is_flushed(self) -> bool:
        """Wait until every row is acknowledged or has failed, but no longer than until the next look at the sink."""
        try:
            self._producer.flush(LOOK_AT_SINK_MS / 1000)
        except FlushTimeout:
            return False
        return True

    def _refuse_recreated_topic(self) -> None:
        """Raise if a topic has fewer partitions than before: rows for those that are gone would wait for nothing."""
        for topic, count in self._partition_counts.items():
            now = self._partition_count(topic)
            if 0 < now < count:
                text = f"the topic was deleted and recreated with {now} instead of {count} partitions"
                raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"produce to {topic}", text)

    def _partition_count(self, topic: str) -> int:
        """Return how many partitions the producer knows of, 0 where it has lost the topic; asks no broker."""
        try:
            return len(self._producer.partitions_for(topic, 0))
        except KafkaTimeoutError:
            return 0

    def _account(self, error: KafkaError | None) -> KafkaError:
        """End the producer; return the error with the account of what was sent, where anything was.

        A producer that failed is in no pool again, so what is undelivered is all of this writer.

        Args: error: None for that of the first row that failed.
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
    """Send every row of the batches; return how many there are once all of them are acknowledged.

    Args:
        properties, topic, with_timestamps, pool: as of RecordWriter.
        batches: with a column `value` (binary or string) and any of `key` (likewise), `topic`, `partition`,
            `timestamp` and `headers` (a list of structs of key and value); a null is left to the producer. Other
            columns are not looked at.
    Raises: as RecordWriter.write and finish.
    """
    with RecordWriter(properties, topic, with_timestamps=with_timestamps, pool=pool, runtime=runtime) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish()


def writing_properties(properties: Properties) -> dict[str, object]:
    """Return a producer's properties in which the limit of a call holds for each record too, and batches are large.

    Java's delivery.timeout.ms of two minutes would outlast a shorter API timeout; one that is given stays.

    Raises: ConfigError: linger.ms is given, and leaves no time.
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
    """Return a producer's properties for records that a cluster has accepted: the target's topics limit their size."""
    return {"max.request.size": LARGEST_RECORD_BYTES, **properties}


def _request_timeout_ms(config: ProducerConfig, limit_ms: int) -> int:
    """Return what the limit leaves of the request timeout after linger.ms."""
    if config.linger_ms >= limit_ms:
        raise ConfigError(f"linger.ms={config.linger_ms} leaves no time to send within the timeout of {limit_ms} ms")
    return min(config.request_timeout_ms, limit_ms - config.linger_ms)


def _parts(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Yield the batch in slices, each so small that one call of the producer can take it in its time."""
    rows = max(1, batch.num_rows * BYTES_PER_CALL // max(batch.nbytes, 1))
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)
