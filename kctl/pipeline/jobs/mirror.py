"""`mirror`: topics of one cluster into another, each record exactly once, whatever is killed on the way.

A task reads one partition, or small ones one after the other, and produces them, in one process: nothing passes through
the JVM. It writes in transactions, each of one partition, which also write, in the target, how far the source was read
(`mirror_positions`): both count or neither does. So the target itself knows where the next run continues. A task that
is begun again fences the one before it, by the transactional id of the partition, before it asks how far that one came.
Consumers of the target read with isolation.level=read_committed, or they may see records of transactions that were
aborted and written again.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin, ClusterDescription
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.cluster import NO_TOPIC_ID, TopicInfo, TopicPartition
from kctl.client.errors import BrokerError, ConfigError, InvalidOffsetError, KafkaError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.client.protocol.primitives import uuid_text
from kctl.pipeline import isolation
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.jobs.cluster_facts import RefusedConfig, read_facts
from kctl.pipeline.jobs.mirror_groups import GroupOffset, MirroredTopics, carry_group_offsets
from kctl.pipeline.jobs.mirror_positions import (
    MirrorPosition,
    MirrorTarget,
    Positions,
    committed_offsets,
    create_positions_topic,
    find_positions,
)
from kctl.pipeline.jobs.mirror_task import COMMIT_ROWS, MirrorTask, choose_positions, mirror_ranges
from kctl.pipeline.jobs.topic_rules import Rules, create_alike, read_rules, refuse
from kctl.pipeline.jobs.topic_rules import problems as rule_problems
from kctl.pipeline.range_packing import pack_ranges, task_packing
from kctl.pipeline.ranges import OffsetRange, Offsets, Planner, RangeBound, Selection
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import JobProgress, OnProgress, Split, TaskCounts, ignore_progress, open_session, run_split
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset

INTERVAL_MS = 10_000
LOOK_EVERY_MS = 1000
LOOK_TIMEOUT_S = 1.0
LONGEST_NAME = 100


class MirrorRequest(NamedTuple):
    """What is to be mirrored.

    Attributes:
        topics: of the source. properties: of its cluster; secrets as references.
        target_properties: of the target's cluster.
        target_topic: where one topic goes; None for topics of the same names.
        name: of this mirror; where it continues is kept under it. None for one made of the source's cluster and topic.
        create: create topics and partitions that the target lacks, with the configs of the source.
        interval_ms: None: up to the ends at the start; else for ever, with a look for new records so often.
        allow_loss: continue if records were deleted before they were mirrored, or if the target would delete or reject
            records; otherwise both are errors.
        start: where the source is read from, instead of where an earlier run ended; None to continue. Partitions that
            it does not name continue.
        groups: consumer groups whose committed offsets are carried over after each round.
        events: takes the events of the clients that plan.
    """

    topics: tuple[str, ...]
    properties: Mapping[str, object]
    target_properties: Mapping[str, object]
    target_topic: str | None = None
    name: str | None = None
    create: bool = False
    interval_ms: int | None = None
    allow_loss: bool = False
    start: RangeBound | None = None
    groups: GroupSelection = GroupSelection()
    events: EventSink = ignore_events

    def target_of(self, topic: str) -> str:
        """Return where a topic goes."""
        return self.target_topic or topic


class MirrorPlan(NamedTuple):
    """What a run would do.

    Attributes:
        tasks: the ranges of each: of each partition what is not in the target yet.
        targets: by topic of the source.
        chosen: by partition, the positions that `MirrorRequest.start` chose.
        resumed: partitions that continue where an earlier run ended.
        missing: topics that the target lacks, with the partitions and configs of the source.
        grown: topics of the target that have fewer partitions than the source, with the number of the source.
        rules: of the source, by topic of the target. problems: what the target would do to records.
        size_bytes: about how many bytes all of it has in the source's log.
    """

    tasks: tuple[tuple[OffsetRange, ...], ...]
    targets: Mapping[str, MirrorTarget]
    chosen: Mapping[TopicPartition, MirrorPosition]
    resumed: int
    missing: Mapping[str, TopicFacts]
    size_bytes: int
    grown: Mapping[str, int]
    rules: Mapping[str, Rules | None]
    problems: tuple[str, ...]

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(each for task in self.tasks for each in task)

    @property
    def offsets(self) -> int:
        return sum(each.size for each in self.ranges)


class MirrorResult(NamedTuple):
    """What was mirrored in this run."""

    records: int = 0
    offsets: int = 0
    """Of the source; more than records where compaction or transactions left gaps."""
    transactions: int = 0
    partitions: int = 0
    resumed: int = 0
    rounds: int = 0
    group_offsets: tuple[GroupOffset, ...] = ()
    """What the last round found of consumer groups; empty where none were asked for."""
    refused_configs: tuple[RefusedConfig, ...] = ()
    """Configs of the source that the target rejected when its topics were created."""


# --- the driver -----------------------------------------------------------------------------------------------------


def mirror(
    request: MirrorRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> MirrorResult:
    """Mirror what is not mirrored yet, and return what was.

    Args: session, options, on_progress: as of `kctl.pipeline.jobs.export.export`.
    Raises:
        ConfigError: something about the request.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark.
        KafkaError: a cluster; what was committed before it stays.
    """
    options = options or SessionOptions()
    on_progress(JobProgress("planning"))
    plan = plan_mirror(request, options, session)
    refused: tuple[RefusedConfig, ...] = ()
    if request.create and (plan.missing or plan.grown):
        refused = _create(request, plan)
        plan = plan_mirror(request, options, session)
    _refuse_missing(plan)
    if not request.allow_loss:
        refuse(plan.problems)
    if not plan.ranges and request.interval_ms is None and not request.groups:
        _prepare(request, plan)
        return MirrorResult(resumed=plan.resumed, refused_configs=refused)
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options, "kctl mirror", on_progress))
        _prepare(request, plan)  # not before Spark runs: a position that was chosen holds for the next run, too
        request = request._replace(start=None)
        before = MirrorResult(resumed=plan.resumed, refused_configs=refused)
        result = _round(request, plan, before, running, on_progress)
        while request.interval_ms is not None:
            on_progress(JobProgress("waiting for records", records=result.records, lag=0))
            threading.Event().wait(request.interval_ms / 1000)
            plan = plan_mirror(request, options, running, is_first=False)
            result = _round(request, plan, result, running, on_progress)
        return result


def _round(
    request: MirrorRequest, plan: MirrorPlan, before: MirrorResult, session: Session, on_progress: OnProgress
) -> MirrorResult:
    """Mirror what is new, then carry over the offsets of groups."""
    result = _run(request, plan, before, session, on_progress)
    if not request.groups:
        return result
    mirrored = MirroredTopics(request.properties, request.target_properties, plan.targets, request.events)
    return result._replace(group_offsets=tuple(carry_group_offsets(mirrored, request.groups, session, on_progress)))


def plan_mirror(
    request: MirrorRequest,
    options: SessionOptions | None = None,
    session: Session | None = None,
    *,
    is_first: bool = True,
) -> MirrorPlan:
    """Return what `mirror` would do, without Spark and without writing anything.

    Args: is_first: False: the plan is for a further round of a run.
    Raises: as `mirror`.
    """
    _check(request)
    properties = isolation.of_source(resolve(request.properties))
    with Planner(properties, events=request.events) as planner:
        partitions = planner.partitions(Selection(topics=request.topics))
        topic_ids = planner.topic_ids
        starts = planner.ends(partitions, EARLIEST)
        ends = planner.ends(partitions, LATEST)
        chosen = _chosen(request, planner, starts, ends)
        with Admin(properties, events=request.events) as admin:
            source = admin.describe_cluster()
            facts = read_facts(admin, request.topics, GroupSelection()).topics
            rules = {request.target_of(topic): each for topic, each in read_rules(admin, request.topics).items()}
        wanted = {topic: 1 + max(tp.partition for tp in partitions if tp.topic == topic) for topic in request.topics}
        target = _target_side(request, source, wanted, rules, is_first=is_first)
        positions, targets = target.positions, target.targets
        planner.restart()
        known = {tp: position.source for tp, position in positions.found.items() if tp in ends}
        log_ends = planner.log_ends(known, ends)
    _refuse_lost([tp for tp in positions.lost if tp not in chosen])
    ranges = []
    for tp in partitions:
        topic_id = topic_ids[tp.topic]
        start = chosen.get(tp)
        if start is None:
            start = _first(request, tp, positions.found.get(tp), starts[tp], topic_id, log_ends[tp])
        ranges.append(OffsetRange(*tp, max(start, starts[tp]), ends[tp], topic_id, ends[tp]))
    left = tuple(each for each in ranges if each.size > 0)
    sizes = bytes_per_offset(properties, left)
    size_bytes = round(sum(each.size * sizes[each.topic] for each in left))
    tasks = pack_ranges(left, task_packing(tasks_at_once(session, options)), lambda each: each.size * sizes[each.topic])
    reset = {
        each.topic_partition: MirrorPosition.behind(each, targets[each.topic], each.start_offset)
        for each in ranges
        if each.topic_partition in chosen
    }
    return MirrorPlan(
        tuple(tasks),
        targets,
        reset,
        len(positions.found.keys() - chosen.keys()),
        {each.topic: facts[topic] for topic, each in targets.items() if each.topic in target.missing},
        size_bytes,
        target.grown,
        rules,
        target.problems,
    )


class _TargetSide(NamedTuple):
    """What a plan finds in the target. Attributes: missing: topics. The others as of MirrorPlan and find_positions."""

    targets: dict[str, MirrorTarget]
    missing: set[str]
    grown: dict[str, int]
    positions: Positions
    problems: tuple[str, ...]


def _target_side(
    request: MirrorRequest,
    source: ClusterDescription,
    wanted: Mapping[str, int],
    rules: Mapping[str, Rules | None],
    *,
    is_first: bool,
) -> _TargetSide:
    """Return what the target has. Raises: ConfigError: a topic would be mirrored into itself, or has no room."""
    properties = resolve(request.target_properties)
    with Admin(properties, events=request.events) as admin:
        if is_same_cluster(source, admin.describe_cluster()):
            same = [topic for topic in request.topics if request.target_of(topic) == topic]
            if same:
                raise ConfigError(f"source and target are one cluster, and {same[0]} would be mirrored into itself")
        targets, missing, fewer = _targets(admin, request, wanted, source.cluster_id)
        there = {topic: target for topic, target in targets.items() if target.topic not in missing}
        found = read_rules(admin, (target.topic for target in there.values()))
        problems = tuple(text for name, own in found.items() for text in rule_problems(rules[name], own, name))
        counts = {topic: fewer.get(target.topic, wanted[topic]) for topic, target in there.items()}
        positions = find_positions(admin, properties, there, counts, is_first=is_first)
    grown = {target.topic: wanted[topic] for topic, target in there.items() if target.topic in fewer}
    return _TargetSide(targets, missing, grown, positions, problems)


def _chosen(request: MirrorRequest, planner: Planner, starts: Offsets, ends: Offsets) -> Offsets:
    """Return where the request says that partitions are to be read from."""
    if request.start is None:
        return {}
    named = {tp for tp, _ in request.start.partitions}
    if surplus := sorted(named - starts.keys()):
        raise ConfigError(f"{request.start.option} names {surplus[0]}, which the topic does not have")
    chosen = planner.resolve([tp for tp in starts if not named or tp in named], request.start, ends)
    for tp, offset in chosen.items():
        if not starts[tp] <= offset <= ends[tp]:
            raise ConfigError(f"{request.start.option}: {tp} has offsets {starts[tp]} to {ends[tp]}, not {offset}")
    return chosen


def _first(
    request: MirrorRequest, tp: TopicPartition, position: MirrorPosition | None, earliest: int, topic_id: str, end: int
) -> int:
    """Return where a partition continues; what was deleted meanwhile is passed over where that is allowed."""
    if position is None:
        return earliest
    if problem := position.source.problem(*tp, topic_id, end):
        raise MirrorPositionError(
            problem, "--restart copies the new topic from its beginning, after the existing records"
        )
    offset = position.source.offset
    if offset < earliest and not request.allow_loss:
        text = f"{tp}: offset {offset} was to be mirrored next but was deleted; the first offset is {earliest}"
        raise InvalidOffsetError(f"{text}; --allow-loss continues with the records that are left", partitions=(tp,))
    return offset


def _refuse_lost(lost: Sequence[TopicPartition]) -> None:
    if lost:
        more = f" (nor of {len(lost) - 1} other{'s' if len(lost) > 2 else ''})" if len(lost) > 1 else ""
        raise MirrorPositionError(
            f"the target has records of {lost[0]}, but no position of an earlier mirror{more}",
            f"--from-position {lost[0].partition}=OFFSET continues at an offset of the source; "
            "--restart copies everything from the beginning, after the existing records",
        )


def is_same_cluster(one: ClusterDescription, other: ClusterDescription) -> bool:
    """Whether these are one cluster; a copy of its disks has the same id and other addresses."""
    places = ({(node.host, node.port) for node in cluster.nodes} for cluster in (one, other))
    return one.cluster_id == other.cluster_id and bool(set.intersection(*places))


def _check(request: MirrorRequest) -> None:
    refuse_plain_secrets(request.properties)
    refuse_plain_secrets(request.target_properties)
    if request.target_topic is not None and len(request.topics) != 1:
        raise ConfigError(
            f"{len(request.topics)} topics mirrored into one would mix their partitions: mirror one, or keep the names"
        )
    if request.name is not None and not 0 < len(request.name) <= LONGEST_NAME:
        raise ConfigError(f"the name of a mirror has 1 to {LONGEST_NAME} characters")


def _group_id(request: MirrorRequest, source_id: str, topic: str) -> str:
    """Return the group, and the beginning of the transactional ids, of one topic of this mirror."""
    return f"kctl-mirror.{request.name or source_id}.{topic}"


def _existing(target: MirrorTarget, info: TopicInfo) -> MirrorTarget:
    """Return the target with its topic id."""
    return target if info.topic_id == NO_TOPIC_ID else target._replace(topic_id=uuid_text(info.topic_id))


def _targets(
    admin: Admin, request: MirrorRequest, wanted: Mapping[str, int], source_id: str
) -> tuple[dict[str, MirrorTarget], set[str], dict[str, int]]:
    """Return the target of each topic, those that are missing, and the partitions of those that have too few.

    Raises: ConfigError: a target has too few partitions, and the request does not create any.
    """
    found = admin.describe_topics([request.target_of(topic) for topic in wanted])
    targets, missing, grown = {}, set(), {}
    for topic, count in wanted.items():
        target = MirrorTarget(request.target_of(topic), _group_id(request, source_id, topic))
        error = found.failed.get(target.topic)
        if isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            missing.add(target.topic)
        elif error is not None:
            raise error
        else:
            info = found[target.topic]
            target = _existing(target, info)
            if len(info.partitions) < count:
                grown[target.topic] = len(info.partitions)
                if not request.create:
                    text = (
                        f"{topic} has {count} partitions, and target topic {target.topic} only {len(info.partitions)}"
                    )
                    raise ConfigError(f"{text}: records keep their partitions; --create adds those that are missing")
        targets[topic] = target
    return targets, missing, grown


def _refuse_missing(plan: MirrorPlan) -> None:
    for topic, facts in plan.missing.items():
        text = f"the topic does not exist in the target; --create creates it, with {facts.partitions} partitions"
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"mirror to {topic}", text)


def _create(request: MirrorRequest, plan: MirrorPlan) -> tuple[RefusedConfig, ...]:
    """Create topics and partitions, and return the configs that the target rejects.

    Raises: RecordLossError: the configs of a source cannot be read.
    """
    if not request.allow_loss:
        refuse(f"{name}: the configs of the source cannot be read" for name in plan.missing if plan.rules[name] is None)
    with Admin(resolve(request.target_properties), events=request.events) as admin:
        refused = create_alike(admin, plan.missing, plan.rules)
        if plan.grown:
            admin.create_partitions(plan.grown).raise_first()
    return tuple(refused)


def _prepare(request: MirrorRequest, plan: MirrorPlan) -> None:
    """Make the topic that keeps positions, and set those that the request chose."""
    if not plan.ranges and not plan.chosen:
        return
    properties = resolve(request.target_properties)
    with Admin(properties, events=request.events) as admin:
        create_positions_topic(admin)
    for topic, target in plan.targets.items():
        positions = {tp.partition: position for tp, position in plan.chosen.items() if tp.topic == topic}
        if positions:
            choose_positions(properties, target, positions)


def _run(
    request: MirrorRequest, plan: MirrorPlan, before: MirrorResult, session: Session, on_progress: OnProgress
) -> MirrorResult:
    if not plan.ranges:
        return before
    run = system_runtime().entropy.token_bytes(8).hex()
    source, target = dict(request.properties), dict(request.target_properties)
    tasks = [
        [
            MirrorTask(run, each, plan.targets[each.topic], request.allow_loss, COMMIT_ROWS, source, target)
            for each in ranges
        ]
        for ranges in plan.tasks
    ]
    split = Split(tasks, [len(ranges) for ranges in plan.tasks], mirror_ranges)
    with Admin(resolve(request.target_properties)) as admin:
        watch = _Watch(plan, admin, before.records, on_progress)
        found = run_split(session, "kctl mirror", split, on_tick=watch.tick)
    found.raise_first()
    done = list(found.results.values())
    return MirrorResult(
        before.records + sum(each.records for each in done),
        before.offsets + plan.offsets,
        before.transactions + sum(each.transactions for each in done),
        max(before.partitions, len(done)),
        before.resumed,
        before.rounds + 1,
        refused_configs=before.refused_configs,
    )


class _Watch:
    """How far a round is: tasks are long, so what is committed in the target is looked at."""

    def __init__(self, plan: MirrorPlan, admin: Admin, before: int, on_progress: OnProgress) -> None:
        self._plan = plan
        self._admin = admin
        self._before = before
        self._on_progress = on_progress
        self._clock = SystemClock()
        self._look_at_ms = 0
        self._done = 0

    def tick(self, counts: TaskCounts) -> None:
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_EVERY_MS
            self._done = self._look()
        self._on_progress(
            JobProgress(
                "mirroring",
                counts.done,
                counts.active,
                counts.total,
                counts.failed,
                self._before + self._done,
                self._plan.offsets - self._done,
            )
        )

    def _look(self) -> int:
        """Return how many offsets are committed, or as many as before where no broker responds soon."""
        try:
            committed: dict[TopicPartition, int] = {}
            for topic, target in self._plan.targets.items():
                count = 1 + max((each.partition for each in self._plan.ranges if each.topic == topic), default=-1)
                for number, offset in committed_offsets(self._admin, target, range(count), LOOK_TIMEOUT_S).items():
                    committed[TopicPartition(topic, number)] = 0 if offset is None else offset.offset
        except KafkaError:  # the tasks report what is wrong, by their own timeouts
            return self._done
        return sum(
            max(0, min(committed.get(each.topic_partition, 0), each.end_offset) - each.start_offset)
            for each in self._plan.ranges
        )
