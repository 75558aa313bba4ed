"""RecordWriter: Arrow batches to topics through the producer, with an account by partition.

Owns which columns make a record and what is said when not all of it was delivered. Knows nothing of Spark.
Shown by tests/sim/pipeline and, with real brokers, tests/pipeline/test_source_write.py.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from kctl.client.config import ProducerConfig
from kctl.client.config.property import INT_MAX
from kctl.client.errors import ConfigError, KafkaError, UndeliveredError
from kctl.client.network.system import system_runtime
from kctl.client.producer import Producer
from kctl.client.producer.deliveries import CloseResult, PartitionResult
from kctl.client.seams import Runtime
from kctl.pipeline.ranges import Properties

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMED: Final = 5
"""Partitions that an error names."""


class PartitionWritten(NamedTuple):
    """What was written to one partition: how many records, and the last offset, -1 where the broker did not tell."""

    topic: str
    partition: int
    records: int
    last_offset: int


class WriteResult(NamedTuple):
    """What was written, by partition; every record of it is acknowledged."""

    partitions: tuple[PartitionWritten, ...] = ()

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)


class PartialWriteError(UndeliveredError):
    """Not every row is in the topic: how many of which partition, and why the first of each is not.

    Attributes: `partitions`, what became of each partition; `delivered`, how many rows are in the topic all the same.
    """

    def __init__(self, result: CloseResult, cause: KafkaError) -> None:
        super().__init__(result.undelivered, cause)
        self.partitions = dict(result.partitions)
        self.delivered = result.delivered
        bad = [(tp, part) for tp, part in sorted(result.partitions.items()) if part.failed or part.unknown]
        said = [f"{tp.topic}{f'-{tp.partition}' if tp.partition >= 0 else ''}: {_fate(p)}" for tp, p in bad]
        more = f"; {len(said) - MOST_NAMED} more partitions" if len(said) > MOST_NAMED else ""
        rows = f"{result.undelivered} of {result.undelivered + result.delivered} rows not delivered"
        self.args = (f"{rows}: {'; '.join(said[:MOST_NAMED])}{more} [{cause}]",)


def _fate(part: PartitionResult) -> str:
    counts = [(part.failed, "not written"), (part.unknown, "written or not, nobody answered")]
    return ", ".join(f"{count} {words}" for count, words in counts if count)


class RecordWriter:
    """Sends Arrow batches; a context manager that leaves nothing under way.

    Args:
        properties: Kafka properties of a producer; max.block.ms and delivery.timeout.ms limit it.
        topic: where all rows go; None: a column `topic` says where.
        with_timestamps: records get the times of the column `timestamp`, where that is not null.
    """

    def __init__(
        self,
        properties: Properties,
        topic: str | None = None,
        *,
        with_timestamps: bool = True,
        runtime: Runtime | None = None,
    ) -> None:
        self._producer = Producer(writing_properties(properties), runtime or system_runtime())
        self._topic = topic
        self._with_timestamps = with_timestamps
        self._rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close(0)

    def write(self, batch: "pa.RecordBatch") -> None:
        """Hand every row to the producer.

        Raises:
            ConfigError: a column has a type that records do not have, or a value that no record can have.
            PartialWriteError: earlier rows are lost; this is what became of all of them.
            KafkaError: nothing was sent yet, and nothing can be.
        """
        columns = send_arguments(batch, self._topic, with_timestamps=self._with_timestamps)
        send = self._producer.send
        row = self._rows
        try:
            for arguments in zip(*columns, strict=True):
                send(*arguments)
                row += 1
        except KafkaError as error:
            raise self._account(error) from error
        except (TypeError, ValueError) as error:
            raise ConfigError(f"row {row} of this task cannot be a record: {error}") from None
        self._rows = row

    def finish(self) -> WriteResult:
        """Return once every row is acknowledged, with what was written where.

        Raises: PartialWriteError.
        """
        try:
            self._producer.flush()
        except KafkaError as error:
            raise self._account(error) from error
        parts = sorted(self._producer.close(0).partitions.items())
        return WriteResult(tuple(PartitionWritten(*tp, part.delivered, part.last_offset) for tp, part in parts))

    def _account(self, error: KafkaError) -> KafkaError:
        """End the producer; return the error with the account of what was sent, where anything was."""
        result = self._producer.close(0)
        cause = error.cause if isinstance(error, UndeliveredError) else error
        return PartialWriteError(result, cause) if result.undelivered or result.delivered else error


def write_batches(
    properties: Properties,
    batches: "Iterable[pa.RecordBatch]",
    *,
    topic: str | None = None,
    with_timestamps: bool = True,
    runtime: Runtime | None = None,
) -> WriteResult:
    """Send every row of the batches; return once all of them are acknowledged.

    Args:
        properties, topic, with_timestamps: as of RecordWriter.
        batches: with a column `value` (binary or string) and any of `key` (likewise), `topic`, `partition`,
            `timestamp` and `headers` (a list of structs of key and value); a null is left to the producer. Other
            columns are not looked at.
    Raises: as RecordWriter.write and finish.
    """
    with RecordWriter(properties, topic, with_timestamps=with_timestamps, runtime=runtime) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish()


def writing_properties(properties: Properties) -> dict[str, object]:
    """Return a producer's properties in which the limit of a call holds for each record too.

    Java's delivery.timeout.ms of two minutes would outlast a shorter API timeout; one that is given stays.
    """
    wanted = dict(properties)
    config = ProducerConfig.parse(wanted)
    limit_ms = config.max_block_ms
    if config.is_given(ProducerConfig.request_timeout_ms):
        limit_ms = max(limit_ms, config.linger_ms + config.request_timeout_ms)
    wanted.setdefault("delivery.timeout.ms", min(limit_ms, INT_MAX))
    return wanted


# --- columns ----------------------------------------------------------------------------------------------------------


def send_arguments(batch: "pa.RecordBatch", topic: str | None, *, with_timestamps: bool) -> list[Iterable[Any]]:
    """Return topic, value, key, partition, headers and timestamp of each row, as `Producer.send` takes them.

    Raises: ConfigError: no column `value`, no topic, or a type that records do not have.
    """
    names = batch.schema.names
    if "value" not in names:
        raise ConfigError(f"the rows have no column value, only {', '.join(names) or 'none'}", key="value")
    columns: list[Iterable[Any]] = [_topics(batch, topic), _bytes(batch, "value")]
    columns.append(_bytes(batch, "key") if "key" in names else repeat(None, batch.num_rows))
    columns.append(_partitions(batch) if "partition" in names else repeat(None, batch.num_rows))
    columns.append(_headers(batch) if "headers" in names else repeat((), batch.num_rows))
    is_timed = with_timestamps and "timestamp" in names
    columns.append(_timestamps(batch) if is_timed else repeat(None, batch.num_rows))
    return columns


def _topics(batch: "pa.RecordBatch", topic: str | None) -> Iterable[Any]:
    import pyarrow as pa

    if topic is not None:
        return repeat(topic, batch.num_rows)
    if "topic" not in batch.schema.names:
        raise ConfigError("no topic: set the option topic, or give the rows a column topic", key="topic")
    column = batch.column("topic")
    _expect(column.type, "topic", "string", pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
    if column.null_count:
        raise ConfigError(f"{column.null_count} rows have no topic", key="topic")
    return _listed(column)


def _bytes(batch: "pa.RecordBatch", name: str) -> Sequence[bytes | None]:
    import pyarrow as pa

    column, types = batch.column(name), pa.types
    if types.is_null(column.type) or types.is_binary(column.type) or types.is_large_binary(column.type):
        return _listed(column)
    _expect(column.type, name, "binary or string", types.is_string(column.type) or types.is_large_string(column.type))
    return _listed(column.cast(pa.binary()))


def _partitions(batch: "pa.RecordBatch") -> Sequence[int | None]:
    import pyarrow as pa

    column = batch.column("partition")
    _expect(column.type, "partition", "int", pa.types.is_integer(column.type) or pa.types.is_null(column.type))
    return _listed(column)


def _timestamps(batch: "pa.RecordBatch") -> Sequence[int | None]:
    import pyarrow as pa

    column = batch.column("timestamp")
    _expect(column.type, "timestamp", "timestamp", pa.types.is_timestamp(column.type) or pa.types.is_null(column.type))
    return _listed(column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()))


def _headers(batch: "pa.RecordBatch") -> Iterable[Sequence[tuple[str, bytes | None]]]:
    import pyarrow as pa

    column = batch.column("headers")
    if column.null_count == len(column):
        return repeat((), batch.num_rows)
    is_list = pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type)
    names = [field.name for field in column.type.value_type] if is_list else []
    _expect(column.type, "headers", "array of struct of key string and value binary", names == ["key", "value"])
    return [() if row is None else tuple((each["key"], each["value"]) for each in row) for row in _listed(column)]


def _expect(kind: "pa.DataType", name: str, wanted: str, is_right: bool) -> None:
    if not is_right:
        raise ConfigError(f"column {name} is {kind}, not {wanted}", key=name)


def _listed(column: "pa.Array") -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values
