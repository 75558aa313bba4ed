"""`export`: topics into files, with each record exactly once even if processes are killed.

The driver determines the end of each partition, and cuts the offsets that the target lacks into ranges. Tasks read the
ranges in rounds. The target commits each round with the positions for the next run.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.config import RegistryConfig
from kctl.client.errors import ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.client.topic_names import is_topic_name, shown_topic_name
from kctl.pipeline import isolation
from kctl.pipeline.bad_record_policies import FAIL, POLICIES
from kctl.pipeline.export_files.bad_records import POLICY
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts
from kctl.pipeline.export_files.folder import COLUMN_LAYOUT, FORMATS, LAYOUTS
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.job_errors import ExportDataError, listed
from kctl.pipeline.jobs.export_rounds import ROUND_MS, ExportResult, ExportRounds
from kctl.pipeline.jobs.topic_decoding import TopicDecoding
from kctl.pipeline.locations import Location
from kctl.pipeline.range_order import interleaved
from kctl.pipeline.range_packing import RANGE_BYTES, pack_ranges, task_packing
from kctl.pipeline.ranges import (
    FROM_EARLIEST,
    Cut,
    OffsetRange,
    Offsets,
    Planner,
    RangeBound,
    Selection,
    cut_ranges,
)
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import (
    JobProgress,
    OnProgress,
    ignore_progress,
    open_session,
    start_planning,
)
from kctl.pipeline.session import Session, SessionOptions, check_packages, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.targets import FileKind, Target, facts_in, open_target

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodeRequest

INTERVAL_MS = 10_000
LEVELS = (1, 22)


class ExportRequest(NamedTuple):
    selection: Selection
    folder: Location
    properties: Mapping[str, object]
    format: str = "parquet"
    layout: str = "topic"
    start: RangeBound = FROM_EARLIEST
    range_bytes: int = RANGE_BYTES
    min_tasks: int = 0
    interval_ms: int | None = None
    allow_loss: bool = False
    compression_level: int = 1
    file_bytes: int = 0
    events: EventSink = ignore_events
    decode: "DecodeRequest | None" = None
    groups: GroupSelection = GroupSelection()
    on_bad_record: str = FAIL
    round_ms: int = ROUND_MS

    @property
    def settings(self) -> dict[str, str]:
        decoding = {} if self.decode is None else {"decode": self.decode.text}
        policy = {} if self.on_bad_record == FAIL else {POLICY: self.on_bad_record}
        return {"format": self.format, "layout": self.layout, **decoding, **policy}

    @property
    def kind(self) -> FileKind:
        return FileKind(self.layout, self.format, self.compression_level, self.file_bytes)

    def separated(self) -> "ExportRequest":
        """Return the request with schema registry properties moved from `properties` to `decode`."""
        names = RegistryConfig.names()
        registry = tuple((name, value) for name, value in self.properties.items() if name in names)
        return self._replace(
            properties={name: value for name, value in self.properties.items() if name not in names},
            decode=None if self.decode is None else self.decode._replace(registry=registry or self.decode.registry),
        )


class ExportPlan(NamedTuple):
    """Plan of a run.

    Attributes:
        tasks: ranges of each task, in execution order.
        topic_bytes: dict from topic to approximate bytes in the log.
        resumed: number of partitions that earlier runs have exported.
    """

    tasks: tuple[tuple[OffsetRange, ...], ...]
    topic_bytes: Mapping[str, int]
    resumed: int

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(each for task in self.tasks for each in task)

    @property
    def offsets(self) -> int:
        return sum(each.size for each in self.ranges)


# --- the driver -----------------------------------------------------------------------------------------------------


def export(
    request: ExportRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> ExportResult:
    """Export records that the target lacks, and return the counts.

    Args:
        session: a Spark session, which stays open. None starts one with `options`.
        on_progress: called in this thread with the progress.

    Raises:
        ConfigError: the request is invalid.
        FolderError: the directory cannot be read or written, or belongs to another export.
        ExportDataError: records were deleted before they were exported.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: the cluster failed a request. ApiTimeout: no data arrived within default.api.timeout.ms.
    """
    request = request.separated()
    check(request)
    target = open_target(request.folder, request.properties)
    settings = request.settings
    options = start_planning(session, options, on_progress)
    with ExitStack() as stack:
        planner = stack.enter_context(Planner(isolation.of_source(resolve(request.properties)), events=request.events))
        target.read()
        facts = facts_for(request, planner)  # before the ends, so that groups are not past them
        plan = make_plan(request, planner, target, tasks_at_once(session, options))
        planned_after = target.last_number
        decoding = TopicDecoding(request.decode, request.properties, request.layout)
        decoding.fit(plan.ranges, target)
        is_done = not plan.ranges and request.interval_ms is None and not _are_new(request, facts)
        target.claim(system_runtime().entropy.token_bytes(8).hex(), settings, takes_over=not is_done)
        stack.callback(target.leave)
        if target.last_number != planned_after:  # another run has added rounds in the meantime
            plan = make_plan(request, planner, target, tasks_at_once(session, options))
        if not plan.ranges and request.interval_ms is None:
            if _are_new(request, facts):  # a round without records
                target.begin(1, request.kind)
                target.commit((), request.settings, facts)
            return ExportResult()
        running = session or stack.enter_context(open_session(options, "kctl export", on_progress))
        job = ExportRounds(request, target, decoding, running, on_progress)
        job.run(plan, facts)
        known = set(facts.topics)
        while request.interval_ms is not None:
            on_progress(JobProgress("waiting for records", records=job.done, lag=0))
            threading.Event().wait(request.interval_ms / 1000)
            planner.restart()
            facts = facts_for(request, planner) if request.groups else NO_FACTS
            plan = make_plan(request, planner, target, running.parallelism)
            if not request.groups and not plan.topic_bytes.keys() <= known:  # new topics that match the pattern
                facts = facts_for(request, planner)
                known |= facts.topics.keys()
            job.run(plan, facts)
        return job.result


def facts_for(request: ExportRequest, planner: Planner) -> ClusterFacts:
    topics = {tp.topic for tp in planner.partitions(request.selection)}
    from kctl.pipeline.jobs.cluster_facts import read_facts

    with Admin(resolve(request.properties), events=request.events) as admin:
        return read_facts(admin, topics, request.groups)


def _are_new(request: ExportRequest, facts: ClusterFacts) -> bool:
    known = facts_in(request.folder, request.properties)
    if not known.topics.keys() >= facts.topics.keys():
        return True
    return any(known.groups.get(group) != offsets for group, offsets in facts.groups.items())


def plan_export(request: ExportRequest, options: SessionOptions | None = None) -> ExportPlan:
    """Return the plan of `export`, without side effects and without Spark."""
    request = request.separated()
    check(request)
    target = open_target(request.folder, request.properties)
    target.read()
    with Planner(isolation.of_source(resolve(request.properties)), events=request.events) as planner:
        plan = make_plan(request, planner, target, tasks_at_once(None, options))
    TopicDecoding(request.decode, request.properties, request.layout).fit(plan.ranges, target)
    target.check(request.settings)
    return plan


def check(request: ExportRequest) -> None:
    """Raise ConfigError if a request is invalid, or SparkMissingError if its layout needs a missing package."""
    for name, value, words in (
        ("format", request.format, tuple(FORMATS)),
        ("layout", request.layout, LAYOUTS),
        ("on_bad_record", request.on_bad_record, POLICIES),
    ):
        if name == "layout" and value.startswith(COLUMN_LAYOUT):
            check_packages()  # the types of columns are types of pyarrow
            continue
        if value not in words:
            raise ConfigError(f"invalid {name} {value!r}: use one of {', '.join(words)}", key=name)
    low, high = LEVELS
    if not low <= request.compression_level <= high:
        raise ConfigError(f"invalid zstd compression level '{request.compression_level}': use {low} to {high}")
    if request.round_ms <= 0:
        raise ConfigError("the round time must be at least 1ms")
    if request.range_bytes <= 0 or request.file_bytes < 0:
        raise ConfigError("the range size must be at least 1 byte, and the file size cannot be negative")
    refuse_plain_secrets(request.properties)
    if request.decode is not None:
        _check_decoding(request.format, dict(request.decode.registry))


def _check_decoding(format_: str, registry: Mapping[str, object]) -> None:
    from kctl.pipeline.decoding.plan import check_registry

    if format_ != "parquet":
        raise ConfigError(f"invalid format {format_!r} for decoded columns: use parquet", key="format")
    check_registry(registry)
    refuse_plain_secrets(registry)


class Batch(NamedTuple):
    """Limits of a stream's batch.

    Attributes:
        ends: end of each partition. Other partitions are not exported.
        starts: start of partitions that are not in the target. Others start with their first record.
    """

    ends: Offsets
    starts: Offsets


def make_plan(
    request: ExportRequest, planner: Planner, target: Target, at_once: int, batch: Batch | None = None
) -> ExportPlan:
    """Return the plan for offsets that are not exported yet.

    Args:
        batch: earlier ends than the current ones. None uses the current ends.
    """
    partitions = wanted_partitions(request, planner, batch)
    whole, resumed = _unexported(request, planner, target, partitions, batch)
    per_offset = bytes_per_offset(isolation.of_source(resolve(request.properties)), whole)
    return ExportPlan(tuple(_tasks(request, whole, per_offset, at_once)), _topic_bytes(whole, per_offset), resumed)


def wanted_partitions(request: ExportRequest, planner: Planner, batch: Batch | None = None) -> list[TopicPartition]:
    """Return the selected partitions, limited to the partitions of a batch."""
    partitions = planner.partitions(request.selection)
    if batch is not None:
        gone = sorted(batch.ends.keys() - set(partitions))
        if gone and not request.allow_loss:
            raise ExportDataError(
                f"cannot export deleted partitions: {listed(gone)}",
                "export the remaining records with: --allow-loss",
            )
        partitions = [tp for tp in partitions if tp in batch.ends]
    for topic in {tp.topic for tp in partitions}:
        if not is_topic_name(topic):
            raise ConfigError(f"cannot export topic {shown_topic_name(topic)}: its name is not a valid directory name")
    if not partitions and request.interval_ms is None:
        matched = f"no topic matches {request.selection.pattern}"
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "export topics", matched)
    return partitions


def _unexported(
    request: ExportRequest, planner: Planner, target: Target, partitions: list[TopicPartition], batch: Batch | None
) -> tuple[list[OffsetRange], int]:
    """Return the range of each partition that is not exported yet, and the number of partitions that are partly
    exported.
    """
    earliest, latest = planner.ends(partitions, EARLIEST), planner.ends(partitions, LATEST)
    points = {TopicPartition(*key): point for key, point in target.resume_points(partitions).items()}
    topic_ids = planner.topic_ids
    fresh = [tp for tp in partitions if tp not in points]
    ends = latest
    if batch is None:
        starts = planner.resolve(fresh, request.start, latest)
    else:
        ends = {tp: min(batch.ends[tp], latest[tp]) for tp in partitions}
        starts = {tp: batch.starts.get(tp, earliest[tp]) for tp in fresh}
        for tp in fresh:
            resumed_start(tp, starts[tp], earliest[tp], allow_loss=request.allow_loss)
    resumed = [tp for tp in partitions if tp in points]
    log_ends = planner.log_ends({tp: points[tp] for tp in resumed}, latest)
    for tp in resumed:
        if problem := points[tp].problem(*tp, topic_ids[tp.topic], log_ends[tp]):
            raise ExportDataError(problem, "export the topic to another location")
        starts[tp] = resumed_start(tp, points[tp].offset, earliest[tp], allow_loss=request.allow_loss)
    whole = [
        OffsetRange(*tp, max(starts[tp], earliest[tp]), ends[tp], topic_ids[tp.topic], latest[tp])
        for tp in partitions
        if max(starts[tp], earliest[tp]) < ends[tp]
    ]
    return whole, len(resumed)


def _tasks(
    request: ExportRequest, whole: Sequence[OffsetRange], per_offset: Mapping[str, float], at_once: int
) -> list[tuple[OffsetRange, ...]]:
    range_bytes = max(request.range_bytes, request.file_bytes)
    ranges = [
        piece
        for each in whole
        for piece in cut_ranges([each], Cut(max_records=_records(range_bytes, per_offset[each.topic])))
    ]
    ranges = cut_ranges(ranges, Cut(min_partitions=request.min_tasks or at_once))
    packing = task_packing(at_once, range_bytes)
    packing = packing._replace(least_tasks=max(packing.least_tasks, request.min_tasks))
    return pack_ranges(list(interleaved(ranges)), packing, lambda each: each.size * per_offset[each.topic])


def _topic_bytes(whole: Sequence[OffsetRange], per_offset: Mapping[str, float]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for each in whole:
        sizes[each.topic] = sizes.get(each.topic, 0) + int(each.size * per_offset[each.topic])
    return sizes


def resumed_start(tp: TopicPartition, point: int, first: int, *, allow_loss: bool) -> int:
    """Return `point`, the end of a partition's export. Raise ExportDataError if offsets after it were deleted."""
    if point < first and not allow_loss:
        raise ExportDataError(
            f"cannot export offsets {point} to {first - 1} of {tp}: they were deleted",
            "export the remaining records with: --allow-loss",
        )
    return point


def _records(range_bytes: int, bytes_each: float) -> int:
    return max(1, int(range_bytes / bytes_each)) if bytes_each > 0 else 0
