"""`export`: topics into files, each record exactly once, whatever is killed on the way.

The driver fixes where each partition ends, cuts what is missing into ranges, and runs them in rounds; a task writes one
range (`export_files.range_files`), and a round becomes part of the export when its target commits it (`targets`). The
target is also what knows where the next run continues. Of a round that fails or is interrupted what can be kept is
kept: of each partition the ranges from its beginning without a hole.
Shown by tests/pipeline/test_export.py, test_export_faults.py and, on a cluster, test_cluster.py.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.config import RegistryConfig
from kctl.client.errors import ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.client.topic_names import is_topic_name, shown_topic_name
from kctl.pipeline.export_files.folder import ERRORS, FORMATS, LAYOUTS
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.locations import Location, StoreUrl
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import (
    FROM_EARLIEST,
    Cut,
    OffsetRange,
    Place,
    Planner,
    Selection,
    cut_ranges,
)
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import (
    Attempt,
    OnProgress,
    Progress,
    TaskCounts,
    ignore_progress,
    open_session,
    run_tasks,
)
from kctl.pipeline.session import Session, SessionOptions, check_installed
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.targets import FileKind, RoundPlace, Target, open_target

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodePlan, DecodeRequest

RANGE_BYTES = 64 * 1024 * 1024
ROUND_TASKS = 32
"""Ranges of a round for each task that runs at once: the end of a round, where some of them have nothing to do, is
then a small part of it."""
INTERVAL_MS = 10_000
LEVELS = (1, 22)
CLUSTER_TASKS = 8
"""The least number of ranges while it is unknown how many tasks a cluster runs at once."""


class ExportRequest(NamedTuple):
    """What is to be exported, and how.

    Attributes:
        selection: which partitions.
        folder: where the export is: a folder, which on a cluster the driver and all workers see under this path, or
            another location (`kctl.pipeline.locations`).
        properties: Kafka properties; secrets as references (`kctl.pipeline.references`).
        format: `parquet` or `json`. layout: `topic`, `date` or `hour`: what folders there are below a topic's.
        start: where partitions begin that have not been exported before.
        range_bytes: about how many bytes, as they lie in the log, one task reads.
        min_tasks: the least number of ranges; 0 for as many as run at once.
        interval_ms: None: up to the ends at the start; else for ever, with a look for new records so often.
        allow_loss: continue where records were deleted before they were exported; otherwise that is an error.
        compression_level: of zstd.
        events: takes the events of the client that plans.
        decode: keys or values to be decoded into columns; None: they stay bytes.
    """

    selection: Selection
    folder: Location
    properties: Mapping[str, object]
    format: str = "parquet"
    layout: str = "topic"
    start: Place = FROM_EARLIEST
    range_bytes: int = RANGE_BYTES
    min_tasks: int = 0
    interval_ms: int | None = None
    allow_loss: bool = False
    compression_level: int = 1
    events: EventSink = ignore_events
    decode: "DecodeRequest | None" = None

    @property
    def settings(self) -> dict[str, str]:
        """What all rounds of an export share."""
        decoding = {} if self.decode is None else {"decode": self.decode.text}
        return {"format": self.format, "layout": self.layout, **decoding}

    def separated(self) -> "ExportRequest":
        """Return it with the properties of a schema registry taken out of those of Kafka."""
        names = RegistryConfig.names()
        registry = tuple((name, value) for name, value in self.properties.items() if name in names)
        return self._replace(
            properties={name: value for name, value in self.properties.items() if name not in names},
            decode=None if self.decode is None else self.decode._replace(registry=registry or self.decode.registry),
        )


class ExportPlan(NamedTuple):
    """What a run would do.

    Attributes:
        ranges: one task each, in the order in which they are begun.
        topic_bytes: about how many bytes each topic's ranges have in the log.
        resumed: partitions that continue where an earlier run has ended.
    """

    ranges: tuple[OffsetRange, ...]
    topic_bytes: Mapping[str, int]
    resumed: int

    @property
    def offsets(self) -> int:
        return sum(each.size for each in self.ranges)


class ExportResult(NamedTuple):
    """What has become part of the export in this run."""

    ranges: int = 0
    records: int = 0
    files: int = 0
    size_bytes: int = 0
    rounds: int = 0
    gaps: int = 0
    """Offsets without a record: compacted, of a transaction's end, or of one that was aborted."""
    undecoded: int = 0
    """Of the records, those that do not decode; they are in the folder of errors."""

    def plus(self, ranges: Sequence[ExportedRange]) -> "ExportResult":
        files = [file for each in ranges for file in each.files]
        return ExportResult(
            self.ranges + len(ranges),
            self.records + sum(each.records for each in ranges),
            self.files + len(files),
            self.size_bytes + sum(file.size_bytes for file in files),
            self.rounds + 1,
            self.gaps + sum(each.end - each.start - each.records for each in ranges),
            self.undecoded + sum(file.records for file in files if file.path.startswith(f"{ERRORS}/")),
        )


# --- the driver -----------------------------------------------------------------------------------------------------


def export(
    request: ExportRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> ExportResult:
    """Export what is not exported yet, and return what was.

    Args:
        session: a running Spark, which stays as it is; None to start one for this job.
        options: how to start it.
        on_progress: called in this thread with what is done.
    Raises:
        ConfigError: something about the request. FolderError: the folder. ExportDataError: records that are gone.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark.
        KafkaError: the cluster; ApiTimeout when nothing came within default.api.timeout.ms.
    """
    options = options or SessionOptions()
    request = request.separated()
    check(request)
    target = open_target(request.folder, request.properties)
    settings = request.settings
    if session is None:
        check_installed()
    on_progress(Progress("planning"))
    with ExitStack() as stack:
        planner = stack.enter_context(Planner(resolve(request.properties), events=request.events))
        target.read()
        plan = make_plan(request, planner, target, tasks_at_once(session, options))
        planned_after = target.last_number
        target.claim(system_runtime().entropy.token_bytes(8).hex(), settings)
        stack.callback(target.leave)
        if target.last_number != planned_after:  # another run has added to it meanwhile
            plan = make_plan(request, planner, target, tasks_at_once(session, options))
        if not plan.ranges and request.interval_ms is None:
            return ExportResult()
        decoding = TopicDecoding(request.decode, request.properties)
        decoding.add(plan.ranges)
        running = session or stack.enter_context(open_session(options, "kctl export", on_progress))
        job = _Export(request, target, decoding, running, on_progress)
        job.run(plan)
        while request.interval_ms is not None:
            on_progress(Progress("waiting for records", records=job.done, lag=0))
            threading.Event().wait(request.interval_ms / 1000)
            planner.restart()
            job.run(make_plan(request, planner, target, running.parallelism))
        return job.result


def plan_export(request: ExportRequest, options: SessionOptions | None = None) -> ExportPlan:
    """Return what `export` would do, without Spark and without touching the folder. Raises as `export`."""
    request = request.separated()
    check(request)
    target = open_target(request.folder, request.properties)
    target.read()
    with Planner(resolve(request.properties), events=request.events) as planner:
        plan = make_plan(request, planner, target, tasks_at_once(None, options or SessionOptions()))
    TopicDecoding(request.decode, request.properties).add(plan.ranges)
    target.check(request.settings)
    return plan


def check(request: ExportRequest) -> None:
    """Raise ConfigError for what no export can be."""
    for name, value, words in (
        ("format", request.format, tuple(FORMATS)),
        ("layout", request.layout, LAYOUTS),
    ):
        if value not in words:
            raise ConfigError(f"{name} {value!r}: there are {', '.join(words)}", key=name)
    low, high = LEVELS
    if not low <= request.compression_level <= high:
        raise ConfigError(f"the level of zstd is {low} to {high}, not {request.compression_level}")
    if request.range_bytes <= 0:
        raise ConfigError("a range has at least a byte")
    refuse_plain_secrets(request.properties)
    if request.decode is not None:
        if request.format != "parquet":
            raise ConfigError(f"decoded columns are written to Parquet, not {request.format}", key="format")
        if not isinstance(request.folder, Path | StoreUrl):
            raise ConfigError("decoded columns are written to files, not yet to lake tables", key="decode")
        from kctl.pipeline.decoding.plan import check_registry

        check_registry(dict(request.decode.registry))
        refuse_plain_secrets(dict(request.decode.registry))


def tasks_at_once(session: Session | None, options: SessionOptions) -> int:
    """Return how many tasks run at once, as far as that is known."""
    if session is not None:
        return session.parallelism
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", options.master)
    if local is None:
        return CLUSTER_TASKS
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def make_plan(request: ExportRequest, planner: Planner, target: Target, at_once: int) -> ExportPlan:
    """Return the ranges between what is exported and what there is, in the order in which to run them."""
    partitions = planner.partitions(request.selection)
    for topic in {tp.topic for tp in partitions}:
        if not is_topic_name(topic):
            raise ConfigError(f"{shown_topic_name(topic)} is not a legal topic name, and cannot name a folder")
    if not partitions and request.interval_ms is None:
        matched = f"no topic matches {request.selection.pattern}"
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "export", matched)
    earliest, latest = planner.ends(partitions, EARLIEST), planner.ends(partitions, LATEST)
    points = {TopicPartition(*key): point for key, point in target.resume_points(partitions).items()}
    topic_ids = planner.topic_ids
    fresh = [tp for tp in partitions if tp not in points]
    starts = planner.resolve(fresh, request.start, latest)
    resumed = [tp for tp in partitions if tp in points]
    for tp in resumed:
        if problem := points[tp].problem(*tp, topic_ids[tp.topic], latest[tp]):
            raise ExportDataError(problem, "export it to another folder")
        starts[tp] = resumed_start(tp, points[tp].offset, earliest[tp], allow_loss=request.allow_loss)
    whole = [
        OffsetRange(*tp, max(starts[tp], earliest[tp]), latest[tp], topic_ids[tp.topic], latest[tp])
        for tp in partitions
        if starts[tp] < latest[tp]
    ]
    per_offset = bytes_per_offset(resolve(request.properties), whole)
    ranges = [
        piece
        for each in whole
        for piece in cut_ranges([each], Cut(max_records=_records(request.range_bytes, per_offset[each.topic])))
    ]
    ranges = cut_ranges(ranges, Cut(min_partitions=request.min_tasks or at_once))
    sizes: dict[str, int] = {}
    for each in ranges:
        sizes[each.topic] = sizes.get(each.topic, 0) + int(each.size * per_offset[each.topic])
    return ExportPlan(tuple(interleaved(ranges)), sizes, len(resumed))


def resumed_start(tp: TopicPartition, point: int, first: int, *, allow_loss: bool) -> int:
    """Return where a partition continues that is exported up to `point`; ExportDataError when that cannot be."""
    if point < first and not allow_loss:
        raise ExportDataError(
            f"{tp}: offsets {point} to {first - 1} were deleted before they were exported",
            "--allow-loss continues with the records that are left",
        )
    return point


def _records(range_bytes: int, bytes_each: float) -> int:
    return max(1, int(range_bytes / bytes_each)) if bytes_each > 0 else 0


def interleaved(ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield the ranges so that neighbours are of different partitions, which other brokers may lead."""
    by_partition: dict[TopicPartition, list[OffsetRange]] = {}
    for each in ranges:
        by_partition.setdefault(each.topic_partition, []).append(each)
    turns = chain.from_iterable(zip_longest(*by_partition.values()))
    return (each for each in turns if each is not None)


def without_holes(ranges: Sequence[OffsetRange], done: Mapping[int, ExportedRange]) -> list[ExportedRange]:
    """Return what is done of each partition before the first of its ranges that is not: the next run begins there.

    Args: done: by position in `ranges`, whose order within a partition is that of their offsets.
    """
    kept: list[ExportedRange] = []
    broken: set[TopicPartition] = set()
    for position, each in enumerate(ranges):
        if position not in done:
            broken.add(each.topic_partition)
        elif each.topic_partition not in broken:
            kept.append(done[position])
    return kept


class TopicDecoding:
    """How the records of each topic are decoded: by schemas that are looked up once a topic, before its first range.

    Attributes: plans: by topic; none of an export that does not decode.
    """

    def __init__(self, request: "DecodeRequest | None", properties: Mapping[str, object]) -> None:
        self._request = request
        self._properties = properties
        self.plans: dict[str, DecodePlan] = {}

    def add(self, ranges: Sequence[OffsetRange]) -> None:
        """Look up the schemas of topics. Raises: SchemaError, LibraryMissingError; KafkaError: the registry's."""
        if self._request is None:
            return
        from kctl.pipeline.decoding.plan import plan_decoding
        from kctl.pipeline.decoding.record_decoding import types_of

        for topic in sorted({each.topic for each in ranges} - set(self.plans)):
            plan = plan_decoding(self._request, topic, self._properties)
            types_of(plan)  # a schema that no columns can be made of fails before Spark starts
            self.plans[topic] = plan


class _Export:
    """The rounds of one run."""

    def __init__(
        self,
        request: ExportRequest,
        target: Target,
        decoding: "TopicDecoding",
        session: Session,
        on_progress: OnProgress,
    ) -> None:
        self._request = request
        self._target = target
        self._decoding = decoding
        self._session = session
        self._on_progress = on_progress
        self._rounds = 0
        self._lag = 0
        self._lost = 0
        self.done = 0
        self.result = ExportResult()

    def run(self, plan: ExportPlan) -> None:
        """Run a plan in rounds."""
        self._lag = plan.offsets
        size = ROUND_TASKS * self._session.parallelism
        for at in range(0, len(plan.ranges), size):
            self._round(plan.ranges[at : at + size])

    def _round(self, ranges: Sequence[OffsetRange]) -> None:
        self._rounds += 1
        request = self._request
        kind = FileKind(request.layout, request.format, request.compression_level)
        place = self._target.begin(self._rounds, kind)
        self._decoding.add(ranges)
        plans = self._decoding.plans
        tasks = [
            _ExportTask(each, place, request.allow_loss, dict(request.properties), plans.get(each.topic))
            for each in ranges
        ]
        done: dict[int, ExportedRange] = {}

        def take(position: int, exported: ExportedRange) -> None:
            done[position] = exported
            self.done += ranges[position].size
            self._lag -= ranges[position].size

        try:
            found = run_tasks(
                self._session,
                f"kctl export, round {self._rounds}",
                tasks,
                export_range,
                on_done=take,
                on_tick=self._report,
            )
        except BaseException:
            self._keep(ranges, done)
            raise
        self._keep(ranges, done)
        found.raise_first()

    def _keep(self, ranges: Sequence[OffsetRange], done: Mapping[int, ExportedRange]) -> None:
        """Make what is done part of the export."""
        kept = without_holes(ranges, done)
        if kept:
            self._target.commit(kept, self._request.settings)
            self.result = self.result.plus(kept)

    def _report(self, counts: TaskCounts) -> None:
        self._lost = max(self._lost, counts.failed)
        self._on_progress(
            Progress("exporting", counts.done, counts.active, counts.total, self._lost, self.done, self._lag)
        )


# --- a task ---------------------------------------------------------------------------------------------------------


class _ExportTask(NamedTuple):
    """What a task is given; the secrets in it are references."""

    offsets: OffsetRange
    place: RoundPlace
    allow_loss: bool
    properties: dict[str, object]
    decoding: "DecodePlan | None" = None


def export_range(task: _ExportTask, attempt: Attempt) -> ExportedRange:
    """Write one range; runs on a worker."""
    from kctl.pipeline.export_files.range_files import RangeName
    from kctl.pipeline.record_columns import COLUMN_NAMES

    offsets = task.offsets
    name = RangeName(offsets.topic, offsets.partition, offsets.start_offset, offsets.end_offset)
    batches = read_range(
        resolve(task.properties),
        offsets,
        COLUMN_NAMES,
        fail_on_data_loss=not task.allow_loss,
    )
    decode = None
    if task.decoding is not None:
        from kctl.pipeline.decoding.record_decoding import task_decoding

        decode = task_decoding(task.decoding, COLUMN_NAMES)
    with task.place.open(name, attempt.task_id) as files:
        for batch in batches:
            for part in (batch,) if decode is None else decode.split(batch):
                if part is not None and part.num_rows:
                    files.write(part)
        written = files.finish()
        return ExportedRange(*name, files.records, written, offsets.topic_id, offsets.log_end)
