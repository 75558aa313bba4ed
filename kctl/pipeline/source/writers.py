"""Writing: each task sends its rows and returns once they are acknowledged.

At least once, as with Spark's connector: a task that is tried again sends all of its rows again. Nothing is ever
deleted when a write is aborted.
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
"""Rows that are turned into one Arrow batch where Spark hands over rows."""


class KctlWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Send the rows of one task."""
        return write_rows(self._options, iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Do nothing for the topic: what tasks wrote is acknowledged. Spark has a Python process for this call."""
        keep_spark_archive()
        super().commit(messages)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Do nothing for the topic: what is written stays."""
        keep_spark_archive()
        super().abort(messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topic={self._options.topic})"


class KctlRowStreamWriter(DataSourceStreamWriter):
    """Writes the batches of a stream where Spark hands over rows (4.0)."""

    def __init__(self, options: WriteOptions, schema: "StructType") -> None:
        self._options = options
        self._schema = schema

    def write(self, iterator: "Iterator[Row]") -> WriterCommitMessage:
        """Send the rows of one task."""
        return write_rows(self._options, _as_batches(iterator, self._schema))

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing: what tasks wrote is acknowledged."""

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing: what is written stays, and is written again."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topic={self._options.topic})"


def write_rows(options: WriteOptions, batches: "Iterable[pa.RecordBatch]") -> WriterCommitMessage:
    """Send rows; return once they are acknowledged."""
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
    """Return a value as Arrow takes it: rows within rows as dicts."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.asDict() if hasattr(value, "asDict") else value
