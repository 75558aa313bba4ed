"""Streaming reading for Spark 4.0 and newer.

Spark before 4.2 passes neither start nor limit to `latestOffset`, so the start is the end of the last `partitions`
call. After a restart, Spark first plans the last known offsets again. Spark may never call `commit` and `stop`, so
nothing depends on them.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import InvalidOffsetError
from kctl.pipeline.isolation import as_given
from kctl.pipeline.ranges import OffsetRange, Offsets, Planner, cut_ranges
from kctl.pipeline.source.batch_reader import read_partition, share_tasks
from kctl.pipeline.source.failures import SourceError, reported_in_one_line
from kctl.pipeline.source.group_progress import GroupProgress
from kctl.pipeline.source.options import ReadOptions
from kctl.pipeline.source.stream_offsets import JsonOffsets, StreamOffsets, as_json, as_offsets

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.source.decoded_table import SourceDecoding

_log = logging.getLogger("kctl.pipeline")
COMMIT_AGAIN_MS = 30_000
"""Time in ms after a failed commit to a group during which no commit is sent."""


def _available_now() -> type:
    try:
        found: type = import_module("pyspark.sql.streaming.datasource").SupportsTriggerAvailableNow
    except (ImportError, AttributeError):
        return object
    return found


_AvailableNow: Any = _available_now()


class KctlStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]  # PySpark 4.1 has no such class
    """Reader of the batches of a streaming query."""

    def __init__(self, options: ReadOptions, columns: Sequence[str], decoding: "SourceDecoding | None" = None) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._decoding = decoding
        self._planner: Planner | None = None
        self._group: GroupProgress | None = None
        self._initial: StreamOffsets | None = None
        self._planned: StreamOffsets | None = None
        """End of the last planned batch."""
        self._goal: StreamOffsets | None = None
        """End of a query with the trigger AvailableNow."""
        self._clock = SystemClock()
        self._triggered_at_ms = -options.max_trigger_delay_ms
        self._commit_at_ms = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planner": None, "_group": None}  # connections cannot be pickled

    # --- offsets ------------------------------------------------------------------------------------------------------

    def initialOffset(self) -> JsonOffsets:
        with reported_in_one_line():
            self._check_group()
            return as_json(self._first())

    def latestOffset(self, start: JsonOffsets | None = None, limit: Any = None) -> JsonOffsets:
        """Return the end of the next batch: the current ends of the partitions, limited by the trigger's options."""
        with reported_in_one_line():
            self._check_group()
            end = self._goal if self._goal is not None else self._latest()
            begin = as_offsets(start) if start is not None else self._planned
            if begin is None:
                begin = self._first()
            end = self._not_before(begin, end)
            self._commit_progress(begin)  # Spark requests an end when the batch before is durable
            if self._is_too_early(begin, end):
                return as_json(begin)
            most = self._options.max_offsets_per_trigger if start is None else _most_rows(limit)
            if most > 0:
                end = self._limited(begin, end, most)
            return as_json(end._replace(starts=begin.offsets) if begin.is_initial else end)

    def getDefaultReadLimit(self) -> Any:
        limits: Any = import_module("pyspark.sql.streaming.datasource")  # missing before 4.2
        most = self._options.max_offsets_per_trigger
        return limits.ReadMaxRows(most) if most > 0 else limits.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        with reported_in_one_line():
            self._goal = self._latest()

    def reportLatestOffset(self) -> JsonOffsets:
        """Return the current ends without limits, from which Spark calculates the lag."""
        with reported_in_one_line():
            return as_json(self._latest())

    # --- ranges -------------------------------------------------------------------------------------------------------

    def partitions(self, start: JsonOffsets, end: JsonOffsets) -> list[InputPartition]:
        """Return the tasks of a batch. A new partition starts with its first record."""
        begin, until = as_offsets(start), as_offsets(end)
        if begin.is_initial:
            begin = begin.first_batch_to(until)
        self._planned = until
        with reported_in_one_line():
            starts = self._starts(begin, until)
            whole = [
                OffsetRange(*tp, starts[tp], offset, until.topic_id(tp.topic), until.point(tp).log_end)
                for tp, offset in sorted(until.offsets.items())
            ]
            return share_tasks(cut_ranges(whole, self._options.cut), self._options.cut)

    def read(self, partition: InputPartition | None) -> "Iterator[pa.RecordBatch]":
        return read_partition(self._options, self._columns, partition, self._decoding)

    def commit(self, end: JsonOffsets) -> None:
        """Commit progress to the group. The state of the query is in Spark's checkpoint.

        Spark calls this for durable batches, but only when it plans the next one.
        """
        self._commit_progress(as_offsets(end))

    def stop(self) -> None:
        for open_client in (self._planner, self._group):
            if open_client is not None:
                open_client.__exit__()
        self._planner = self._group = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"

    # --- inside -------------------------------------------------------------------------------------------------------

    def _ready_planner(self) -> Planner:
        if self._planner is None:
            self._planner = Planner(as_given(self._options.client_properties()))
        else:
            self._planner.restart()
        return self._planner

    def _check_group(self) -> None:
        if self._options.commit_to_group is not None and self._group is None:
            group = GroupProgress(self._options.client_properties(), self._options.commit_to_group)
            group.check()
            self._group = group

    def _commit_progress(self, durable: StreamOffsets) -> None:
        if self._group is None or self._clock.now_ms() < self._commit_at_ms:
            return
        if problem := self._group.commit(durable.offsets):
            self._commit_at_ms = self._clock.now_ms() + COMMIT_AGAIN_MS
            _log.warning("kctl: %s", problem)

    def _first(self) -> StreamOffsets:
        if self._initial is None:
            planner = self._ready_planner()
            partitions = planner.partitions(self._options.selection)
            ends = planner.ends(partitions, LATEST)
            starts = planner.resolve(partitions, self._options.start, ends)
            self._initial = StreamOffsets(starts, planner.topic_ids, ends, starts)
        return self._initial

    def _latest(self) -> StreamOffsets:
        planner = self._ready_planner()
        ends = planner.ends(planner.partitions(self._options.selection), LATEST)
        return StreamOffsets(ends, planner.topic_ids, ends)

    def _is_too_early(self, begin: StreamOffsets, end: StreamOffsets) -> bool:
        """Return whether a batch must wait for minOffsetsPerTrigger. As in Spark's connector, the first never waits."""
        now_ms = self._clock.now_ms()
        new = sum(max(0, offset - begin.offsets.get(tp, 0)) for tp, offset in end.offsets.items())
        due_at_ms = self._triggered_at_ms + self._options.max_trigger_delay_ms
        if new < self._options.min_offsets_per_trigger and now_ms < due_at_ms:
            return True
        self._triggered_at_ms = now_ms
        return False

    def _not_before(self, begin: StreamOffsets, end: StreamOffsets) -> StreamOffsets:
        """Return an end that is not before the start of the batch, so that no records are read twice.

        With read_committed, the end can precede an earlier position while a transaction is open.
        """
        if all(offset >= begin.offsets.get(tp, 0) for tp, offset in end.offsets.items()):
            return end
        starts = self._starts(begin, end)
        hidden = {tp: starts[tp] for tp, offset in end.offsets.items() if offset < starts.get(tp, 0)}
        log_ends = {tp: max(offset, begin.point(tp).log_end) for tp, offset in hidden.items() if tp in begin.offsets}
        return end._replace(offsets=end.offsets | hidden, log_ends=end.log_ends | log_ends)

    def _limited(self, begin: StreamOffsets, end: StreamOffsets, most: int) -> StreamOffsets:
        return end._replace(offsets=share_out(self._starts(begin, end), end.offsets, most))

    def _starts(self, begin: StreamOffsets, end: StreamOffsets) -> Offsets:
        starts: Offsets = {}
        log_ends = self._log_ends(begin, end)
        for tp, offset in begin.offsets.items():
            problem = f"partition {tp} was deleted after the query read it up to offset {offset}"
            if tp in end.offsets:
                problem = begin.point(tp).problem(*tp, end.topic_id(tp.topic), log_ends[tp])
            if problem and self._options.fail_on_data_loss:
                raise _loss(problem, tp)
            if not problem:
                starts[tp] = offset
        added = [tp for tp in end.offsets if tp not in starts]
        if not added:
            return starts
        nothing = {} if self._options.fail_on_data_loss else {tp: end.offsets[tp] for tp in added}
        first = nothing | self._ready_planner().ends(added, EARLIEST, skip_unknown=bool(nothing))
        gone = [tp for tp, offset in first.items() if offset > 0]
        if gone and self._options.fail_on_data_loss:
            raise _loss(
                f"partition {gone[0]} was added, but its records before offset {first[gone[0]]} are deleted", *gone
            )
        return starts | first

    def _log_ends(self, begin: StreamOffsets, end: StreamOffsets) -> Offsets:
        known = {tp: max(offset, end.point(tp).log_end) for tp, offset in end.offsets.items()}
        points = {tp: begin.point(tp) for tp in known if tp in begin.offsets}
        return self._ready_planner().log_ends(points, known) if points else known


def _loss(problem: str, *partitions: TopicPartition) -> InvalidOffsetError:
    text = f"{problem}. To read the remaining records, set failOnDataLoss=false"
    return InvalidOffsetError(text, partitions=partitions)


class RefusedStreamReader(DataSourceStreamReader):
    """Reader that raises an error of the options in every method.

    If `streamReader` raised the error, Spark would show an internal error instead.
    """

    def __init__(self, error: SourceError) -> None:
        self._error = error

    def initialOffset(self) -> JsonOffsets:
        with reported_in_one_line():
            raise self._error

    def latestOffset(self, *_asked: Any) -> JsonOffsets:
        return self.initialOffset()

    def partitions(self, *_asked: Any) -> list[InputPartition]:
        self.initialOffset()
        return []

    def read(self, *_asked: Any) -> "Iterator[pa.RecordBatch]":
        self.initialOffset()
        return iter(())


def share_out(begin: Mapping[TopicPartition, int], end: Offsets, most: int) -> Offsets:
    """Return an end with at most `most` offsets after `begin`, divided in proportion to the waiting offsets.

    Like the rate limit of Spark's Kafka connector, each partition gets at least one offset. Unlike it, never returns
    more than `most` unless there are more partitions.
    """
    waiting = {tp: max(0, offset - begin[tp]) for tp, offset in end.items()}
    total = sum(waiting.values())
    if total <= most:
        return end
    return {
        tp: begin[tp] + max(1, waiting[tp] * most // total) if waiting[tp] else min(begin[tp], offset)
        for tp, offset in end.items()
    }


def _most_rows(limit: Any) -> int:
    return int(getattr(limit, "max_rows", 0) or 0)
