"""A task of `replay`: partitions of the source, their wanted records produced again in transactions; runs on a worker.

Each transaction is of one partition, and also holds a record of how far that was read, in the topic of positions: both
count or neither does. A task that is begun again fences the one before it, by the transactional.id of the partition,
before it looks how far that got.
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
from kctl.pipeline.running import Attempt

if TYPE_CHECKING:
    from kctl.client.producer import Producer

ATTEMPTS_HEADER = "kctl-replay-attempts"
"""How often a record was replayed, in decimal digits; a record that has it was replayed before."""
RESERVED_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", POSITIONS_TOPIC})
"""Of Kafka and of kctl itself: a record that names one would fail each run, or be read as a position."""
COMMIT_READ_ROWS = 1 << 20
"""Records that are read for a transaction where few of them are wanted."""
COMMIT_MS = 5_000
"""A transaction that waits for its rate is committed by that time: readers wait for it, and its timeout aborts it."""


class Destination(NamedTuple):
    """Where records go.

    Attributes:
        topic: of all records, or of those that do not name one; None: those are left out.
        header: whose value names the topic; None: `topic` alone.
        source: the topic that is read, where it is in the same cluster: nothing is replayed into it.
        max_attempts: records that were replayed so often are left out.
        keep_partitions, keep_timestamps: as the source has them; else the producer chooses, and the time is now.
    """

    topic: str | None
    header: str | None
    source: str | None
    max_attempts: int
    keep_partitions: bool
    keep_timestamps: bool


class ReplayTask(NamedTuple):
    """What is to be done for one partition; secrets in it are references.

    Attributes:
        run: the id of the run.
        offsets: what is read of the topic or of the export; its start is the first that this run wants.
        exported: where the records are, in an export; empty for a topic. folder: of the export.
        target: whose group_id is the name under which positions are kept; its topic is the source's.
        rate_per_s: the most records a second; None without a limit.
        writes: False for a dry run, which counts only.
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
        """Return the properties of its producer, whose transactional.id is that of all tasks of the same work."""
        transactional_id = f"{self.target.group_id}-{self.offsets.partition}"
        given = {"allow.auto.create.topics": "false", **resolve(self.target_properties)}  # headers name topics
        return transactional_properties(given, transactional_id)


class Replayed(NamedTuple):
    """What became of the records that were read.

    Attributes:
        topics: records by where they went. filtered: not wanted. exhausted: replayed too often before.
        misplaced: no topic is named, or one that records cannot be sent to.
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
        """Return what was written as JSON: lists, where there were tuples."""
        read, topics, *others = counts
        return cls(read, tuple((topic, count) for topic, count in topics), *others)


def replay_ranges(tasks: Sequence[ReplayTask], attempt: Attempt) -> Iterator[Replayed]:
    """Produce the wanted records of ranges that are not replayed yet; runs on a worker.

    What is yielded of a range is what all attempts at it in this run did, and whether there was an earlier run.
    """
    if attempt.number and tasks[0].writes:
        with Admin(resolve(tasks[0].target_properties)) as admin:
            end_transactions(admin, tasks)  # one of a range behind the first would hide the first one's position
    with FilterProcess(tasks[0].wanted, StoreTimeouts.of(tasks[0].properties).api_ms) as chosen:
        for task in tasks:
            yield _replay(task, chosen)


def end_transactions(admin: Admin, tasks: Sequence[ReplayTask]) -> None:
    """End what a killed run or attempt has left open: until then all would wait for the positions behind it.

    A topic that was just created may not be known everywhere yet, and has none: what fails here is left to the tasks.
    """
    described = admin.describe_topics([POSITIONS_TOPIC]).done
    numbers = [number for topic in described.values() for number in topic.partitions]  # one, where kctl created it
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
        producer.init_transactions()  # from here on no earlier attempt can commit any more
        start, before = _resumed(task, properties)
        if start >= task.offsets.end_offset:
            return before
        found = _Copy(task, producer, chosen).run(start, before)
    wait_for_markers(config)
    return found


def _resumed(task: ReplayTask, properties: dict[str, object]) -> tuple[int, Replayed]:
    """Return where to continue: behind what was replayed under this name; and what of that was in this run."""
    kept = kept_positions(properties, require_stable=task.writes)
    position = kept.get(position_key(task.target, task.offsets.partition))
    if position is None:
        return task.offsets.start_offset, Replayed()
    offsets = task.offsets
    if problem := position.source.problem(offsets.topic, offsets.partition, offsets.topic_id, offsets.log_end):
        raise MirrorPositionError(problem, "--name with another name replays the new topic from its beginning")
    start = min(max(offsets.start_offset, position.source.offset), offsets.end_offset)
    counts = position.counted_by(task.run)
    before = Replayed(resumed=start > offsets.start_offset) if counts is None else Replayed.of_json(counts)
    return start, before


class _Copy:
    """The transactions of one partition."""

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
        """Replay from an offset on; return what was done before and now."""
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
        """Send rows at the rate; a transaction is committed before it is old, with the position of its last row.

        Args: batch: that the rows are of. before: what was done before it.
        """
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
        """Commit the transaction with the position that has everything before an offset, and what was found there."""
        task = self._task
        source = ResumePoint(offset, task.offsets.topic_id, task.offsets.log_end)
        position = MirrorPosition(source, "", task.run, found)
        write_position(self._producer, task.target, task.offsets.partition, position)
        self._producer.commit_transaction()
        self._is_open = False


class RateLimit:
    """Keeps sending to a rate: pieces that are a quarter of a second, with delays between them."""

    def __init__(self, clock: Clock, rate_per_s: float | None) -> None:
        self._clock = clock
        self._rate_per_s = rate_per_s
        self._next_at_ms = float(clock.now_ms())

    def pieces(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the rows, cut as the rate wants it."""
        most = rows.num_rows if self._rate_per_s is None else max(1, int(self._rate_per_s / 4))
        for start in range(0, rows.num_rows, max(1, most)):
            yield rows.slice(start, most)

    def delay_ms(self, count: int) -> float:
        """Return in how long the next record may be sent, after `count` were."""
        if self._rate_per_s is None:
            return 0.0
        now_ms = self._clock.now_ms()
        self._next_at_ms = max(self._next_at_ms, now_ms) + 1000 * count / self._rate_per_s
        return max(0.0, self._next_at_ms - now_ms)


def _batches(task: ReplayTask, start: int) -> Iterator[pa.RecordBatch]:
    """Yield what is to be read from an offset on."""
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
    """Yield the exported batches in which the offsets are."""
    from kctl.pipeline.export_files.exported_records import read_exported

    assert task.folder is not None
    for each in task.exported:
        if each.start < offsets.end_offset and offsets.start_offset < each.end:
            yield from read_exported(task.folder, each, task.properties)


def _with_source(batch: pa.RecordBatch, offsets: OffsetRange) -> pa.RecordBatch:
    """Return the columns `COLUMNS` of exported records, whose files name topic and partition by their folder."""
    same = {
        "topic": pa.repeat(pa.scalar(offsets.topic, pa.string()), batch.num_rows),
        "partition": pa.repeat(pa.scalar(offsets.partition, pa.int32()), batch.num_rows),
    }
    return pa.RecordBatch.from_arrays([same[name] if name in same else batch.column(name) for name in COLUMNS], COLUMNS)


def _placed(task: ReplayTask, batch: pa.RecordBatch, chosen: FilterProcess) -> tuple[pa.RecordBatch, Replayed]:
    """Return the records that are to be produced, with their topics and attempts, and what became of the others."""
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
    """Return how often a record was replayed before."""
    count = 0
    for each in row:  # type: ignore[attr-defined]  # a list of dicts, or nothing
        digits = each["value"] or b""
        if each["key"] == ATTEMPTS_HEADER and digits.isdigit() and len(digits) < 10:
            count = int(digits)
    return count


def _topic(goal: Destination, row: object) -> str | None:
    """Return where a record goes; None where it names nothing that records can be sent to."""
    topic = goal.topic
    if goal.header is not None:
        for each in row:  # type: ignore[attr-defined]  # a list of dicts, or nothing
            if each["key"] == goal.header and each["value"] is not None:
                topic = each["value"].decode(errors="replace")
    if topic is None or topic == goal.source or topic in RESERVED_TOPICS or not is_topic_name(topic):
        return None
    return topic
