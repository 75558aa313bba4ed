"""`mirror`: topics of one cluster into another, with each record exactly once even if processes are killed.

Each transaction belongs to one partition, and also writes the position in the source to the target
(`mirror_positions`). The next run continues at this position. Before a repeated task reads the position, it fences the
earlier attempt by the transactional.id of the partition. Consumers of the target need isolation.level=read_committed,
otherwise they may see aborted records.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin, ClusterDescription
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.cluster import NO_TOPIC_ID, TopicInfo, TopicPartition, by_topic
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
    NONE_REACHED,
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    Positions,
    Reached,
    create_positions_topic,
    find_positions,
)
from kctl.pipeline.jobs.mirror_task import COMMIT_ROWS, MirrorTask, choose_positions, mirror_ranges
from kctl.pipeline.jobs.topic_rules import Rules, create_alike, late_records, latest_accepted_ms, read_rules, refuse
from kctl.pipeline.jobs.topic_rules import problems as rule_problems
from kctl.pipeline.range_packing import pack_ranges, task_packing
from kctl.pipeline.ranges import OffsetRange, Offsets, Planner, RangeBound, Selection
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import (
    JobProgress,
    OnProgress,
    TaskCounts,
    ignore_progress,
    open_session,
    run_split,
    start_planning,
)
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.task_rounds import Split

INTERVAL_MS = 10_000
LOOK_EVERY_MS = 1000
LOOK_TIMEOUT_S = 1.0
LONGEST_NAME = 100


class MirrorRequest(NamedTuple):
    """Parameters of a mirror.

    Attributes:
        topics: names of topics. Empty with `pattern`.
        properties, target_properties: Kafka properties of both clusters, with secrets as references.
        target_topic: target of a single topic. None for equal names.
        name: identifies the positions. None for a name made of the source's cluster and topic.
        create: create missing topics and partitions in the target, with the configs of the source.
        interval_ms: interval of checks for new records, forever. None mirrors up to the current ends.
        allow_loss: continue if records were deleted before they were mirrored, or if the target would delete or reject
            records.
        start: start in the source instead of the stored positions. Partitions without a start continue.
        groups: consumer groups whose committed offsets are copied after each round.
        pattern: regular expression of whole topic names, matched again in each round.
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
    pattern: str = ""

    def target_of(self, topic: str) -> str:
        return self.target_topic or topic


class MirrorPlan(NamedTuple):
    """Plan of a run.

    Attributes:
        tasks: ranges of each task, one range for each partition that is not fully mirrored.
        targets: dict from source topic to target.
        chosen: positions from `MirrorRequest.start`.
        resumed: number of partitions that continue from an earlier run.
        missing: topics to create in the target.
        grown: dict from target topic with too few partitions to the partition count of the source.
        rules: dict from target topic to the rules of its source.
        problems: conflicts with target topics.
        limits_ms: dict from target topic to a default limit: the target rejects timestamps further in the future.
        reached: positions after the previous round.
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
    limits_ms: Mapping[str, int]
    reached: Reached

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(each for task in self.tasks for each in task)

    @property
    def offsets(self) -> int:
        return sum(each.size for each in self.ranges)


class MirrorResult(NamedTuple):
    records: int = 0
    offsets: int = 0
    """Number of offsets in the source. Exceeds the records if compaction or transactions left gaps."""
    transactions: int = 0
    partitions: int = 0
    resumed: int = 0
    rounds: int = 0
    group_offsets: tuple[GroupOffset, ...] = ()
    """Outcomes of the last round for consumer groups. Empty without groups."""
    refused_configs: tuple[RefusedConfig, ...] = ()
    """Configs of the source that the target rejected at topic creation."""


# --- the driver -----------------------------------------------------------------------------------------------------


def mirror(
    request: MirrorRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> MirrorResult:
    """Mirror records that the target lacks, and return the counts.

    Args: session, options, on_progress: as for `kctl.pipeline.jobs.export.export`.

    Raises:
        ConfigError: the request is invalid.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: a cluster failed a request. Records that were committed before stay.
    """
    options = start_planning(session, options, on_progress)
    plan, refused = _complete_plan(request, options, session)
    if not plan.ranges and request.interval_ms is None and not request.groups:
        _prepare(request, plan)
        return MirrorResult(resumed=plan.resumed, refused_configs=refused)
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options, "kctl mirror", on_progress))
        result = MirrorResult(resumed=plan.resumed, refused_configs=refused)
        result = _round(request, plan, result, running, on_progress)
        request = request._replace(start=None)
        while request.interval_ms is not None:
            on_progress(JobProgress("waiting for records", records=result.records, lag=0))
            threading.Event().wait(request.interval_ms / 1000)
            plan, refused = _complete_plan(request, options, running, plan.reached)
            result = result._replace(refused_configs=result.refused_configs + refused)
            result = _round(request, plan, result, running, on_progress)
        return result


def _complete_plan(
    request: MirrorRequest,
    options: SessionOptions,
    session: Session | None,
    reached: Reached = NONE_REACHED,
) -> tuple[MirrorPlan, tuple[RefusedConfig, ...]]:
    """Create missing topics and partitions. Return the plan of a round, and the configs that the target rejected."""
    plan = plan_mirror(request, options, session, reached=reached)
    refused: tuple[RefusedConfig, ...] = ()
    if request.create and (plan.missing or plan.grown):
        refused = _create(request, plan)
        plan = plan_mirror(request, options, session, reached=reached)
    _refuse_missing(plan)
    if not request.allow_loss:
        refuse(plan.problems)
    return plan, refused


def _round(
    request: MirrorRequest, plan: MirrorPlan, before: MirrorResult, session: Session, on_progress: OnProgress
) -> MirrorResult:
    if not before.rounds:
        _prepare(request, plan)  # after Spark has started, because chosen positions also apply to later runs
    result = _run(request, plan, before, session, on_progress)
    if not request.groups:
        return result
    mirrored = MirroredTopics(request.properties, request.target_properties, plan.targets, request.events, plan.reached)
    return result._replace(group_offsets=tuple(carry_group_offsets(mirrored, request.groups, session, on_progress)))


def plan_mirror(
    request: MirrorRequest,
    options: SessionOptions | None = None,
    session: Session | None = None,
    *,
    reached: Reached = NONE_REACHED,
) -> MirrorPlan:
    """Return the plan of `mirror`, without side effects and without Spark.

    Args:
        reached: positions after the previous round of the run.

    Raises: as `mirror`.
    """
    _check(request)
    properties = isolation.of_source(resolve(request.properties))
    with Planner(properties, events=request.events) as planner:
        partitions = _selected(request, planner)
        topic_ids = planner.topic_ids
        wanted = {tp.topic: tp.partition + 1 for tp in partitions}
        starts = planner.ends(partitions, EARLIEST)
        ends = planner.ends(partitions, LATEST)
        chosen = _chosen(request, planner, starts, ends)
        with Admin(properties, events=request.events) as admin:
            source = admin.describe_cluster()
            facts = read_facts(admin, wanted, GroupSelection()).topics
            rules = {request.target_of(topic): each for topic, each in read_rules(admin, wanted).items()}
        target = _target_side(request, source, wanted, rules, reached)
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
    with Admin(properties, events=request.events) as admin:
        late = late_records(admin, left, target.limits_ms)
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
        (*target.problems, *late),
        {targets[topic].topic: limit_ms for topic, limit_ms in target.limits_ms.items()},
        {each.topic_partition: each.end_offset for each in ranges},
    )


def _selected(request: MirrorRequest, planner: Planner) -> list[TopicPartition]:
    if not request.pattern:
        return planner.partitions(Selection(topics=request.topics))
    partitions = [tp for tp in planner.partitions(Selection(pattern=request.pattern)) if tp.topic != POSITIONS_TOPIC]
    if not partitions and request.interval_ms is None:
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "mirror topics", f"no topic matches {request.pattern}")
    return partitions


class _TargetSide(NamedTuple):
    targets: dict[str, MirrorTarget]
    missing: set[str]
    grown: dict[str, int]
    positions: Positions
    problems: tuple[str, ...]
    limits_ms: dict[str, int]


def _target_side(
    request: MirrorRequest,
    source: ClusterDescription,
    wanted: Mapping[str, int],
    rules: Mapping[str, Rules | None],
    reached: Reached,
) -> _TargetSide:
    properties = resolve(request.target_properties)
    with Admin(properties, events=request.events) as admin:
        if is_same_cluster(source, admin.describe_cluster()):
            same = [topic for topic in wanted if request.target_of(topic) == topic]
            if same:
                raise ConfigError(f"cannot mirror topic {same[0]} to itself: source and target are the same cluster")
        targets, missing, fewer = _targets(admin, request, wanted, source.cluster_id)
        there = {topic: target for topic, target in targets.items() if target.topic not in missing}
        found = read_rules(admin, (target.topic for target in there.values()))
        problems = tuple(text for name, own in found.items() for text in rule_problems(rules[name], own, name))
        limits = {topic: latest_accepted_ms(rules[each.topic], found[each.topic]) for topic, each in there.items()}
        counts = {topic: fewer.get(target.topic, wanted[topic]) for topic, target in there.items()}
        positions = find_positions(admin, properties, there, counts, reached=reached)
    grown = {target.topic: wanted[topic] for topic, target in there.items() if target.topic in fewer}
    limits_ms = {topic: limit_ms for topic, limit_ms in limits.items() if limit_ms is not None}
    return _TargetSide(targets, missing, grown, positions, problems, limits_ms)


def _chosen(request: MirrorRequest, planner: Planner, starts: Offsets, ends: Offsets) -> Offsets:
    if request.start is None:
        return {}
    named = {tp for tp, _ in request.start.partitions}
    if surplus := sorted(named - starts.keys()):
        raise ConfigError(f"{request.start.option} lists partition {surplus[0]}, which does not exist")
    chosen = planner.resolve([tp for tp in starts if not named or tp in named], request.start, ends)
    for tp, offset in chosen.items():
        if not starts[tp] <= offset <= ends[tp]:
            raise ConfigError(
                f"invalid {request.start.option} '{offset}' for {tp}: use an offset from {starts[tp]} to {ends[tp]}"
            )
    return chosen


def _first(
    request: MirrorRequest, tp: TopicPartition, position: MirrorPosition | None, earliest: int, topic_id: str, end: int
) -> int:
    if position is None:
        return earliest
    if problem := position.source.problem(*tp, topic_id, end):
        raise MirrorPositionError(
            problem, "to copy the new topic from its start, after the existing records of the target, add --restart"
        )
    offset = position.source.offset
    if offset < earliest and not request.allow_loss:
        text = f"cannot mirror offset {offset} of {tp}: it was deleted, and the first offset is {earliest}"
        raise InvalidOffsetError(f"{text}. To mirror the remaining records, add --allow-loss", partitions=(tp,))
    return offset


def _refuse_lost(lost: Sequence[TopicPartition]) -> None:
    if lost:
        more = f" and {len(lost) - 1} other partition{'s' if len(lost) > 2 else ''}" if len(lost) > 1 else ""
        raise MirrorPositionError(
            f"the target has records of {lost[0]}{more}, but the position of the earlier mirror is missing",
            f"continue at an offset of the source with --from-position {lost[0].partition}=OFFSET, or copy all "
            f"records again with --restart",
        )


def is_same_cluster(one: ClusterDescription, other: ClusterDescription) -> bool:
    """Return whether two clusters have equal IDs and a common address. A cluster on a copied disk has only the equal
    ID.
    """
    places = ({(node.host, node.port) for node in cluster.nodes} for cluster in (one, other))
    return one.cluster_id == other.cluster_id and bool(set.intersection(*places))


def _check(request: MirrorRequest) -> None:
    refuse_plain_secrets(request.properties)
    refuse_plain_secrets(request.target_properties)
    if bool(request.topics) == bool(request.pattern):
        raise ConfigError("a mirror needs topic names or a pattern", key="topics")
    if request.target_topic is not None and len(request.topics) != 1:
        raise ConfigError(
            f"cannot mirror {len(request.topics) or 'several'} topics to one target topic: mirror one topic, or "
            f"omit the target topic"
        )
    if POSITIONS_TOPIC in map(request.target_of, request.topics):
        raise ConfigError(f"cannot mirror to topic {POSITIONS_TOPIC}: it stores the progress of mirrors")
    if request.name is not None and not 0 < len(request.name) <= LONGEST_NAME:
        raise ConfigError(f"the name of a mirror must have 1 to {LONGEST_NAME} characters")


def _group_id(request: MirrorRequest, source_id: str, topic: str) -> str:
    return f"kctl-mirror.{request.name or source_id}.{topic}"


def _existing(target: MirrorTarget, info: TopicInfo) -> MirrorTarget:
    return target if info.topic_id == NO_TOPIC_ID else target._replace(topic_id=uuid_text(info.topic_id))


def _targets(
    admin: Admin, request: MirrorRequest, wanted: Mapping[str, int], source_id: str
) -> tuple[dict[str, MirrorTarget], set[str], dict[str, int]]:
    """Return the target of each topic, the missing topics, and the partition counts of targets with too few."""
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
                        f"cannot mirror topic {topic}: it has {count} partitions, but target topic {target.topic} "
                        f"has {len(info.partitions)}"
                    )
                    raise ConfigError(f"{text}. To add the missing partitions, use --create")
        targets[topic] = target
    return targets, missing, grown


def _refuse_missing(plan: MirrorPlan) -> None:
    for topic, facts in plan.missing.items():
        text = f"the topic does not exist in the target. To create it, add --create (partitions: {facts.partitions})"
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"mirror to {topic}", text)


def _create(request: MirrorRequest, plan: MirrorPlan) -> tuple[RefusedConfig, ...]:
    if not request.allow_loss:
        refuse(
            f"{name}: cannot read the configs of the source (no DescribeConfigs permission)"
            for name in plan.missing
            if plan.rules[name] is None
        )
    with Admin(resolve(request.target_properties), events=request.events) as admin:
        refused = create_alike(admin, plan.missing, plan.rules)
        if plan.grown:
            admin.create_partitions(plan.grown).raise_first()
    return tuple(refused)


def _prepare(request: MirrorRequest, plan: MirrorPlan) -> None:
    if not plan.ranges and not plan.chosen:
        return
    properties = resolve(request.target_properties)
    with Admin(properties, events=request.events) as admin:
        create_positions_topic(admin)
    for topic, numbers in by_topic(plan.chosen).items():
        positions = {number: plan.chosen[TopicPartition(topic, number)] for number in numbers}
        choose_positions(properties, plan.targets[topic], positions)


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
    def __init__(self, plan: MirrorPlan, admin: Admin, before: int, on_progress: OnProgress) -> None:
        self._ranges = plan.ranges
        self._offsets = plan.offsets
        self._targets = plan.targets
        self._groups = {plan.targets[each.topic].group_id: each.topic for each in self._ranges}
        self._admin = admin
        self._before = before
        self._on_progress = on_progress
        self._clock = SystemClock()
        self._look_at_ms = 0
        self._committed: dict[TopicPartition, int] = {}
        self._done = 0

    def tick(self, counts: TaskCounts) -> None:
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_EVERY_MS
            self._look()
        self._on_progress(
            JobProgress(
                "mirroring",
                counts.done,
                counts.active,
                counts.total,
                counts.failed,
                self._before + self._done,
                self._offsets - self._done,
            )
        )

    def _look(self) -> None:
        try:
            found = self._admin.list_offsets_of_groups(list(self._groups), timeout=LOOK_TIMEOUT_S)
        except KafkaError:  # the tasks report errors by their own timeouts
            return
        for group_id, offsets in found.done.items():
            topic = self._groups[group_id]
            for tp, offset in offsets.done.items():
                if tp.topic == self._targets[topic].topic:
                    self._committed[TopicPartition(topic, tp.partition)] = offset.offset
        self._done = sum(
            max(0, min(self._committed.get(each.topic_partition, 0), each.end_offset) - each.start_offset)
            for each in self._ranges
        )
