"""`replay`: selected records of a topic or an export, produced to topics again, each once.

Each transaction also stores the position under the name of the replay (`replay_task`), so a repeated command continues.
A header counts the replays of a record. Records with too many replays are skipped. Ends are fixed at the start, so a
run does not read records that return to the topic.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kctl.client.admin import Admin
from kctl.client.errors import ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.pipeline import isolation
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.jobs.mirror import LONGEST_NAME, is_same_cluster
from kctl.pipeline.jobs.mirror_positions import MirrorTarget, create_positions_topic
from kctl.pipeline.jobs.replay_begun import check_begun, write_begun
from kctl.pipeline.jobs.replay_task import Destination, Replayed, ReplayTask, end_transactions, replay_ranges
from kctl.pipeline.jobs.topic_rules import TIMES, Rules, read_rules, refuse, rules_of
from kctl.pipeline.jobs.topic_rules import problems as rule_problems
from kctl.pipeline.locations import Location
from kctl.pipeline.range_packing import pack, task_packing
from kctl.pipeline.ranges import OffsetRange, Selection, plan_ranges
from kctl.pipeline.record_filter import RecordFilter
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import OnProgress, ignore_progress, open_session, run_split_counted, start_planning
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.targets import exported_ranges, facts_in, files_of
from kctl.pipeline.task_rounds import Split

MAX_ATTEMPTS = 3


class WantedOffsets(NamedTuple):
    """Half-open range of offsets in one partition, or in all partitions. A bound of None is open."""

    partition: int | None
    start: int | None
    end: int | None


class ReplayRequest(NamedTuple):
    """Parameters of a replay.

    Attributes:
        properties, target_properties: Kafka properties of both clusters, with secrets as references.
        folder: location of an export or a table with the topic. None reads the topic itself.
        to_topic: target topic, or the target for records without `topic_header`.
        topic_header: name of the header with the target topic.
        wanted: filter for records.
        offsets: offsets to read. Empty for all.
        rate_per_s: maximum number of records in a second, over all tasks.
        max_attempts: number of replays after which a record is skipped.
        name: name of the stored positions. None for a name made of the other parameters.
        writes: False only counts records.
        allow_loss: keep timestamps even if the target would delete or reject records.
    """

    topic: str
    properties: Mapping[str, object]
    target_properties: Mapping[str, object]
    folder: Location | None = None
    to_topic: str | None = None
    topic_header: str | None = None
    wanted: RecordFilter = RecordFilter()
    offsets: tuple[WantedOffsets, ...] = ()
    rate_per_s: float | None = None
    max_attempts: int = MAX_ATTEMPTS
    keep_partitions: bool = False
    keep_timestamps: bool = False
    name: str | None = None
    writes: bool = True
    allow_loss: bool = False
    events: EventSink = ignore_events


def replay(
    request: ReplayRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Replayed:
    """Replay records that are not replayed yet, and return the counts of records read.

    Args: session, options, on_progress: as for `kctl.pipeline.jobs.export.export`.

    Raises:
        ConfigError: the request is invalid.
        FolderError, ExportDataError: the export is missing or damaged.
        RecordDataError: the jq program failed on a record.
        MirrorPositionError: the topic was recreated, or the positions of this replay were deleted.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: a cluster failed a request.
    """
    options = start_planning(session, options, on_progress)
    _check(request)
    tasks = _tasks(request)
    if not tasks:
        return Replayed()
    shared = _shared(request, tasks, tasks_at_once(session, options))
    with Admin(resolve(request.target_properties), events=request.events) as admin:
        if request.writes:
            end_transactions(admin, tasks)
        is_begun = check_begun(admin, tasks[0], request.name)
        if request.writes:
            create_positions_topic(admin)
            if not is_begun:
                write_begun(tasks[0])
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options, "kctl replay", on_progress))
        if request.rate_per_s is not None:
            rate_per_s = request.rate_per_s / min(len(shared), running.parallelism)
            shared = [tuple(each._replace(rate_per_s=rate_per_s) for each in ranges) for ranges in shared]
        phase = "replaying" if request.writes else "counting"
        split = Split(shared, list(map(len, shared)), replay_ranges)
        sizes = [each.offsets.size for ranges in shared for each in ranges]
        done = run_split_counted(running, "kctl replay", phase, split, sizes, on_progress)
    total = Replayed()
    for each in done:
        total = total.plus(each)
    return total


def _shared(request: ReplayRequest, tasks: Sequence[ReplayTask], at_once: int) -> list[tuple[ReplayTask, ...]]:
    per_offset = 0.0
    if request.folder is None:
        properties = isolation.of_source(resolve(request.properties))
        per_offset = bytes_per_offset(properties, [task.offsets for task in tasks])[request.topic]

    def size_of(task: ReplayTask) -> float:
        return per_offset * task.offsets.size + sum(file.size_bytes for each in task.exported for file in each.files)

    return pack(tasks, task_packing(at_once), size_of, lambda task: task.offsets.partition)


def _check(request: ReplayRequest) -> None:
    refuse_plain_secrets(request.properties)
    refuse_plain_secrets(request.target_properties)
    request.wanted.check()
    if request.to_topic is None and request.topic_header is None:
        raise ConfigError("a replay needs a target topic, or a header with the target topic")
    if request.name is not None and not 0 < len(request.name) <= LONGEST_NAME:
        raise ConfigError(f"the name of a replay must have 1 to {LONGEST_NAME} characters")
    named = [each.partition for each in request.offsets]
    for each in request.offsets:
        where = "all partitions" if each.partition is None else f"partition {each.partition}"
        if named.count(each.partition) > 1:
            raise ConfigError(f"--offset appears twice for {where}: use one range for each partition", key="--offset")
        if each.start is not None and each.end is not None and each.start > each.end:
            text = f"invalid --offset '{each.start}:{each.end}' for {where}: use an end that is not before the start"
            raise ConfigError(text, key="--offset")


def _tasks(request: ReplayRequest) -> list[ReplayTask]:
    source, origin, folder = None, "", None
    exported: dict[int, list[ExportedRange]] = {}
    if request.folder is None:
        properties = isolation.of_source(resolve(request.properties))
        whole = plan_ranges(properties, Selection(topics=(request.topic,)), events=request.events)
        source, origin = _source(request, properties)
    else:
        exported = _exported(request.folder, request)  # before `files_of`, which requires that a table exists
        folder = files_of(request.folder, request.properties)
        origin = str(folder if isinstance(request.folder, Path) else request.folder)
        whole = [
            OffsetRange(request.topic, number, each[0].start, each[-1].end, each[-1].topic_id, each[-1].end)
            for number, each in sorted(exported.items())
        ]
    if request.to_topic is not None:
        with Admin(resolve(request.target_properties), events=request.events) as admin:
            admin.describe_topics([request.to_topic]).raise_first()
            if request.keep_timestamps and not request.allow_loss:
                own = read_rules(admin, [request.to_topic])[request.to_topic]
                refuse(rule_problems(_source_rules(request), own, request.to_topic, TIMES))
    destination = Destination(
        request.to_topic,
        request.topic_header,
        source,
        request.max_attempts,
        request.keep_partitions,
        request.keep_timestamps,
    )
    target = MirrorTarget(request.topic, f"kctl-replay.{request.name or _name(request, origin)}")
    run = system_runtime().entropy.token_bytes(8).hex()
    given, target_given = dict(request.properties), dict(request.target_properties)
    return [
        ReplayTask(
            run,
            each,
            tuple(exported.get(each.partition, ())),
            folder,
            target,
            request.wanted,
            destination,
            None,
            given,
            target_given,
            request.writes,
        )
        for each in _within(whole, request.offsets)
        if each.size > 0
    ]


def _source_rules(request: ReplayRequest) -> Rules | None:
    if request.folder is not None:
        return rules_of(facts_in(request.folder, request.properties).topics.get(request.topic))
    with Admin(isolation.of_source(resolve(request.properties)), events=request.events) as admin:
        return read_rules(admin, [request.topic])[request.topic]


def _source(request: ReplayRequest, properties: Mapping[str, object]) -> tuple[str | None, str]:
    """Return the source topic, or None if the target is another cluster, and the ID of the source's cluster."""
    with Admin(properties, events=request.events) as admin:
        source = admin.describe_cluster()
    with Admin(resolve(request.target_properties), events=request.events) as admin:
        if not is_same_cluster(source, admin.describe_cluster()):
            return None, source.cluster_id
    if request.to_topic == request.topic:
        raise ConfigError(f"cannot replay topic {request.topic} to itself: source and target are the same cluster")
    return request.topic, source.cluster_id


def _exported(folder: Location, request: ReplayRequest) -> dict[int, list[ExportedRange]]:
    found: dict[int, list[ExportedRange]] = {}
    for each in exported_ranges(folder, request.topic, request.properties):
        found.setdefault(each.partition, []).append(each)
    return found


def _within(whole: Sequence[OffsetRange], offsets: Sequence[WantedOffsets]) -> list[OffsetRange]:
    named = {each.partition: each for each in offsets}
    if surplus := sorted(number for number in named if number is not None and all(number != w[1] for w in whole)):
        raise ConfigError(f"--offset lists partition {surplus[0]}, which has no records", key="--offset")
    found = []
    for each in whole:
        wanted = named.get(each.partition, named.get(None))
        if wanted is None and named:
            continue
        start = max(each.start_offset, (wanted and wanted.start) or 0)
        end = each.end_offset if wanted is None or wanted.end is None else min(each.end_offset, wanted.end)
        found.append(each._replace(start_offset=start, end_offset=max(start, end)))
    return found


def _name(request: ReplayRequest, origin: str) -> str:
    described = [
        origin,
        request.topic,
        request.to_topic,
        request.topic_header,
        request.wanted,
        request.offsets,
        request.keep_partitions,
        request.keep_timestamps,
    ]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
