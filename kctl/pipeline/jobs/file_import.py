"""`import`: the files of an export into topics again, at least once.

A task produces the ranges of one exported partition one after the other, so that the records of a partition keep their
order; `is_ordered=False` gives each range a task of its own. A range that is acknowledged whole leaves a file behind,
by which the next run passes it over: what was under way when a run ended is produced again.
Shown by tests/pipeline/test_import.py and, on a cluster, test_cluster.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.config import ProducerConfig
from kctl.client.errors import ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.pipeline.export_files.folder import inside
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.locations import StoreUrl, absolute
from kctl.pipeline.progress_marks import marks_in
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
from kctl.pipeline.targets import read_raw_export

PROGRESS_FOLDER = "_import"
LOOK_EVERY_MS = 1000
_COLUMNS = ["key", "value", "headers"]


class ImportRequest(NamedTuple):
    """What is to be imported, and how.

    Attributes:
        folder: an export: a folder, which the driver and all workers see under this path, or a prefix in an object
            store.
        properties: Kafka properties; secrets as references (`kctl.pipeline.references`).
        topics: which of the exported topics; empty for all.
        topic: where all of it goes; None for topics of the names that it was exported from.
        keep_partitions: records go to the partition they came from; else the producer chooses by key.
        keep_timestamps: records keep their timestamps; else they get the time of the import.
        is_ordered: the records of an exported partition are produced in their order.
        progress: folder or prefix for what is done; None for one in the export, of this cluster and these settings.
        events: takes the events of the client that plans.
    """

    folder: Path | StoreUrl
    properties: Mapping[str, object]
    topics: tuple[str, ...] = ()
    topic: str | None = None
    keep_partitions: bool = False
    keep_timestamps: bool = False
    is_ordered: bool = True
    progress: Path | StoreUrl | None = None
    events: EventSink = ignore_events


class ImportPlan(NamedTuple):
    """What a run would do.

    Attributes:
        tasks: the ranges of each, in their order. done: ranges that earlier runs have imported.
        progress: where the marks of what is done are.
    """

    tasks: tuple[tuple[ExportedRange, ...], ...]
    done: int
    progress: Path | StoreUrl

    @property
    def records(self) -> int:
        return sum(each.records for ranges in self.tasks for each in ranges)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for ranges in self.tasks for each in ranges for file in each.files)


class ImportResult(NamedTuple):
    """What was imported by this run; `skipped` ranges were imported by earlier ones."""

    records: int = 0
    ranges: int = 0
    skipped: int = 0


# --- the driver -----------------------------------------------------------------------------------------------------


def import_files(
    request: ImportRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> ImportResult:
    """Import what is not imported yet, and return what was.

    Args: session, options, on_progress: as of `kctl.pipeline.jobs.export.export`.
    Raises:
        ConfigError: something about the request. FolderError: the folder is no export, or cannot be read or written.
        ExportDataError: a file is damaged. UndeliveredError: records were not acknowledged; run it again.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark. KafkaError: the cluster.
    """
    if session is None:
        check_installed()
    on_progress(Progress("planning"))
    plan = plan_import(request)
    if not plan.tasks:
        return ImportResult(skipped=plan.done)
    marks_in(plan.progress, request.properties).prepare()
    tasks = [
        _ImportTask(
            ranges,
            absolute(request.folder),
            plan.progress,
            request.topic,
            request.keep_partitions,
            request.keep_timestamps,
            dict(request.properties),
        )
        for ranges in plan.tasks
    ]
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options or SessionOptions(), "kctl import", on_progress))
        watch = _Watch(request, plan, on_progress)
        found = run_tasks(running, "kctl import", tasks, import_ranges, on_tick=watch.tell)
    found.raise_first()
    counts = [count for _, count in sorted(found.results.items())]
    return ImportResult(sum(counts), sum(map(len, plan.tasks)), plan.done)


def plan_import(request: ImportRequest) -> ImportPlan:
    """Return what `import_files` would do, without Spark and without writing anything. Raises as `import_files`."""
    refuse_plain_secrets(request.properties)
    folder = absolute(request.folder)
    manifests = read_raw_export(folder, request.properties)
    ranges = [each for manifest in manifests for each in manifest.ranges if each.records]
    exported = sorted({each.topic for each in ranges})
    missing = [topic for topic in request.topics if topic not in exported]
    if missing:
        raise ConfigError(f"topic {missing[0]} is not in {folder}, which has {', '.join(exported)}")
    wanted = [each for each in ranges if not request.topics or each.topic in request.topics]
    cluster_id = _check_targets(request, wanted)
    progress = absolute(request.progress or _own_progress(folder, _progress_name(request, cluster_id)))
    done = marks_in(progress, request.properties).names()
    left = [each for each in wanted if _mark(each) not in done]
    groups: dict[object, list[ExportedRange]] = {}
    for each in sorted(left):
        groups.setdefault((each.topic, each.partition) if request.is_ordered else each, []).append(each)
    return ImportPlan(tuple(map(tuple, groups.values())), len(wanted) - len(left), progress)


def _check_targets(request: ImportRequest, ranges: Sequence[ExportedRange]) -> str:
    """Return the id of the cluster, whose topics are there with all partitions that are wanted."""
    most: dict[str, int] = {}
    for each in ranges:
        topic = request.topic or each.topic
        most[topic] = max(most.get(topic, 0), each.partition)
    properties = resolve(request.properties)
    ProducerConfig.parse(properties)
    with Admin(properties, events=request.events) as admin:
        described = admin.describe_topics(sorted(most))
        described.raise_first()
        for topic, partition in most.items():
            if request.keep_partitions and partition not in described[topic].partitions:
                raise broker_error(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"Import to {topic}",
                    f"it has {len(described[topic].partitions)} partitions, and partition {partition} was exported",
                )
        return admin.describe_cluster().cluster_id


def _progress_name(request: ImportRequest, cluster_id: str) -> str:
    kept = [
        word
        for word, is_kept in (("partitions", request.keep_partitions), ("timestamps", request.keep_timestamps))
        if is_kept
    ]
    return "-".join([cluster_id, request.topic or "@same", *kept])


def _own_progress(folder: Path | StoreUrl, name: str) -> Path | StoreUrl:
    """Return where the marks of an import are in the export itself."""
    if isinstance(folder, Path):
        return inside(folder / PROGRESS_FOLDER, name)
    return StoreUrl(f"{folder}/{PROGRESS_FOLDER}/{name}")


def _mark(exported: ExportedRange) -> str:
    topic = exported.topic if len(exported.topic) <= 150 else exported.topic[:150] + "~"
    return f"{topic}-{exported.partition}-{exported.start}-{exported.end}.done"


class _Watch:
    """How far an import is: tasks are long, so the files of what is done are counted."""

    def __init__(self, request: ImportRequest, plan: ImportPlan, on_progress: OnProgress) -> None:
        self._plan = plan
        self._on_progress = on_progress
        self._clock = SystemClock()
        self._marks = marks_in(plan.progress, request.properties)
        self._look_at_ms = 0
        self._records = 0

    def tell(self, counts: TaskCounts) -> None:
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_EVERY_MS
            done = self._marks.names()
            ranges = [each for task in self._plan.tasks for each in task]
            self._records = sum(each.records for each in ranges if _mark(each) in done)
        lag = self._plan.records - self._records
        self._on_progress(
            Progress("importing", counts.done, counts.active, counts.total, counts.failed, self._records, lag)
        )


# --- a task ---------------------------------------------------------------------------------------------------------


class _ImportTask(NamedTuple):
    """What a task is given; the secrets in it are references."""

    ranges: tuple[ExportedRange, ...]
    folder: Path | StoreUrl
    progress: Path | StoreUrl
    topic: str | None
    keep_partitions: bool
    keep_timestamps: bool
    properties: dict[str, object]


def import_ranges(task: _ImportTask, _attempt: Attempt) -> int:
    """Produce ranges one after the other and return how many records that were; runs on a worker."""
    from kctl.pipeline.client_pool import TASK_PRODUCERS
    from kctl.pipeline.record_writer import write_batches

    properties, count = resolve(task.properties), 0
    marks = marks_in(task.progress, task.properties)
    for each in task.ranges:
        if marks.has(_mark(each)):  # an attempt before this one, whose worker died later
            continue
        batches = _batches(task, each)
        count += write_batches(
            properties,
            batches,
            topic=task.topic or each.topic,
            with_timestamps=task.keep_timestamps,
            pool=TASK_PRODUCERS,
        )
        marks.add(_mark(each))
    return count


def _batches(task: _ImportTask, exported: ExportedRange) -> Iterator[object]:
    from kctl.pipeline.export_files.exported_records import read_exported

    columns = [
        *_COLUMNS,
        *(["partition"] if task.keep_partitions else []),
        *(["timestamp"] if task.keep_timestamps else []),
    ]
    for batch in read_exported(task.folder, exported, task.properties):
        yield batch.select(columns)
