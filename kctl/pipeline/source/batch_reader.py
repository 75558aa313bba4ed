"""Batch reading: the driver plans ranges, and each task reads one large or several small ranges.

The reader accepts no filters, because Spark 4.1 stores a pushed filter with the table, and unions and self-joins would
then read the wrong rows.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kctl.pipeline.isolation import as_given
from kctl.pipeline.range_packing import Packing, pack_ranges
from kctl.pipeline.ranges import Cut, OffsetRange, plan_ranges
from kctl.pipeline.source.failures import one_timeout, reported_in_one_line
from kctl.pipeline.source.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.source.decoded_table import SourceDecoding


LEAST_TASKS: Final = 200
"""Minimum number of tasks of a scan before ranges share a task: the default of spark.sql.shuffle.partitions.

A reader cannot query the number of parallel tasks.
"""
MOST_RECORDS: Final = 100_000
"""Maximum number of records in a task with several ranges."""


class RangePartition(InputPartition):
    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(", ".join(map(str, ranges)))
        self.ranges = ranges


def share_tasks(ranges: Sequence[OffsetRange], cut: Cut) -> list[InputPartition]:
    """Return the tasks, each with one range, or with several small ones within the options' limits."""
    most = min(MOST_RECORDS, cut.max_records or MOST_RECORDS)
    packing = Packing(max(LEAST_TASKS, cut.min_partitions), most)
    return [RangePartition(each) for each in pack_ranges(ranges, packing, lambda each: each.size)]


class KctlReader(DataSourceReader):
    """Reader of the ranges that the options select.

    Args:
        columns: column names in the order of the table.
        decoding: decoding of keys and values. None leaves them binary.
    """

    def __init__(self, options: ReadOptions, columns: Sequence[str], decoding: "SourceDecoding | None" = None) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._decoding = decoding

    def partitions(self) -> list[InputPartition]:
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
        return share_tasks(ranges, options.cut)

    def read(self, partition: InputPartition | None) -> "Iterator[pa.RecordBatch]":
        return read_partition(self._options, self._columns, partition, self._decoding)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"


def read_partition(
    options: ReadOptions,
    columns: Sequence[str],
    partition: InputPartition | None,
    decoding: "SourceDecoding | None" = None,
) -> "Iterator[pa.RecordBatch]":
    """Yield the records of one task. The partition None of an empty plan has no records."""
    if not isinstance(partition, RangePartition):
        return
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_ranges
    from kctl.pipeline.spark_archive import keep_spark_archive

    keep_spark_archive()
    with reported_in_one_line(), one_timeout():
        decode = None
        if decoding is not None:
            from kctl.pipeline.decoding.record_decoding import task_decoding

            decode = task_decoding(decoding.plan, columns, decoding.types)
        found = read_ranges(
            as_given(options.client_properties()),
            partition.ranges,
            columns if decode is None else decode.raw_columns,
            fail_on_data_loss=options.fail_on_data_loss,
            pool=TASK_CONSUMERS,
        )
        for _, batches in found:
            yield from batches if decode is None else map(decode.with_errors, batches)
