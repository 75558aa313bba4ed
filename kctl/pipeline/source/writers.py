"""Writing: each task sends its rows and returns when they are acknowledged.

Delivery is at least once, as with Spark's connector: a repeated task sends all of its rows again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from kctl.pipeline.record_writer import write_batches
from kctl.pipeline.source.failures import one_timeout, reported_in_one_line
from kctl.pipeline.source.options import WriteOptions
from kctl.pipeline.spark_archive import keep_spark_archive

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row
    from pyspark.sql.types import StructType

ROWS_PER_BATCH: Final = 10_000
"""Rows of one Arrow batch if Spark passes rows."""


class KctlWriter(DataSourceArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return write_rows(self._options, iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Do nothing for the topic, whose rows are acknowledged. Spark calls this in a separate Python process."""
        keep_spark_archive()
        super().commit(messages)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Do nothing for the topic: written rows stay."""
        keep_spark_archive()
        super().abort(messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topic={self._options.topic})"


class KctlRowStreamWriter(DataSourceStreamWriter):
    """Writer of the batches of a stream with rows (Spark 4.0)."""

    def __init__(self, options: WriteOptions, schema: "StructType") -> None:
        self._options = options
        self._schema = schema

    def write(self, iterator: "Iterator[Row]") -> WriterCommitMessage:
        return write_rows(self._options, _as_batches(iterator, self._schema))

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing, because the rows are already acknowledged."""

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing: written rows stay, and Spark writes them again."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topic={self._options.topic})"


def write_rows(options: WriteOptions, batches: "Iterable[pa.RecordBatch]") -> WriterCommitMessage:
    from kctl.pipeline.client_pool import TASK_PRODUCERS

    keep_spark_archive()
    with reported_in_one_line(), one_timeout():
        write_batches(
            options.client_properties(),
            batches,
            topic=options.topic,
            with_timestamps=options.keep_timestamps,
            pool=TASK_PRODUCERS,
        )
    return WriterCommitMessage()


def _as_batches(rows: "Iterator[Row]", schema: "StructType") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow_schema = to_arrow_schema(schema)
    held: list[Sequence[Any]] = []

    def batch() -> "pa.RecordBatch":
        columns = [
            pa.array([_plain(row[index]) for row in held], field.type) for index, field in enumerate(arrow_schema)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema)

    for row in rows:
        held.append(row)
        if len(held) >= ROWS_PER_BATCH:
            yield batch()
            held.clear()
    if held:
        yield batch()


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.asDict() if hasattr(value, "asDict") else value
