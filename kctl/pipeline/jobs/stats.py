"""`stats`: statistics of a topic by partition, from one pass over its columns. Ends are fixed at the start."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.events import EventSink, ignore_events
from kctl.pipeline import isolation
from kctl.pipeline.range_packing import RANGE_BYTES, cut_to, pack_ranges, task_packing
from kctl.pipeline.ranges import OffsetRange, Selection, cut_ranges, plan_ranges
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import OnProgress, ignore_progress, open_session, run_split_counted, start_planning
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.task_rounds import Attempt, Split

if TYPE_CHECKING:
    from kctl.pipeline.record_statistics import RecordStatistics


class StatsRequest(NamedTuple):
    """Parameters of the statistics.

    Attributes:
        range_bytes: size of the log that one task reads, in bytes, approximately.
    """

    topic: str
    properties: Mapping[str, object]
    range_bytes: int = RANGE_BYTES
    events: EventSink = ignore_events


class StatsPlan(NamedTuple):
    """Plan of a run.

    Attributes:
        partitions: whole partitions, including empty ones.
        tasks: ranges of each task.
    """

    partitions: tuple[OffsetRange, ...]
    tasks: tuple[tuple[OffsetRange, ...], ...]
    size_bytes: int

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(each for task in self.tasks for each in task)

    @property
    def offsets(self) -> int:
        return sum(each.size for each in self.ranges)


class PartitionStatistics(NamedTuple):
    range: OffsetRange
    statistics: "RecordStatistics"

    @property
    def gaps(self) -> int:
        """Number of offsets without a record: compacted records, transaction markers, or aborted records."""
        return self.range.size - self.statistics.records


class TopicStatistics(NamedTuple):
    """Statistics of a topic.

    Attributes:
        total: statistics of all partitions together, without offsets.
    """

    partitions: tuple[PartitionStatistics, ...]
    total: "RecordStatistics"

    @property
    def skew(self) -> float | None:
        """Record count of the largest partition divided by the mean. None without records."""
        if not self.total.records:
            return None
        return max(each.statistics.records for each in self.partitions) * len(self.partitions) / self.total.records


def stats(
    request: StatsRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> TopicStatistics:
    """Read a topic once, and return its statistics.

    Args: session, options, on_progress: as for `kctl.pipeline.jobs.export.export`.

    Raises:
        ConfigError: the request is invalid.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: the cluster failed a request.
    """
    options = start_planning(session, options, on_progress)
    plan = plan_stats(request, options, session)
    with ExitStack() as stack:
        if plan.tasks:
            session = session or stack.enter_context(open_session(options, "kctl stats", on_progress))
        return _read(request, plan, session, on_progress)


def plan_stats(
    request: StatsRequest, options: SessionOptions | None = None, session: Session | None = None
) -> StatsPlan:
    """Return the plan of `stats`. Does not start Spark."""
    refuse_plain_secrets(request.properties)
    properties = isolation.of_source(resolve(request.properties))
    whole = plan_ranges(properties, Selection(topics=(request.topic,)), keep_empty=True, events=request.events)
    bytes_each = max(bytes_per_offset(properties, whole).values(), default=0.0)
    packing = task_packing(tasks_at_once(session, options), request.range_bytes)
    pieces = cut_ranges(whole, cut_to(request.range_bytes, bytes_each))
    tasks = pack_ranges(pieces, packing, lambda each: each.size * bytes_each)
    return StatsPlan(tuple(whole), tuple(tasks), round(sum(each.size for each in whole) * bytes_each))


def _read(request: StatsRequest, plan: StatsPlan, session: Session | None, on_progress: OnProgress) -> TopicStatistics:
    from kctl.pipeline.record_statistics import RecordStatistics

    by_partition = {each.partition: RecordStatistics() for each in plan.partitions}
    if session is not None:
        tasks = [_Task(each, dict(request.properties)) for each in plan.tasks]
        split = Split(tasks, [len(task.ranges) for task in tasks], read_statistics)
        sizes = [each.size for each in plan.ranges]
        found = run_split_counted(session, "kctl stats", "reading", split, sizes, on_progress)
        for each, statistics in zip(plan.ranges, found, strict=True):
            by_partition[each.partition] = by_partition[each.partition].then(statistics)
    total = RecordStatistics()
    for statistics in by_partition.values():
        total = total.beside(statistics)
    partitions = tuple(PartitionStatistics(each, by_partition[each.partition]) for each in plan.partitions)
    return TopicStatistics(partitions, total)


class _Task(NamedTuple):
    ranges: tuple[OffsetRange, ...]
    properties: dict[str, object]


def read_statistics(task: _Task, _attempt: Attempt) -> "Iterator[RecordStatistics]":
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_ranges
    from kctl.pipeline.record_statistics import COLUMNS, RecordStatistics, statistics_of

    properties = isolation.of_source(resolve(task.properties))
    for _, batches in read_ranges(properties, task.ranges, COLUMNS, is_exact=True, pool=TASK_CONSUMERS):
        found = RecordStatistics()
        for batch in batches:
            found = found.then(statistics_of(batch))
        yield found
