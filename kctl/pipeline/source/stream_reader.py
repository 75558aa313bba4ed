"""Streaming reading: one class for every Spark from 4.0 on, whose ways of asking for offsets differ.

Spark 4.2 and newer hand start and limit to `latestOffset`; before, it is called bare, and the start is what was planned
last: the end of the last `partitions`, also after a restart, where Spark plans the last known offsets first. Offsets
are the JSON of Spark's own connector, {"topic": {"0": 23}}, with sorted keys. One connection to the cluster is kept
for the life of the query; `commit` and `stop` may never come, so nothing depends on them.
Shown by tests/unit/pipeline/test_stream_offsets.py, tests/pipeline/test_source_stream.py and test_source_growing.py,
tests/pipeline_versions.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.cluster import TopicPartition
from kctl.client.errors import InvalidOffsetError
from kctl.pipeline.ranges import OffsetRange, Offsets, Planner, cut_ranges
from kctl.pipeline.source.batch_reader import RangePartition, read_partition
from kctl.pipeline.source.failures import SourceError, told_in_one_line
from kctl.pipeline.source.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

JsonOffsets = dict[str, dict[str, int]]


def _available_now() -> type:
    """Return the class by which Spark 4.2 and newer know that a reader can tell where a query is to end."""
    try:
        found: type = import_module("pyspark.sql.streaming.datasource").SupportsTriggerAvailableNow
    except (ImportError, AttributeError):
        return object
    return found


_AvailableNow: Any = _available_now()


class KctlStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]  # PySpark 4.1 has no such class
    """Reads what the options mean, batch after batch."""

    def __init__(self, options: ReadOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._planner: Planner | None = None
        self._initial: Offsets | None = None
        self._planned: Offsets | None = None
        """The end of what was planned last."""
        self._goal: Offsets | None = None
        """Where a query with the trigger AvailableNow ends."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planner": None}  # connections stay where they are

    # --- offsets ------------------------------------------------------------------------------------------------------

    def initialOffset(self) -> JsonOffsets:
        """Return where a new query starts."""
        with told_in_one_line():
            return as_json(self._first())

    def latestOffset(self, start: JsonOffsets | None = None, limit: Any = None) -> JsonOffsets:
        """Return where the next batch ends: what is there now, within the limit of a trigger."""
        with told_in_one_line():
            end = self._goal if self._goal is not None else self._latest()
            begin = as_offsets(start) if start is not None else self._planned
            if begin is None:
                begin = self._first()
            most = self._options.max_offsets_per_trigger if start is None else _most_rows(limit)
            if most > 0:
                end = self._limited(begin, end, most)
            return as_json(end)

    def getDefaultReadLimit(self) -> Any:
        """Return the limit of a batch, where Spark asks for it (4.2 and newer)."""
        limits: Any = import_module("pyspark.sql.streaming.datasource")  # not there before 4.2
        most = self._options.max_offsets_per_trigger
        return limits.ReadMaxRows(most) if most > 0 else limits.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Take what is there now as the end of the query."""
        with told_in_one_line():
            self._goal = self._latest()

    def reportLatestOffset(self) -> JsonOffsets:
        """Return what is there now, whatever the limits: Spark shows the lag."""
        with told_in_one_line():
            return as_json(self._latest())

    # --- ranges -------------------------------------------------------------------------------------------------------

    def partitions(self, start: JsonOffsets, end: JsonOffsets) -> list[InputPartition]:
        """Return a range for each task of a batch; a partition that is new starts with its first record."""
        starts, ends = as_offsets(start), as_offsets(end)
        self._planned = dict(ends)
        with told_in_one_line():
            planner = self._ready_planner()
            self._check_kept(starts, ends)
            new = [tp for tp in ends if tp not in starts]
            starts |= planner.ends(new, EARLIEST)
            deadline_at_ms = planner.deadline_at_ms()
            whole = [OffsetRange(*tp, starts[tp], offset, deadline_at_ms) for tp, offset in sorted(ends.items())]
            return [RangePartition(each) for each in cut_ranges(whole, self._options.cut)]

    def read(self, partition: InputPartition | None) -> "Iterator[pa.RecordBatch]":
        """Yield the records of one range."""
        return read_partition(self._options, self._columns, partition)

    def commit(self, end: JsonOffsets) -> None:
        """Do nothing: Spark's checkpoint is the memory of a query."""

    def stop(self) -> None:
        """Close the connection; Spark may never call this."""
        if self._planner is not None:
            self._planner.__exit__()
            self._planner = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"

    # --- inside -------------------------------------------------------------------------------------------------------

    def _ready_planner(self) -> Planner:
        if self._planner is None:
            self._planner = Planner(self._options.client_properties())
        else:
            self._planner.restart()
        return self._planner

    def _first(self) -> Offsets:
        if self._initial is None:
            planner = self._ready_planner()
            partitions = planner.partitions(self._options.selection)
            self._initial = planner.resolve(partitions, self._options.start, planner.ends(partitions, LATEST))
        return self._initial

    def _latest(self) -> Offsets:
        planner = self._ready_planner()
        return planner.ends(planner.partitions(self._options.selection), LATEST)

    def _limited(self, begin: Offsets, end: Offsets, most: int) -> Offsets:
        """Return an end with at most `most` offsets, shared out in proportion to what waits in each partition."""
        new = [tp for tp in end if tp not in begin]
        begin = {**begin, **(self._ready_planner().ends(new, EARLIEST) if new else {})}
        return share_out(begin, end, most)

    def _check_kept(self, starts: Offsets, ends: Offsets) -> None:
        """Raise where the log of a partition ends before what was read of it, unless that is allowed."""
        lost = [tp for tp, offset in starts.items() if tp not in ends or ends[tp] < offset]
        if lost and self._options.fail_on_data_loss:
            tp = lost[0]
            now = f"ends at {ends[tp]} now" if tp in ends else "is not there any more"
            text = f"{tp} was read up to {starts[tp]} and {now}; failOnDataLoss=false goes on with what is there"
            raise InvalidOffsetError(text, partitions=tuple(lost))


class RefusedStreamReader(DataSourceStreamReader):
    """Raises what was wrong with the options as soon as Spark asks for anything.

    Raised any earlier, by `streamReader`, Spark shows a mistake of its own instead of the error.
    """

    def __init__(self, error: SourceError) -> None:
        self._error = error

    def initialOffset(self) -> JsonOffsets:
        """Raise the error."""
        with told_in_one_line():
            raise self._error

    def latestOffset(self, *_asked: Any) -> JsonOffsets:
        """Raise the error."""
        return self.initialOffset()

    def partitions(self, *_asked: Any) -> list[InputPartition]:
        """Raise the error."""
        self.initialOffset()
        return []

    def read(self, *_asked: Any) -> "Iterator[pa.RecordBatch]":
        """Raise the error."""
        self.initialOffset()
        return iter(())


def share_out(begin: Mapping[TopicPartition, int], end: Offsets, most: int) -> Offsets:
    """Return an end with at most `most` offsets after `begin`, in proportion to what waits; at least one of each.

    Source: the rate limit of Spark's Kafka connector. Differs: never more than `most`, unless partitions are more.
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
    """Return the number of rows of a limit, 0 where it is another one."""
    return int(getattr(limit, "max_rows", 0) or 0)


def as_json(offsets: Offsets) -> JsonOffsets:
    """Return offsets as Spark keeps them: sorted, for it compares their text."""
    found: JsonOffsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def as_offsets(written: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets of a checkpoint."""
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in written.items()
        for partition, offset in partitions.items()
    }
