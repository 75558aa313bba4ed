"""`sync`: topics into files or tables by a streaming query of Spark, with each record exactly once.

Spark determines the batches of the query, and stores them in its checkpoint (`sync_checkpoint`). Records do not pass
through the JVM: tasks of an export write the records that the target lacks before the batch's end, in rounds. A batch
that is repeated after a kill therefore writes only the missing rounds.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.errors import ConfigError
from kctl.client.network.system import system_runtime
from kctl.pipeline import isolation
from kctl.pipeline.export_files.cluster_facts import NO_FACTS
from kctl.pipeline.job_errors import ExportDataError, SparkFailedError, SparkSetUpError, WorkerStartError
from kctl.pipeline.jobs.export import (
    Batch,
    ExportRequest,
    check,
    facts_for,
    make_plan,
    wanted_partitions,
)
from kctl.pipeline.jobs.export_rounds import ExportRounds
from kctl.pipeline.jobs.sync_checkpoint import (
    WILDCARDS,
    SyncCheckpoint,
    SyncFacts,
    default_folder,
    starting_offsets,
)
from kctl.pipeline.jobs.topic_decoding import TopicDecoding
from kctl.pipeline.ranges import OffsetRange, Offsets, Planner
from kctl.pipeline.references import resolve
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.running import (
    JobProgress,
    OnProgress,
    ignore_progress,
    open_session,
    start_planning,
    watch,
)
from kctl.pipeline.session import ClassicSession, Session, SessionOptions
from kctl.pipeline.source.failures import source_failure
from kctl.pipeline.source.group_progress import GroupProgress
from kctl.pipeline.source.java_pattern import python_pattern
from kctl.pipeline.spark_failures import explained
from kctl.pipeline.targets import Target, open_target

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

TRIGGER_MS = 10_000
MAX_BATCH_RECORDS = 10_000_000
MOST_LATE_STARTS = 5
"""Maximum number of consecutive query starts that fail because a worker connects after Spark's fixed limit of 10s."""
NO_CONNECT = (
    "a sync cannot use Spark Connect: the server calls the function of each batch in its own process",
    "use --master, or repeat: kctl pipeline export",
)
"""Error and hint."""
STOP_S = 10.0
"""Time in s for a query to stop after its batch. Closing the session stops later ones."""


class SyncRequest(NamedTuple):
    """Parameters of a sync.

    Attributes:
        export: topics, target and files, as for an export. Its interval is ignored.
        checkpoint: directory of Spark's offsets. None for one below a target directory.
        trigger_ms: interval between batch starts. None stops the sync at the ends that partitions have at its start.
        max_batch_records: maximum number of offsets in a batch. 0 for no limit.
        group: consumer group in which the progress is committed. None commits no progress.
    """

    export: ExportRequest
    checkpoint: Path | None = None
    trigger_ms: int | None = TRIGGER_MS
    max_batch_records: int = MAX_BATCH_RECORDS
    group: str | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """Names of topics, or the pattern between slashes. No topic name has slashes."""
        selection = self.export.selection
        return selection.topics or (f"/{selection.pattern}/",)

    @property
    def checkpoint_folder(self) -> Path:
        if self.checkpoint is not None:
            return self.checkpoint
        if isinstance(self.export.folder, Path):
            return default_folder(self.export.folder, self.topics)
        raise ConfigError(
            f"a sync to {self.export.folder} needs --checkpoint with a directory on this machine, where Spark "
            f"stores offsets",
            key="checkpoint",
        )


class SyncResult(NamedTuple):
    batches: int = 0
    records: int = 0
    files: int = 0
    size_bytes: int = 0
    rounds: int = 0
    gaps: int = 0
    bad_records: int = 0


class SyncPlan(NamedTuple):
    """Initial state of a run.

    Attributes:
        starts, ends: start and current end of each partition.
        resumed: number of partitions that earlier runs have copied.
    """

    starts: Offsets
    ends: Offsets
    resumed: int
    checkpoint: Path

    @property
    def offsets(self) -> int:
        return sum(max(0, self.ends[tp] - start) for tp, start in self.starts.items())

    @property
    def goal(self) -> Offsets:
        return {tp: self.ends[tp] for tp, start in self.starts.items() if start < self.ends[tp]}


Say = Callable[[str], None]


def say_nothing(_line: str) -> None:
    """Ignore a line."""


def sync(
    request: SyncRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
    say: Say = say_nothing,
) -> SyncResult:
    """Copy topics to a target until interrupted, or up to the ends at the start, and return the counts.

    Args:
        session: a Spark session, which stays open. None starts one with `options`.
        on_progress: called in this thread with the progress.
        say: called with a line about each skipped step.

    Raises: as `export`. StreamSourceError: the source of the query failed with a client error.
    """
    request = request._replace(export=request.export.separated())
    _check(request)
    if not isinstance(session, ClassicSession | None) or (options is not None and options.remote is not None):
        raise SparkSetUpError(*NO_CONNECT)
    checkpoint = SyncCheckpoint(request.checkpoint_folder)
    export = request.export
    target = open_target(export.folder, export.properties)
    options = start_planning(session, options, on_progress)
    with ExitStack() as stack:
        planner = stack.enter_context(Planner(isolation.of_source(resolve(export.properties)), events=export.events))
        facts = checkpoint.read(request.topics, str(export.folder))
        group = _group(request, stack)
        target.read()
        plan = _planned(request, planner, target, facts, group)
        decoding = _decoding(export, plan, target)
        is_done = request.trigger_ms is None and not plan.offsets
        planned_after = target.last_number
        target.claim(system_runtime().entropy.token_bytes(8).hex(), export.settings, takes_over=not is_done)
        stack.callback(target.leave)
        if target.last_number != planned_after:  # another run has added rounds in the meantime
            plan = _planned(request, planner, target, facts, group)
        if facts is None:
            facts = SyncFacts(request.topics, str(export.folder), plan.starts)
            checkpoint.create(facts)
        elif _is_ahead(checkpoint, plan):
            say("the target is behind the checkpoint: the query restarts from the offsets of the target")
            checkpoint.forget_batches()
        if group is not None and (problem := group.commit(plan.starts)):
            say(problem)
        if is_done:
            return SyncResult()
        running = session or stack.enter_context(open_session(options, "kctl sync", on_progress))
        batches = _Batches(request, checkpoint, facts, planner, target, decoding, group, running, say)
        source = partial(_source_options, request, facts, planner)
        _Queries(request, batches, running, source, on_progress).run(plan.goal)
        return batches.result


def plan_sync(request: SyncRequest) -> SyncPlan:
    """Return the initial state of `sync`, without side effects and without Spark."""
    request = request._replace(export=request.export.separated())
    _check(request)
    export = request.export
    facts = SyncCheckpoint(request.checkpoint_folder).read(request.topics, str(export.folder))
    target = open_target(export.folder, export.properties)
    target.read()
    with ExitStack() as stack:
        group = _group(request, stack)
        planner = stack.enter_context(Planner(isolation.of_source(resolve(export.properties)), events=export.events))
        plan = _planned(request, planner, target, facts, group)
    _decoding(export, plan, target)
    target.check(export.settings)
    return plan


def _decoding(export: ExportRequest, plan: SyncPlan, target: Target) -> TopicDecoding:
    decoding = TopicDecoding(export.decode, export.properties, export.layout)
    decoding.fit([OffsetRange(*tp, 0, 0) for tp in plan.starts], target)
    return decoding


def _check(request: SyncRequest) -> None:
    check(request.export)
    selection = request.export.selection
    if selection.partitions or bool(selection.topics) == bool(selection.pattern):
        raise ConfigError("a sync needs topic names or a pattern", key="topics")
    try:
        python_pattern(selection.pattern)  # Spark reads patterns of topics as Java does
    except ValueError as e:
        raise ConfigError(f"unsupported pattern '{selection.pattern}' for a sync: {e}", key="topics") from None
    if (request.trigger_ms is not None and request.trigger_ms < 0) or request.max_batch_records < 0:
        raise ConfigError("the trigger interval and the maximum number of offsets in a batch cannot be negative")
    folder = request.checkpoint_folder.absolute()
    if found := sorted(WILDCARDS.intersection(str(folder))):
        raise ConfigError(
            f"cannot store Spark's checkpoint in {folder}: for Spark, {' '.join(found)} in a path is a wildcard",
            key="checkpoint",
        )


def _group(request: SyncRequest, stack: ExitStack) -> GroupProgress | None:
    if request.group is None:
        return None
    group = stack.enter_context(GroupProgress(resolve(request.export.properties), request.group))
    group.check()
    return group


def _planned(
    request: SyncRequest, planner: Planner, target: Target, facts: SyncFacts | None, group: GroupProgress | None
) -> SyncPlan:
    partitions = wanted_partitions(request.export, planner)
    ends = planner.ends(partitions, LATEST)
    points = target.resume_points(partitions)
    fresh = [tp for tp in partitions if tp not in points]
    kept = {} if facts is None else {tp: ResumePoint(facts.starts[tp]) for tp in fresh if tp in facts.starts}
    known = {tp: points[tp] for tp in partitions if tp in points} | kept
    log_ends = planner.log_ends(known, ends)
    for tp, point in known.items():
        if problem := point.problem(*tp, planner.topic_ids[tp.topic], log_ends[tp]):
            raise ExportDataError(problem, "sync the topic to another target with another checkpoint")
    if facts is None:
        starts = planner.resolve(fresh, request.export.start, ends)
        if group is not None and len(fresh) == len(partitions):
            group.refuse_offsets(partitions)
    else:
        added = [tp for tp in fresh if tp not in kept]
        starts = planner.ends(added, EARLIEST) | {tp: point.offset for tp, point in kept.items()}
    starts |= {tp: points[tp].offset for tp in partitions if tp in points}
    folder = request.checkpoint_folder
    return SyncPlan({tp: starts[tp] for tp in partitions}, ends, len(partitions) - len(fresh), folder)


def _is_ahead(checkpoint: SyncCheckpoint, plan: SyncPlan) -> bool:
    """Return whether Spark has committed batches that the target lacks. Spark would not repeat them before the next
    batch.
    """
    end = checkpoint.committed_end()
    return end is not None and any(offset > plan.starts.get(tp, offset) for tp, offset in end.offsets.items())


def _source_options(request: SyncRequest, facts: SyncFacts, planner: Planner) -> dict[str, str]:
    export = request.export
    planner.restart()
    partitions = planner.partitions(export.selection)
    pattern = export.selection.pattern
    found = {f"kafka.{name}": str(value) for name, value in isolation.of_source(export.properties).items()}
    found |= {
        "subscribePattern" if pattern else "subscribe": pattern or ",".join(export.selection.topics),
        "startingOffsets": starting_offsets(partitions, facts.starts, EARLIEST),
        "failOnDataLoss": "false" if export.allow_loss else "true",
    }
    if request.max_batch_records:
        found["maxOffsetsPerTrigger"] = str(request.max_batch_records)
    return found


# --- batches, in the thread in which Spark calls for them -------------------------------------------------------------


class _Left(Exception):
    """The run was interrupted during a batch."""


class _Batches:
    """Processing of batches. Threads other than the query's may use only `leave` and the attributes.

    Attributes:
        progress: progress of the current or last batch.
        failure: error of a batch.
        is_idle: event that is set while no batch is active.
    """

    def __init__(
        self,
        request: SyncRequest,
        checkpoint: SyncCheckpoint,
        facts: SyncFacts,
        planner: Planner,
        target: Target,
        decoding: TopicDecoding,
        group: GroupProgress | None,
        session: Session,
        say: Say,
    ) -> None:
        self._request = request
        self._checkpoint = checkpoint
        self._facts = facts
        self._planner = planner
        self._target = target
        self._group = group
        self._session = session
        self._say = say
        self._carried: set[str] = set()
        """Topics with facts in the target."""
        self._rounds = ExportRounds(
            request.export, target, decoding, session, self._on_progress, name="kctl sync", phase="syncing"
        )
        self._is_leaving = False
        self._count = 0
        self.progress = JobProgress("starting the query")
        self.failure: BaseException | None = None
        self.is_idle = threading.Event()
        self.is_idle.set()

    @property
    def result(self) -> SyncResult:
        done = self._rounds.result
        return SyncResult(
            self._count, done.records, done.files, done.size_bytes, done.rounds, done.gaps, done.bad_records
        )

    def query_started(self) -> None:
        if self._count == 0 and self.is_idle.is_set():
            self.progress = JobProgress("waiting for records", lag=0)

    def leave(self) -> None:
        """Stop the current batch and keep its finished ranges. Any thread may call it."""
        self._is_leaving = True

    def reaches(self, ends: Offsets) -> bool:
        points = self._target.resume_points(ends)
        return all(tp in points and points[tp].offset >= end for tp, end in ends.items())

    def run(self, _table: object, batch_id: int) -> None:
        self.is_idle.clear()
        try:
            if self._is_leaving:
                raise _Left
            self._run(batch_id)
        except _Left:
            self._say(
                f"batch {batch_id} was interrupted. The next run continues after the records that this run has written"
            )
            raise
        except BaseException as e:
            self.failure = e
            raise
        finally:
            self.is_idle.set()

    def _run(self, batch_id: int) -> None:
        end = self._checkpoint.batch_end(batch_id)
        self._planner.restart()
        batch = Batch(end.offsets, self._facts.starts)
        plan = make_plan(self._request.export, self._planner, self._target, self._session.parallelism, batch)
        carried = NO_FACTS
        if not plan.topic_bytes.keys() <= self._carried:
            carried = facts_for(self._request.export, self._planner)
            self._carried |= carried.topics.keys()
        self._rounds.run(plan, carried)
        self._count += 1
        if self._group is not None and (problem := self._group.commit(end.offsets)):
            self._say(problem)
        self.progress = JobProgress("waiting for records", records=self._rounds.done, lag=0)

    def _on_progress(self, progress: JobProgress) -> None:
        self.progress = progress
        if self._is_leaving:
            raise _Left


class _Queries:
    """Streaming queries of a run. With a trigger there is one, otherwise as many as are needed to reach the goal."""

    def __init__(
        self,
        request: SyncRequest,
        batches: _Batches,
        session: Session,
        source: Callable[[], Mapping[str, str]],
        on_progress: OnProgress,
    ) -> None:
        self._request = request
        self._batches = batches
        self._session = session
        self._source = source
        self._on_progress = on_progress
        self._query: StreamingQuery | None = None

    def run(self, goal: Offsets) -> None:
        late_starts = 0
        while True:
            before = self._batches.result.batches
            try:
                self._run_query()
            except WorkerStartError:
                late_starts = late_starts + 1 if self._batches.result.batches == before else 1
                if late_starts == MOST_LATE_STARTS:
                    raise
                self._batches.failure = None
                continue
            late_starts = 0
            if self._request.trigger_ms is None and self._batches.reaches(goal):
                return
            if self._batches.result.batches == before:
                raise SparkFailedError("the streaming query ended without a batch", self._log_hint())

    def _run_query(self) -> None:
        try:
            watch(self._act, tick=lambda: self._on_progress(self._batches.progress), cancel=self._cancel)
        except Exception as e:
            if self._batches.failure is not None:
                raise self._batches.failure from None
            raise source_failure(e) or explained(e, self._session.log_path) from e

    def _act(self) -> None:
        import kctl.pipeline

        spark = self._session.spark()
        kctl.pipeline.register(spark)
        stream = spark.readStream.format("kctl").options(**self._source()).load()
        writer = stream.writeStream.foreachBatch(self._batches.run).queryName("kctl sync")
        writer = writer.option("checkpointLocation", self._request.checkpoint_folder.absolute().as_uri())
        ms = self._request.trigger_ms
        writer = (
            writer.trigger(availableNow=True) if ms is None else writer.trigger(processingTime=f"{ms} milliseconds")
        )
        self._query = writer.start()
        self._batches.query_started()
        self._query.awaitTermination()

    def _cancel(self) -> None:
        """Stop the query after its batch, in another thread because the JVM may not respond."""
        self._batches.leave()
        threading.Thread(target=self._stop, name="kctl-cancel", daemon=True).start()

    def _stop(self) -> None:
        self._batches.is_idle.wait(STOP_S)
        if self._query is not None:
            with suppress(Exception):  # the JVM may be exiting; closing the session kills it
                self._query.stop()

    def _log_hint(self) -> str:
        return f"read the log of Spark: {self._session.log_path}" if self._session.log_path is not None else ""
