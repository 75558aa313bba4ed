"""Task of `replay`: produces the selected records of partitions again, in transactions. Executes on a worker.

Each transaction belongs to one partition, and also writes its position to the topic of positions. Before a repeated
task reads the position, it fences the earlier attempt by the transactional.id of the partition.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kctl.client.admin import Admin
from kctl.client.clock import Clock, SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.topic_names import is_topic_name
from kctl.pipeline import isolation
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.filter_process import FilterProcess
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.jobs.mirror_positions import (
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    kept_positions,
    position_key,
    write_position,
)
from kctl.pipeline.jobs.mirror_task import COMMIT_ROWS, transactional_properties, wait_for_markers
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.record_columns import HEADERS
from kctl.pipeline.record_filter import COLUMNS, RecordFilter
from kctl.pipeline.references import resolve
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.task_rounds import Attempt

if TYPE_CHECKING:
    from kctl.client.producer import Producer

ATTEMPTS_HEADER = "kctl-replay-attempts"
"""Header with the number of replays of a record, in decimal digits."""
RESERVED_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", POSITIONS_TOPIC})
"""Topics of Kafka and kctl, which cannot be targets. Their records would fail each run, or be read as positions."""
COMMIT_READ_ROWS = 1 << 20
"""Maximum number of records read in a transaction, if few of them are selected."""
COMMIT_MS = 5_000
"""Maximum age in ms of a transaction with a rate limit. Readers wait for it, and its timeout would abort it."""


class Destination(NamedTuple):
    """Target of records.

    Attributes:
        topic: default topic. If None, records without a topic in `header` are skipped.
        header: header with the topic. If None, all records go to `topic`.
        source: source topic if it is in the target cluster. No record is replayed into it.
        max_attempts: number of replays after which a record is skipped.
        keep_partitions: keep the partition of each record. If False, the producer chooses.
        keep_timestamps: keep the timestamp of each record. If False, records get the time of the replay.
    """

    topic: str | None
    header: str | None
    source: str | None
    max_attempts: int
    keep_partitions: bool
    keep_timestamps: bool


class ReplayTask(NamedTuple):
    """Work on one partition, with secrets as references.

    Attributes:
        offsets: offsets to read. The start is the first selected offset.
        exported: ranges of the records in an export. Empty for a topic.
        target: target whose group_id is the name of the positions, and whose topic is the source topic.
        writes: False only counts records.
    """

    run: str
    offsets: OffsetRange
    exported: tuple[ExportedRange, ...]
    folder: Path | StoreUrl | None
    target: MirrorTarget
    wanted: RecordFilter
    destination: Destination
    rate_per_s: float | None
    properties: dict[str, object]
    target_properties: dict[str, object]
    writes: bool

    def producer_properties(self) -> dict[str, object]:
        transactional_id = f"{self.target.group_id}-{self.offsets.partition}"
        given = {"allow.auto.create.topics": "false", **resolve(self.target_properties)}  # headers name topics
        return transactional_properties(given, transactional_id)


class Replayed(NamedTuple):
    """Counts of the records read.

    Attributes:
        topics: pairs of target topic and record count.
        filtered: records that the filter did not select.
        exhausted: records that were replayed too often before.
        misplaced: records without a valid target topic.
        resumed: whether an earlier run has replayed a part.
    """

    read: int = 0
    topics: tuple[tuple[str, int], ...] = ()
    filtered: int = 0
    exhausted: int = 0
    misplaced: int = 0
    resumed: bool = False

    def plus(self, other: "Replayed") -> "Replayed":
        topics = dict(self.topics)
        for topic, count in other.topics:
            topics[topic] = topics.get(topic, 0) + count
        return Replayed(
            self.read + other.read,
            tuple(sorted(topics.items())),
            self.filtered + other.filtered,
            self.exhausted + other.exhausted,
            self.misplaced + other.misplaced,
            self.resumed or other.resumed,
        )

    @property
    def records(self) -> int:
        return sum(count for _, count in self.topics)

    @classmethod
    def of_json(cls, counts: Any) -> "Replayed":
        read, topics, *others = counts
        return cls(read, tuple((topic, count) for topic, count in topics), *others)


def replay_ranges(tasks: Sequence[ReplayTask], attempt: Attempt) -> Iterator[Replayed]:
    """Produce the selected records of ranges that are not replayed yet. Executes on a worker.

    Yields the counts of all attempts of this run at each range.
    """
    if attempt.number and tasks[0].writes:
        with Admin(resolve(tasks[0].target_properties)) as admin:
            end_transactions(admin, tasks)  # an open transaction of a later range would hide the first range's position
    with FilterProcess(tasks[0].wanted, StoreTimeouts.of(tasks[0].properties).api_ms) as chosen:
        for task in tasks:
            yield _replay(task, chosen)


def end_transactions(admin: Admin, tasks: Sequence[ReplayTask]) -> None:
    """End open transactions of killed runs and attempts, which hide the positions after them.

    Ignores errors, which the tasks report. Brokers may not know a new topic, which has no transactions.
    """
    described = admin.describe_topics([POSITIONS_TOPIC]).done
    numbers = [number for topic in described.values() for number in topic.partitions]  # one, if kctl created it
    positions = [TopicPartition(POSITIONS_TOPIC, number) for number in numbers]
    if isolation.have_open_transactions(admin, positions):
        for task in tasks:
            wait_for_markers(task.producer_properties())


def _replay(task: ReplayTask, chosen: FilterProcess) -> Replayed:
    from kctl.client.producer import Producer

    properties = resolve(task.target_properties)
    if not task.writes:
        start, found = _resumed(task, properties)
        for batch in _batches(task, start):
            found = found.plus(_placed(task, batch, chosen)[1])
        return found
    config = task.producer_properties()
    with Producer(config) as producer:
        producer.init_transactions()  # fences earlier attempts
        start, before = _resumed(task, properties)
        if start >= task.offsets.end_offset:
            return before
        found = _Copy(task, producer, chosen).run(start, before)
    wait_for_markers(config)
    return found


def _resumed(task: ReplayTask, properties: dict[str, object]) -> tuple[int, Replayed]:
    kept = kept_positions(properties, require_stable=task.writes)
    position = kept.get(position_key(task.target, task.offsets.partition))
    if position is None:
        return task.offsets.start_offset, Replayed()
    offsets = task.offsets
    if problem := position.source.problem(offsets.topic, offsets.partition, offsets.topic_id, offsets.log_end):
        raise MirrorPositionError(problem, "to replay the new topic from its start, set another replay name: --name")
    start = min(max(offsets.start_offset, position.source.offset), offsets.end_offset)
    counts = position.counted_by(task.run)
    before = Replayed(resumed=start > offsets.start_offset) if counts is None else Replayed.of_json(counts)
    return start, before


class _Copy:
    def __init__(
        self,
        task: ReplayTask,
        producer: "Producer",
        chosen: FilterProcess,
        clock: Clock | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._task = task
        self._producer = producer
        self._chosen = chosen
        self._clock = clock or SystemClock()
        self._sleep = sleep or threading.Event().wait
        self._pace = RateLimit(self._clock, task.rate_per_s)
        self._begun_at_ms = 0
        self._is_open = False
        self._rows = self._read = 0

    def run(self, start: int, before: Replayed) -> Replayed:
        found = before
        for batch in _batches(self._task, start):
            wanted, counts = _placed(self._task, batch, self._chosen)
            self._begin()
            self._read += batch.num_rows
            self._send(wanted, batch, found)
            found = found.plus(counts)
            if self._rows >= COMMIT_ROWS or self._read >= COMMIT_READ_ROWS or self._is_old_in(0):
                self._commit(batch.column("offset")[-1].as_py() + 1, found)
        self._begin()
        self._commit(self._task.offsets.end_offset, found)
        return found

    def _begin(self) -> None:
        if not self._is_open:
            self._producer.begin_transaction()
            self._is_open, self._begun_at_ms, self._rows, self._read = True, self._clock.now_ms(), 0, 0

    def _is_old_in(self, delay_ms: float) -> bool:
        return self._clock.now_ms() + delay_ms - self._begun_at_ms >= COMMIT_MS

    def _send(self, rows: pa.RecordBatch, batch: pa.RecordBatch, before: Replayed) -> None:
        """Send rows at the limited rate. Commit the transaction after a row if it would otherwise become too old."""
        from kctl.pipeline.record_rows import place_rows, record_rows

        for part in self._pace.pieces(rows):
            for (topic, partition), placed in place_rows(part, None):
                each = record_rows(placed, with_timestamps=self._task.destination.keep_timestamps)
                self._producer.send_columns(topic, each.values, each.keys, partition, each.headers, each.timestamps_ms)
            self._rows += part.num_rows
            delay_ms = self._pace.delay_ms(part.num_rows)
            if self._is_old_in(delay_ms):
                offset = part.column("offset")[-1].as_py() + 1
                head = batch.filter(pc.less(batch.column("offset"), offset))
                self._commit(offset, before.plus(_placed(self._task, head, self._chosen)[1]))
            if delay_ms > 0:
                self._sleep(delay_ms / 1000)
            self._begin()

    def _commit(self, offset: int, found: Replayed) -> None:
        task = self._task
        source = ResumePoint(offset, task.offsets.topic_id, task.offsets.log_end)
        position = MirrorPosition(source, "", task.run, found)
        write_position(self._producer, task.target, task.offsets.partition, position)
        self._producer.commit_transaction()
        self._is_open = False


class RateLimit:
    """Rate limit that delays after each piece of a quarter of a second."""

    def __init__(self, clock: Clock, rate_per_s: float | None) -> None:
        self._clock = clock
        self._rate_per_s = rate_per_s
        self._next_at_ms = float(clock.now_ms())

    def pieces(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        most = rows.num_rows if self._rate_per_s is None else max(1, int(self._rate_per_s / 4))
        for start in range(0, rows.num_rows, max(1, most)):
            yield rows.slice(start, most)

    def delay_ms(self, count: int) -> float:
        """Return the delay before the next record, in ms, after `count` records were sent."""
        if self._rate_per_s is None:
            return 0.0
        now_ms = self._clock.now_ms()
        self._next_at_ms = max(self._next_at_ms, now_ms) + 1000 * count / self._rate_per_s
        return max(0.0, self._next_at_ms - now_ms)


def _batches(task: ReplayTask, start: int) -> Iterator[pa.RecordBatch]:
    offsets = task.offsets._replace(start_offset=start)
    if not task.exported:
        from kctl.pipeline.client_pool import TASK_CONSUMERS
        from kctl.pipeline.range_reader import read_range

        reading = isolation.of_source(resolve(task.properties))
        yield from read_range(reading, offsets, COLUMNS, is_exact=True, pool=TASK_CONSUMERS)
        return
    for batch in _exported(task, offsets):
        at = batch.column("offset")
        kept = batch.filter(pc.and_(pc.greater_equal(at, start), pc.less(at, offsets.end_offset)))
        if kept.num_rows:
            yield _with_source(kept, task.offsets)


def _exported(task: ReplayTask, offsets: OffsetRange) -> Iterator[pa.RecordBatch]:
    from kctl.pipeline.export_files.exported_records import read_exported

    assert task.folder is not None
    for each in task.exported:
        if each.start < offsets.end_offset and offsets.start_offset < each.end:
            yield from read_exported(task.folder, each, task.properties)


def _with_source(batch: pa.RecordBatch, offsets: OffsetRange) -> pa.RecordBatch:
    same = {
        "topic": pa.repeat(pa.scalar(offsets.topic, pa.string()), batch.num_rows),
        "partition": pa.repeat(pa.scalar(offsets.partition, pa.int32()), batch.num_rows),
    }
    return pa.RecordBatch.from_arrays([same[name] if name in same else batch.column(name) for name in COLUMNS], COLUMNS)


def _placed(task: ReplayTask, batch: pa.RecordBatch, chosen: FilterProcess) -> tuple[pa.RecordBatch, Replayed]:
    goal = task.destination
    wanted = chosen.wanted(batch)
    headers = wanted.column("headers").to_pylist()
    attempts = [_attempts(row or ()) for row in headers]
    fresh = [count < goal.max_attempts for count in attempts]
    topics = [_topic(goal, row or ()) for row in headers]
    kept = [is_fresh and topic is not None for is_fresh, topic in zip(fresh, topics, strict=True)]
    rows = wanted.filter(pa.array(kept, pa.bool_()))
    sent_to = [topic for topic, is_kept in zip(topics, kept, strict=True) if is_kept and topic is not None]
    new_headers = [
        [each for each in row or () if each["key"] != ATTEMPTS_HEADER]
        + [{"key": ATTEMPTS_HEADER, "value": str(count + 1).encode()}]
        for row, count, is_kept in zip(headers, attempts, kept, strict=True)
        if is_kept
    ]
    columns = {name: rows.column(name) for name in ("key", "value", "offset", "timestamp")}
    columns |= {"topic": pa.array(sent_to, pa.string()), "headers": pa.array(new_headers, HEADERS)}
    if goal.keep_partitions:
        columns["partition"] = rows.column("partition")
    counts = {topic: sent_to.count(topic) for topic in sorted(set(sent_to))}
    return pa.RecordBatch.from_pydict(columns), Replayed(
        batch.num_rows,
        tuple(counts.items()),
        batch.num_rows - wanted.num_rows,
        fresh.count(False),
        len(kept) - sum(kept) - fresh.count(False),
    )


def _attempts(row: object) -> int:
    count = 0
    for each in row:  # type: ignore[attr-defined]  # a list of dicts, or nothing
        digits = each["value"] or b""
        if each["key"] == ATTEMPTS_HEADER and digits.isdigit() and len(digits) < 10:
            count = int(digits)
    return count


def _topic(goal: Destination, row: object) -> str | None:
    topic = goal.topic
    if goal.header is not None:
        for each in row:  # type: ignore[attr-defined]  # a list of dicts, or nothing
            if each["key"] == goal.header and each["value"] is not None:
                topic = each["value"].decode(errors="replace")
    if topic is None or topic == goal.source or topic in RESERVED_TOPICS or not is_topic_name(topic):
        return None
    return topic
