"""Task of `mirror`: copies partitions of the source to the target in transactions. Executes on a worker.

Each partition has its own transactional.id, so an attempt fences exactly the earlier attempts at the partition.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import GroupMetadata
from kctl.client.errors import BrokerError, KafkaError, TransactionError
from kctl.client.runtime import Runtime
from kctl.pipeline import isolation
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, position_of, write_position
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.task_rounds import Attempt

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.producer import Producer

COLUMNS = ("key", "value", "offset", "timestamp", "headers")
COMMIT_ROWS = 65_536
"""Number of records in a transaction, exceeded by up to one batch. A kill repeats at most as many."""
TRANSACTION_MS = 120_000
"""Maximum time in ms that a transaction of a dead task blocks readers. The next run aborts it immediately."""


class MirrorTask(NamedTuple):
    """Work on one partition, with secrets as references.

    Attributes:
        run: ID of the round.
    """

    run: str
    range: OffsetRange
    target: MirrorTarget
    allow_loss: bool
    commit_rows: int
    properties: dict[str, object]
    target_properties: dict[str, object]


class Mirrored(NamedTuple):
    """Committed counts of all attempts at one range."""

    records: int = 0
    transactions: int = 0


def mirror_ranges(tasks: Iterable[MirrorTask], _attempt: Attempt) -> Iterator[Mirrored]:
    for task in tasks:
        yield mirror_range(task)


def mirror_range(task: MirrorTask, runtime: Runtime | None = None) -> Mirrored:
    """Copy the records of a range that are not in the target yet, and return the counts.

    Waits until readers with isolation.level=read_committed see the records and the position. A commit alone returns
    before the markers of its transaction are written.
    """
    from kctl.client.producer import Producer
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_range

    properties = resolve(task.target_properties)
    writing = transactional_properties(properties, f"{task.target.group_id}-{task.range.partition}")
    with Producer(writing, runtime) as producer:
        producer.init_transactions()  # fences earlier attempts
        start, before = resumed(task, properties, runtime)
        if start >= task.range.end_offset:
            return before
        batches = read_range(
            isolation.of_source(resolve(task.properties)),
            task.range._replace(start_offset=start),
            COLUMNS,
            fail_on_data_loss=not task.allow_loss,
            is_exact=True,
            pool=TASK_CONSUMERS if runtime is None else None,
            runtime=runtime,
        )
        with closing(batches):
            mirrored = _copy(task, producer, batches, before)
    wait_for_markers(writing, runtime)
    return mirrored


def choose_positions(
    properties: Mapping[str, object],
    target: MirrorTarget,
    positions: Mapping[int, MirrorPosition],
    runtime: Runtime | None = None,
) -> None:
    """Set positions of a target's partitions, in a transaction."""
    from kctl.client.producer import Producer

    writing = transactional_properties(properties, f"{target.group_id}-positions")
    with Producer(writing, runtime) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        _commit(producer, target, positions)
    wait_for_markers(writing, runtime)


def wait_for_markers(writing: Mapping[str, object], runtime: Runtime | None = None) -> None:
    """Wait until the last transaction of a transactional.id is complete. Uses init_transactions(), which waits for
    markers.
    """
    from kctl.client.producer import Producer

    with Producer(writing, runtime) as producer:
        producer.init_transactions()


def transactional_properties(properties: Mapping[str, object], transactional_id: str) -> dict[str, object]:
    """Return the properties of a transactional producer, with a short timeout for transactions of dead tasks."""
    from kctl.pipeline.record_writer import copying_properties, writing_properties

    given = {"transaction.timeout.ms": TRANSACTION_MS, **copying_properties(properties)}
    return writing_properties({**given, "transactional.id": transactional_id, "enable.idempotence": "true"})


def resumed(task: MirrorTask, properties: dict[str, object], runtime: Runtime | None = None) -> tuple[int, Mirrored]:
    """Return the start and the counts so far, because an earlier attempt may have progressed.

    Ignores a position that was written for a deleted target topic.
    """
    target = TopicPartition(task.target.topic, task.range.partition)
    with Admin(properties, runtime) as admin:
        found = admin.list_group_offsets(task.target.group_id, [target], require_stable=True)
        found.raise_first()
        committed = found[target]
    position = None if committed is None else position_of(committed)
    if position is None or not position.is_of(task.target):
        return task.range.start_offset, Mirrored()
    before = Mirrored(*(position.counted_by(task.run) or ()))
    return max(position.source.offset, task.range.start_offset), before


def _copy(task: MirrorTask, producer: "Producer", batches: "Iterable[pa.RecordBatch]", before: Mirrored) -> Mirrored:
    from kctl.pipeline.record_rows import record_rows

    topic, partition = task.target.topic, task.range.partition
    (records, transactions), pending = before, 0
    times: list[pa.RecordBatch] = []
    """Offsets and timestamps in the open transaction."""
    try:
        for batch in _pieces(batches, task.commit_rows):
            if not pending:
                producer.begin_transaction()
                times.clear()
            rows = record_rows(batch, with_timestamps=True)
            times.append(batch.select(["offset", "timestamp"]))
            producer.send_columns(topic, rows.values, rows.keys, partition, rows.headers, rows.timestamps_ms)
            pending += batch.num_rows
            if pending >= task.commit_rows:
                records, transactions, pending = records + pending, transactions + 1, 0
                _commit_range(task, producer, batch.column("offset")[-1].as_py() + 1, Mirrored(records, transactions))
        if not pending:
            producer.begin_transaction()  # only the position: the rest of the range has no records
        done = Mirrored(records + pending, transactions + 1)
        _commit_range(task, producer, task.range.end_offset, done)
    except TransactionError as error:
        if isinstance(error.cause, BrokerError) and error.cause.code == ErrorCode.INVALID_TIMESTAMP and times:
            raise _rejected_time(task, error.cause, times) from error
        raise
    return done


def _rejected_time(task: MirrorTask, error: BrokerError, times: "list[pa.RecordBatch]") -> KafkaError:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches(times)
    values = pc.cast(table.column("timestamp"), pa.int64())
    latest, earliest = pc.max(values), pc.min(values)
    word, found = "latest", latest
    if latest.as_py() <= SystemClock().wall_ms():
        word, found = "earliest", earliest
    offset = table.column("offset")[pc.index(values, found).as_py()]
    text = f"the target rejected records whose {word} timestamp is {found} (offset {offset} of the source)"
    more = f": {error.text}" if error.text else ""
    return broker_error(ErrorCode.INVALID_TIMESTAMP, f"mirror {task.range.topic_partition}", text + more)


def _commit_range(task: MirrorTask, producer: "Producer", offset: int, done: Mirrored) -> None:
    position = MirrorPosition.behind(task.range, task.target, offset, task.run, done)
    _commit(producer, task.target, {task.range.partition: position})


def _commit(producer: "Producer", target: MirrorTarget, positions: Mapping[int, MirrorPosition]) -> None:
    offsets = {
        TopicPartition(target.topic, partition): write_position(producer, target, partition, position)
        for partition, position in positions.items()
    }
    producer.send_offsets_to_transaction(offsets, GroupMetadata(target.group_id, -1, "", None))
    producer.commit_transaction()


def _pieces(batches: "Iterable[pa.RecordBatch]", most: int) -> "Iterator[pa.RecordBatch]":
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)
