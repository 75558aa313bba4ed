"""Batch reading: the driver plans ranges, each task reads one.

The reader takes no filters from Spark: Spark 4.1 keeps a pushed filter with the table, which two scans of one query
share, so a union or self-join would read the wrong rows.
Shown by tests/pipeline/test_source_read.py.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kctl.pipeline.isolation import as_given
from kctl.pipeline.ranges import OffsetRange, plan_ranges
from kctl.pipeline.source.failures import one_timeout, reported_in_one_line
from kctl.pipeline.source.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.source.decoded_table import SourceDecoding


class RangePartition(InputPartition):
    """One offset range, for one task."""

    def __init__(self, offset_range: OffsetRange) -> None:
        super().__init__(str(offset_range))
        self.range = offset_range


class KctlReader(DataSourceReader):
    """Reads the columns of the ranges that the options mean.

    Args:
        options: what to read.
        columns: names of the columns, in the order of the table.
        decoding: how keys and values are decoded; None: they are binary.
    """

    def __init__(self, options: ReadOptions, columns: Sequence[str], decoding: "SourceDecoding | None" = None) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._decoding = decoding

    def partitions(self) -> list[InputPartition]:
        """Return a range for each task, found out now."""
        options = self._options
        with reported_in_one_line():
            ranges = plan_ranges(
                as_given(options.client_properties()),
                options.selection,
                options.start,
                options.end,
                cut=options.cut,
                fail_on_data_loss=options.fail_on_data_loss,
            )
        return [RangePartition(each) for each in ranges]

    def read(self, partition: InputPartition | None) -> "Iterator[pa.RecordBatch]":
        """Yield the records of one range."""
        return read_partition(self._options, self._columns, partition, self._decoding)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"


def read_partition(
    options: ReadOptions,
    columns: Sequence[str],
    partition: InputPartition | None,
    decoding: "SourceDecoding | None" = None,
) -> "Iterator[pa.RecordBatch]":
    """Yield the records of one range; Spark makes a partition None of an empty plan."""
    if not isinstance(partition, RangePartition):
        return
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_range
    from kctl.pipeline.spark_archive import keep_spark_archive

    keep_spark_archive()
    with reported_in_one_line(), one_timeout():
        decode = None
        if decoding is not None:
            from kctl.pipeline.decoding.record_decoding import task_decoding

            decode = task_decoding(decoding.plan, columns, decoding.types)
        batches = read_range(
            as_given(options.client_properties()),
            partition.range,
            columns if decode is None else decode.raw_columns,
            fail_on_data_loss=options.fail_on_data_loss,
            pool=TASK_CONSUMERS,
        )
        yield from batches if decode is None else map(decode.with_errors, batches)
