"""`mirror`: topics of one cluster into another, each record exactly once, whatever is killed on the way.

A task reads one partition and produces it, in one process: nothing passes through the JVM. It writes in transactions,
and each of them also commits, in the target, how far the source was read: both count or neither does. So the target
itself knows where the next run goes on. A task that is begun again fences the one before it, by its transactional id,
before it asks how far that one came. Consumers of the target read with isolation.level=read_committed, or they may see
records of transactions that were aborted and written again.
Shown by tests/pipeline/test_mirror.py.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin, ClusterDescription, NewTopic
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group_events import GroupMetadata
from kctl.client.errors import BrokerError, ConfigError, InvalidOffsetError, KafkaError
from kctl.pipeline.ranges import OffsetRange, Planner, Selection
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import Attempt, OnProgress, Progress, TaskCounts, ignore_progress, open_session, run_tasks
from kctl.pipeline.session import Session, SessionOptions
from kctl.pipeline.sizing import bytes_per_offset

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.producer import Producer
    from kctl.pipeline.range_reader import RangeReader

COLUMNS = ("key", "value", "offset", "timestamp", "headers")
COMMIT_ROWS = 65_536
"""Records of a transaction, and a batch more: of more, more would be written again after a kill, fewer cost time."""
INTERVAL_MS = 10_000
LOOK_EVERY_MS = 1000
LOOK_TIMEOUT_S = 1.0
TRANSACTION_MS = 120_000
"""A transaction whose task is gone for good holds up readers of the target for so long; a next run ends it at once."""
LONGEST_NAME = 100
READ_COMMITTED = {"isolation.level": "read_committed"}


class MirrorRequest(NamedTuple):
    """What is to be mirrored.

    Attributes:
        topics: of the source. properties: of its cluster; secrets as references.
        target_properties: of the target's cluster.
        target_topic: where one topic goes; None for topics of the same names.
        name: of this mirror; where it goes on is kept under it. None for one made of the source's cluster and topic.
        create: make topics that the target lacks, with as many partitions.
        interval_ms: None: up to the ends at the start; else for ever, with a look for new records so often.
        allow_loss: go on where records were deleted before they were mirrored; otherwise that is an error.
    """

    topics: tuple[str, ...]
    properties: Mapping[str, object]
    target_properties: Mapping[str, object]
    target_topic: str | None = None
    name: str | None = None
    create: bool = False
    interval_ms: int | None = None
    allow_loss: bool = False

    def target_of(self, topic: str) -> str:
        """Return where a topic goes."""
        return self.target_topic or topic


class MirrorPlan(NamedTuple):
    """What a run would do.

    Attributes:
        ranges: one task each: of each partition what is not in the target yet.
        group_ids: by topic, the group in the target that has committed how far the source was read.
        resumed: partitions that go on where an earlier run has ended.
        missing: topics that the target lacks, with the partitions they need.
        size_bytes: about how many bytes all of it has in the source's log.
    """

    ranges: tuple[OffsetRange, ...]
    group_ids: Mapping[str, str]
    resumed: int
    missing: Mapping[str, int]
    size_bytes: int

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
    on_progress(Progress("planning"))
    plan = plan_mirror(request)
    if request.create and plan.missing:
        _create(request, plan.missing)
        plan = plan_mirror(request)
    _refuse_missing(plan)
    if not plan.ranges and request.interval_ms is None:
        return MirrorResult(resumed=plan.resumed)
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options or SessionOptions(), "kctl mirror", on_progress))
        result = _run(request, plan, MirrorResult(resumed=plan.resumed), running, on_progress)
        while request.interval_ms is not None:
            on_progress(Progress("waiting for records", records=result.records, lag=0))
            threading.Event().wait(request.interval_ms / 1000)
            result = _run(request, plan_mirror(request), result, running, on_progress)
        return result


def plan_mirror(request: MirrorRequest) -> MirrorPlan:
    """Return what `mirror` would do, without Spark and without writing anything. Raises as `mirror`."""
    _check(request)
    properties = {**READ_COMMITTED, **resolve(request.properties)}
    with Planner(properties) as planner:
        partitions = planner.partitions(Selection(topics=request.topics))
        starts = planner.ends(partitions, EARLIEST)
        ends = planner.ends(partitions, LATEST)
        deadline_at_ms = planner.deadline_at_ms()
    with Admin(properties) as admin:
        source = admin.describe_cluster()
    group_ids = {topic: _group_id(request, source.cluster_id, topic) for topic in request.topics}
    with Admin(resolve(request.target_properties)) as admin:
        if _is_same(source, admin.describe_cluster()):
            same = [topic for topic in request.topics if request.target_of(topic) == topic]
            if same:
                raise ConfigError(f"source and target are one cluster, and {same[0]} would be mirrored into itself")
        wanted = {topic: 1 + max(tp.partition for tp in partitions if tp.topic == topic) for topic in request.topics}
        missing = _missing(admin, request, wanted)
        committed: dict[TopicPartition, int] = {}
        for topic in request.topics:
            if request.target_of(topic) not in missing:
                committed |= _committed(admin, request, group_ids[topic], topic, wanted[topic])
    ranges = [
        OffsetRange(*tp, _first(request, tp, committed.get(tp), starts[tp]), ends[tp], deadline_at_ms)
        for tp in partitions
    ]
    left = tuple(each for each in ranges if each.size > 0)
    sizes = bytes_per_offset(properties, left)
    size_bytes = round(sum(each.size * sizes.get(each.topic, 0.0) for each in left))
    return MirrorPlan(left, group_ids, len(committed), missing, size_bytes)


def _first(request: MirrorRequest, tp: TopicPartition, committed: int | None, earliest: int) -> int:
    """Return where a partition goes on; what was deleted meanwhile is passed over where that is allowed."""
    if committed is None:
        return earliest
    if committed < earliest and not request.allow_loss:
        text = f"{tp}: offset {committed} was to be mirrored next and is gone, the first is {earliest}"
        raise InvalidOffsetError(f"{text}; --allow-loss goes on with what is there", partitions=(tp,))
    return max(committed, earliest)


def _is_same(one: ClusterDescription, other: ClusterDescription) -> bool:
    """Whether these are one cluster; a copy of its disks has the same id and other addresses."""
    places = ({(node.host, node.port) for node in cluster.nodes} for cluster in (one, other))
    return one.cluster_id == other.cluster_id and bool(set.intersection(*places))


def _check(request: MirrorRequest) -> None:
    refuse_plain_secrets(request.properties)
    refuse_plain_secrets(request.target_properties)
    if request.target_topic is not None and len(request.topics) != 1:
        raise ConfigError(
            f"{len(request.topics)} topics into one would mix their partitions: mirror one, or keep names"
        )
    if request.name is not None and not 0 < len(request.name) <= LONGEST_NAME:
        raise ConfigError(f"the name of a mirror has 1 to {LONGEST_NAME} characters")


def _group_id(request: MirrorRequest, source_id: str, topic: str) -> str:
    """Return the group, and the beginning of the transactional ids, of one topic of this mirror."""
    return f"kctl-mirror.{request.name or source_id}.{topic}"


def _missing(admin: Admin, request: MirrorRequest, wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the target topics that are not there; raise where one has too few partitions."""
    found = admin.describe_topics([request.target_of(topic) for topic in wanted])
    missing = {}
    for topic, count in wanted.items():
        target = request.target_of(topic)
        error = found.failed.get(target)
        if isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            missing[target] = count
            continue
        if error is not None:
            raise error
        if len(found[target].partitions) < count:
            text = f"target topic {target} has {len(found[target].partitions)} partitions, and {topic} has {count}"
            raise ConfigError(f"{text}: records keep their partitions")
    return missing


def _refuse_missing(plan: MirrorPlan) -> None:
    for topic, count in plan.missing.items():
        text = f"the target has no such topic; --create makes it, with {count} partitions"
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Mirror to {topic}", text)


def _create(request: MirrorRequest, missing: Mapping[str, int]) -> None:
    with Admin(resolve(request.target_properties)) as admin:
        admin.create_topics([NewTopic(topic, count) for topic, count in missing.items()]).raise_first()


def _committed(
    admin: Admin, request: MirrorRequest, group_id: str, topic: str, partitions: int, timeout: float | None = None
) -> dict[TopicPartition, int]:
    """Return how far each partition of the source was mirrored; it is committed under the target's partition."""
    target = request.target_of(topic)
    asked = [TopicPartition(target, number) for number in range(partitions)]
    found = admin.list_group_offsets(group_id, asked, timeout=timeout)
    found.raise_first()
    return {TopicPartition(topic, tp.partition): each.offset for tp in asked if (each := found[tp]) is not None}


def _run(
    request: MirrorRequest, plan: MirrorPlan, before: MirrorResult, session: Session, on_progress: OnProgress
) -> MirrorResult:
    if not plan.ranges:
        return before
    tasks = [
        _MirrorTask(
            each,
            request.target_of(each.topic),
            plan.group_ids[each.topic],
            request.allow_loss,
            COMMIT_ROWS,
            dict(request.properties),
            dict(request.target_properties),
        )
        for each in plan.ranges
    ]
    with Admin(resolve(request.target_properties)) as admin:
        watch = _Watch(request, plan, admin, before.records, on_progress)
        found = run_tasks(session, "kctl mirror", tasks, mirror_range, on_tick=watch.tick)
    found.raise_first()
    done = list(found.results.values())
    return MirrorResult(
        before.records + sum(each.records for each in done),
        before.offsets + plan.offsets,
        before.transactions + sum(each.transactions for each in done),
        max(before.partitions, len(done)),
        before.resumed,
        before.rounds + 1,
    )


class _Watch:
    """How far a round is: tasks are long, so what is committed in the target is looked at."""

    def __init__(
        self, request: MirrorRequest, plan: MirrorPlan, admin: Admin, before: int, on_progress: OnProgress
    ) -> None:
        self._request = request
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
            Progress(
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
        """Return how many offsets are committed, or as many as before where nobody answers soon."""
        try:
            committed: dict[TopicPartition, int] = {}
            for topic, group_id in self._plan.group_ids.items():
                partitions = 1 + max((each.partition for each in self._plan.ranges if each.topic == topic), default=-1)
                if partitions:
                    committed |= _committed(self._admin, self._request, group_id, topic, partitions, LOOK_TIMEOUT_S)
        except KafkaError:  # the tasks tell what is wrong, by their own limits
            return self._done
        return sum(
            max(0, min(committed.get(each.topic_partition, 0), each.end_offset) - each.start_offset)
            for each in self._plan.ranges
        )


# --- a task ---------------------------------------------------------------------------------------------------------


class _MirrorTask(NamedTuple):
    """What a task is given; secrets in it are references."""

    range: OffsetRange
    target_topic: str
    group_id: str
    allow_loss: bool
    commit_rows: int
    properties: dict[str, object]
    target_properties: dict[str, object]


class Mirrored(NamedTuple):
    """What one task has committed."""

    records: int
    transactions: int


def mirror_range(task: _MirrorTask, attempt: Attempt) -> Mirrored:
    """Read what is left of a range and write it to the target; runs on a worker."""
    from kctl.client.producer import Producer
    from kctl.pipeline.range_reader import RangeReader

    target = TopicPartition(task.target_topic, task.range.partition)
    properties = resolve(task.target_properties)
    with Producer(_writing(properties, f"{task.group_id}-{task.range.partition}")) as producer:
        producer.init_transactions()  # from here on no earlier attempt can commit any more
        start = _start(task, properties, target)
        if start >= task.range.end_offset:
            return Mirrored(0, 0)
        reader = RangeReader(
            {**READ_COMMITTED, **resolve(task.properties)},
            task.range._replace(start_offset=start),
            COLUMNS,
            attempt=attempt.number,
            fail_on_data_loss=not task.allow_loss,
        )
        try:
            return _copy(task, target, producer, reader)
        finally:
            reader.close()


def _writing(properties: Mapping[str, object], transactional_id: str) -> dict[str, object]:
    from kctl.pipeline.record_writer import writing_properties

    given = {"transaction.timeout.ms": TRANSACTION_MS, **properties}
    return writing_properties({**given, "transactional.id": transactional_id, "enable.idempotence": "true"})


def _start(task: _MirrorTask, properties: dict[str, object], target: TopicPartition) -> int:
    """Return where to go on: the driver asked before an earlier attempt of this task, which may have come further."""
    with Admin(properties) as admin:
        found = admin.list_group_offsets(task.group_id, [target], require_stable=True)
        found.raise_first()
        committed = found[target]
    return task.range.start_offset if committed is None else max(committed.offset, task.range.start_offset)


def _copy(task: _MirrorTask, target: TopicPartition, producer: "Producer", reader: "RangeReader") -> Mirrored:
    """Copy what the reader yields, a transaction for some batches; an error aborts the one that is open."""
    from kctl.pipeline.record_rows import record_rows

    member = GroupMetadata(task.group_id, -1, "", None)
    records = transactions = pending = 0
    for batch in _pieces(reader, task.commit_rows):
        if not pending:
            producer.begin_transaction()
        rows = record_rows(batch, with_timestamps=True)
        producer.send_columns(target.topic, rows.values, rows.keys, target.partition, rows.headers, rows.timestamps_ms)
        pending += batch.num_rows
        if pending >= task.commit_rows:
            producer.send_offsets_to_transaction({target: batch.column("offset")[-1].as_py() + 1}, member)
            producer.commit_transaction()
            records, transactions, pending = records + pending, transactions + 1, 0
    if not pending:
        producer.begin_transaction()  # the offsets alone: what is left of the range has no records
    producer.send_offsets_to_transaction({target: task.range.end_offset}, member)
    producer.commit_transaction()
    return Mirrored(records + pending, transactions + 1)


def _pieces(batches: "Iterable[pa.RecordBatch]", most: int) -> "Iterator[pa.RecordBatch]":
    """Yield the batches, cut so that none has more records than a transaction is to have."""
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)
