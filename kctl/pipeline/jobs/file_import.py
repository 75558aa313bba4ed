"""`import`: files of an export into topics, at least once.

A task produces the ranges of one exported partition in order. It writes a mark for each range that is fully
acknowledged, and later runs skip marked ranges. Ranges in progress when a run stops are produced again.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.config import ProducerConfig
from kctl.client.errors import BrokerError, ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts, TopicFacts, newest_facts
from kctl.pipeline.export_files.folder import inside
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.job_errors import listed
from kctl.pipeline.jobs.topic_rules import problems as rule_problems
from kctl.pipeline.jobs.topic_rules import read_rules, refuse, rules_of
from kctl.pipeline.locations import Location, StoreUrl, absolute
from kctl.pipeline.progress_marks import marks_in
from kctl.pipeline.range_packing import pack, task_packing
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import (
    JobProgress,
    OnProgress,
    TaskCounts,
    ignore_progress,
    open_session,
    run_tasks,
    start_planning,
)
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.targets import files_of, read_raw_export
from kctl.pipeline.task_rounds import Attempt

if TYPE_CHECKING:
    from kctl.client.cluster import TopicInfo
    from kctl.pipeline.jobs.cluster_facts import RefusedConfig
    from kctl.pipeline.jobs.mirror_groups import GroupOffset

PROGRESS_FOLDER = "_import"
LOOK_EVERY_MS = 1000
_COLUMNS = ["key", "value", "headers"]
_NO_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class ImportRequest(NamedTuple):
    """Parameters of an import.

    Attributes:
        folder: location of an export: an object store prefix, a table, or a directory, which the driver and all workers
            see at this path.
        properties: Kafka properties, with secrets as references (`kctl.pipeline.references`).
        topics: exported topics to import. Empty for all.
        topic: target topic. None for the exported names.
        keep_partitions: keep the partition of each record. If False, the producer chooses partitions by key.
        keep_timestamps: keep the timestamp of each record. If False, records get the time of the import.
        is_ordered: keep the order of records within an exported partition.
        create: create missing topics with the partitions and configs in the export.
        allow_loss: import timestamps even if the target would delete or reject records.
        groups: exported consumer groups to restore. Requires keep_partitions and is_ordered.
        progress: directory or prefix for marks. None for one in the export, for this cluster and these settings.
    """

    folder: Location
    properties: Mapping[str, object]
    topics: tuple[str, ...] = ()
    topic: str | None = None
    keep_partitions: bool = False
    keep_timestamps: bool = False
    is_ordered: bool = True
    progress: Path | StoreUrl | None = None
    create: bool = False
    groups: GroupSelection = GroupSelection()
    allow_loss: bool = False
    events: EventSink = ignore_events


class ImportPlan(NamedTuple):
    """Plan of a run.

    Attributes:
        tasks: ranges of each task, in order.
        done: number of ranges that earlier runs have imported.
        progress: location of the marks.
        missing: facts of the topics to create, by name.
        ranges: all selected ranges, imported or not.
        groups: names of the groups to restore.
        facts: cluster facts of the export.
        topics: topics of the export, including topics without records.
        problems: conflicts with target topics.
        topic_ids: IDs of the target topics, by name.
    """

    tasks: tuple[tuple[ExportedRange, ...], ...]
    done: int
    progress: Path | StoreUrl
    missing: Mapping[str, TopicFacts] = MappingProxyType({})
    ranges: tuple[ExportedRange, ...] = ()
    groups: tuple[str, ...] = ()
    facts: ClusterFacts = NO_FACTS
    topics: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    topic_ids: Mapping[str, str] = MappingProxyType({})

    @property
    def records(self) -> int:
        return sum(each.records for ranges in self.tasks for each in ranges)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for ranges in self.tasks for each in ranges for file in each.files)


class ImportResult(NamedTuple):
    """Counts of a run.

    Attributes:
        records, ranges: each counted once, even if a task was repeated.
        skipped: number of ranges that earlier runs have imported.
    """

    records: int = 0
    ranges: int = 0
    skipped: int = 0
    created: Mapping[str, TopicFacts] = MappingProxyType({})
    refused_configs: "tuple[RefusedConfig, ...]" = ()
    group_offsets: "tuple[GroupOffset, ...]" = ()


# --- the driver -----------------------------------------------------------------------------------------------------


def import_files(
    request: ImportRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> ImportResult:
    """Import ranges that have no mark, and return the counts.

    Args: session, options, on_progress: as for `kctl.pipeline.jobs.export.export`.

    Raises:
        ConfigError: the request is invalid.
        FolderError: the directory is not an export, or cannot be read or written.
        ExportDataError: a file is damaged.
        UndeliveredError: records were not acknowledged. Repeat the import.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: the cluster failed a request.
    """
    options = start_planning(session, options, on_progress)
    plan = plan_import(request, options, session)
    if not request.allow_loss:
        refuse(plan.problems)
    result = ImportResult(skipped=plan.done, created=plan.missing)
    if plan.missing:
        from kctl.pipeline.jobs.cluster_facts import create_topics

        with Admin(resolve(request.properties), events=request.events) as admin:
            result = result._replace(refused_configs=tuple(create_topics(admin, plan.missing)))
            created = _ids_of(admin.wait_for_topics(sorted(plan.missing)))  # otherwise the marks would have no topic id
        plan = plan._replace(topic_ids={**plan.topic_ids, **created})
    if not plan.tasks and not plan.groups:
        return result
    marks_in(plan.progress, request.properties).prepare()
    files = files_of(request.folder, request.properties)
    tasks = [
        _ImportTask(
            ranges,
            tuple(_mark(each, _target_id(request, plan.topic_ids, each)) for each in ranges),
            files,
            plan.progress,
            request.topic,
            request.keep_partitions,
            request.keep_timestamps,
            dict(request.properties),
        )
        for ranges in plan.tasks
    ]
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options, "kctl import", on_progress))
        watch = _Watch(request, plan, tasks, on_progress)
        if tasks:
            found = run_tasks(running, "kctl import", tasks, import_ranges, on_tick=watch.tick)
            found.raise_first()
            # from the plan: attempts whose worker died have also produced ranges
            result = result._replace(records=plan.records, ranges=sum(map(len, plan.tasks)))
        if plan.groups:
            from kctl.pipeline.jobs.cluster_facts import GroupImport, restore_groups

            targets = {name: request.topic or name for name in plan.topics}
            given = GroupImport(files, plan.ranges, targets, dict(request.properties))
            offsets = restore_groups(given, plan.facts, plan.groups, running, on_progress)
            result = result._replace(group_offsets=tuple(offsets))
    return result


def plan_import(
    request: ImportRequest, options: SessionOptions | None = None, session: Session | None = None
) -> ImportPlan:
    """Return the plan of `import_files`, without side effects and without Spark."""
    refuse_plain_secrets(request.properties)
    folder = absolute(request.folder)
    if request.progress is None and not isinstance(folder, Path | StoreUrl):
        raise ConfigError(
            "an import from a table needs a location for its progress: add --progress with a directory, or a URL "
            "such as s3://BUCKET/PREFIX",
            key="--progress",
        )
    manifests = read_raw_export(folder, request.properties)
    ranges = [each for manifest in manifests for each in manifest.ranges if each.records]
    facts = newest_facts(manifest.facts for manifest in manifests)
    exported = sorted({each.topic for each in ranges} | facts.topics.keys())
    unknown = [topic for topic in request.topics if topic not in exported]
    if unknown:
        raise ConfigError(f"topic {unknown[0]} is not in {folder}. Exported topics: {listed(exported)}")
    wanted = [each for each in ranges if not request.topics or each.topic in request.topics]
    groups: tuple[str, ...] = ()
    if request.groups:
        from kctl.pipeline.jobs.cluster_facts import chosen_groups

        groups = tuple(chosen_groups(facts, request.groups, str(folder)))
    if groups and not (request.keep_partitions and request.is_ordered):
        raise ConfigError(
            "--groups needs --keep-partitions, and cannot be combined with --unordered", key="--keep-partitions"
        )
    topics = _topics(request, wanted, facts, groups)
    cluster_id, missing, problems, topic_ids = _check_targets(request, topics, wanted, facts, groups)
    progress = request.progress
    if progress is None:
        assert isinstance(folder, Path | StoreUrl)
        progress = _own_progress(folder, _progress_name(request, cluster_id))
    progress = absolute(progress)
    done = marks_in(progress, request.properties).names()
    left = [each for each in wanted if _mark(each, _target_id(request, topic_ids, each)) not in done]
    tasks: dict[object, list[ExportedRange]] = {}
    for each in sorted(left):
        tasks.setdefault((each.topic, each.partition) if request.is_ordered else each, []).append(each)
    done_ranges = len(wanted) - len(left)
    shared = pack(list(tasks.values()), task_packing(tasks_at_once(session, options)), _file_bytes, itemgetter(0))
    made = tuple(tuple(each for ranges in task for each in ranges) for task in shared)
    return ImportPlan(
        made, done_ranges, progress, missing, tuple(wanted), groups, facts, tuple(topics), problems, topic_ids
    )


def _file_bytes(ranges: Sequence[ExportedRange]) -> int:
    return sum(file.size_bytes for each in ranges for file in each.files)


def _topics(
    request: ImportRequest, wanted: Iterable[ExportedRange], facts: ClusterFacts, groups: Iterable[str]
) -> list[str]:
    if request.topics:
        return sorted(set(request.topics))
    found = {each.topic for each in wanted}
    found |= {name for group in groups for name in facts.groups[group] if name in facts.topics}
    return sorted(found | facts.topics.keys() if request.create else found)


def _check_targets(
    request: ImportRequest,
    topics: Iterable[str],
    ranges: Sequence[ExportedRange],
    facts: ClusterFacts,
    groups: Iterable[str],
) -> tuple[str, dict[str, TopicFacts], tuple[str, ...], dict[str, str]]:
    """Return the cluster ID, the topics to create, the conflicts with the other topics, and the IDs of all topics."""
    most: dict[str, int] = {}
    sources: dict[str, set[str]] = {}
    highest: dict[str, int] = {}
    for each in ranges:
        highest[each.topic] = max(highest.get(each.topic, 0), each.partition)
    for name in topics:  # including topics without records
        topic = request.topic or name
        sources.setdefault(topic, set()).add(name)
        most[topic] = max(most.get(topic, 0), highest.get(name, 0))
    for topic, names in sources.items():  # groups may have offsets in partitions without records
        most[topic] = max(
            [most[topic], *(n for group in groups for name in names for n in facts.groups[group].get(name, ()))]
        )
    properties = resolve(request.properties)
    ProducerConfig.parse(properties)
    with Admin(properties, events=request.events) as admin:
        described = admin.describe_topics(sorted(most))
        missing = {}
        for topic, error in described.failed.items():
            if not (request.create and isinstance(error, BrokerError) and error.code == _NO_TOPIC):
                raise error
            known = [facts.topics[name] for name in sorted(sources[topic]) if name in facts.topics]
            configs = known[0].configs if len(sources[topic]) == len(known) == 1 else None
            count = max([most[topic] + 1, *(each.partitions for each in known)])
            missing[topic] = TopicFacts(count, configs)
        for topic, partition in most.items():
            if topic not in missing and request.keep_partitions and partition not in described[topic].partitions:
                raise broker_error(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"import to {topic}",
                    f"the export has records of partition {partition}, but the topic has "
                    f"{len(described[topic].partitions)} partitions",
                )
        problems = _problems(admin, sources, missing, facts) if request.keep_timestamps else ()
        topic_ids = {**dict.fromkeys(missing, ""), **_ids_of(described.done)}
        return admin.describe_cluster().cluster_id, missing, problems, topic_ids


def _ids_of(topics: "Mapping[str, TopicInfo]") -> dict[str, str]:
    return {name: str(each.topic_id) for name, each in topics.items()}


def _target_id(request: ImportRequest, topic_ids: Mapping[str, str], exported: ExportedRange) -> str:
    return topic_ids[request.topic or exported.topic]


def _problems(
    admin: Admin, sources: Mapping[str, Iterable[str]], missing: Container[str], facts: ClusterFacts
) -> tuple[str, ...]:
    rules = read_rules(admin, [topic for topic in sources if topic not in missing])
    return tuple(
        text
        for topic, own in rules.items()
        for name in sorted(sources[topic])
        for text in rule_problems(rules_of(facts.topics.get(name)), own, topic)
    )


def _progress_name(request: ImportRequest, cluster_id: str) -> str:
    kept = [
        word
        for word, is_kept in (("partitions", request.keep_partitions), ("timestamps", request.keep_timestamps))
        if is_kept
    ]
    return "-".join([cluster_id, request.topic or "@same", *kept])


def _own_progress(folder: Path | StoreUrl, name: str) -> Path | StoreUrl:
    if isinstance(folder, Path):
        return inside(folder / PROGRESS_FOLDER, name)
    return StoreUrl(f"{folder}/{PROGRESS_FOLDER}/{name}")


def _mark(exported: ExportedRange, target_id: str) -> str:
    """Return the name of a range's mark, which changes if the source or the target topic was recreated."""
    topic = exported.topic
    if len(topic) > 150:  # a file name has at most 255 bytes; long names may share a prefix
        topic = f"{topic[:133]}~{hashlib.sha256(topic.encode()).hexdigest()[:16]}"
    topics = hashlib.sha256(f"{exported.topic_id} {target_id}".encode()).hexdigest()[:12]
    return f"{topic}-{exported.partition}-{exported.start}-{exported.end}-{topics}.done"


class _Watch:
    def __init__(
        self, request: ImportRequest, plan: ImportPlan, tasks: Iterable["_ImportTask"], on_progress: OnProgress
    ) -> None:
        self._records_of = {
            mark: each.records for task in tasks for each, mark in zip(task.ranges, task.marks, strict=True)
        }
        self._total = plan.records
        self._on_progress = on_progress
        self._clock = SystemClock()
        self._marks = marks_in(plan.progress, request.properties)
        self._look_at_ms = 0
        self._records = 0

    def tick(self, counts: TaskCounts) -> None:
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_EVERY_MS
            done = self._marks.names()
            self._records = sum(records for mark, records in self._records_of.items() if mark in done)
        lag = self._total - self._records
        self._on_progress(
            JobProgress("importing", counts.done, counts.active, counts.total, counts.failed, self._records, lag)
        )


# --- a task ---------------------------------------------------------------------------------------------------------


class _ImportTask(NamedTuple):
    ranges: tuple[ExportedRange, ...]
    marks: tuple[str, ...]
    folder: Path | StoreUrl
    progress: Path | StoreUrl
    topic: str | None
    keep_partitions: bool
    keep_timestamps: bool
    properties: dict[str, object]


def import_ranges(task: _ImportTask, _attempt: Attempt) -> None:
    """Produce ranges in order, and write a mark for each. Executes on a worker."""
    from kctl.pipeline.client_pool import TASK_PRODUCERS
    from kctl.pipeline.record_writer import copying_properties, write_batches

    properties = copying_properties(resolve(task.properties))
    marks = marks_in(task.progress, task.properties)
    for each, mark in zip(task.ranges, task.marks, strict=True):
        if marks.has(mark):  # done by an earlier attempt whose worker died later
            continue
        write_batches(
            properties,
            _batches(task, each),
            topic=task.topic or each.topic,
            with_timestamps=task.keep_timestamps,
            pool=TASK_PRODUCERS,
        )
        marks.add(mark)


def _batches(task: _ImportTask, exported: ExportedRange) -> Iterator[object]:
    from kctl.pipeline.export_files.exported_records import read_exported

    columns = [
        *_COLUMNS,
        *(["partition"] if task.keep_partitions else []),
        *(["timestamp"] if task.keep_timestamps else []),
    ]
    for batch in read_exported(task.folder, exported, task.properties):
        yield batch.select(columns)
