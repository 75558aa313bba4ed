"""Writer of a stream with Arrow batches, for Spark 4.1 and newer."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from kctl.pipeline.source.options import WriteOptions
from kctl.pipeline.source.writers import write_rows

if TYPE_CHECKING:
    import pyarrow as pa


class KctlStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return write_rows(self._options, iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing, because the rows of tasks are already acknowledged."""

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        """Do nothing: written rows stay, and Spark writes them again."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topic={self._options.topic})"
