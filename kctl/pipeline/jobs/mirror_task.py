"""A task of `mirror`: partitions of the source, read and produced to the target in transactions; runs on a worker.

Each partition has transactions and a transactional.id of its own, also where a task has many: the attempts that it
fences are those at this partition, whichever other partitions they have.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import GroupMetadata
from kctl.client.runtime import Runtime
from kctl.pipeline import isolation
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, position_of, write_position
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.running import Attempt

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.producer import Producer

COLUMNS = ("key", "value", "offset", "timestamp", "headers")
COMMIT_ROWS = 65_536
"""Records of a transaction, and a batch more: of more, more would be written again after a kill, fewer cost time."""
TRANSACTION_MS = 120_000
"""A transaction whose task is gone for good blocks readers of the target for this time; a next run ends it at once."""


class MirrorTask(NamedTuple):
    """What is to be done for one partition; secrets in it are references. run: the id of the round that it is of."""

    run: str
    range: OffsetRange
    target: MirrorTarget
    allow_loss: bool
    commit_rows: int
    properties: dict[str, object]
    target_properties: dict[str, object]


class Mirrored(NamedTuple):
    """What all attempts at one range have committed."""

    records: int = 0
    transactions: int = 0


def mirror_ranges(tasks: Iterable[MirrorTask], _attempt: Attempt) -> Iterator[Mirrored]:
    """Mirror one range after the other; runs on a worker."""
    for task in tasks:
        yield mirror_range(task)


def mirror_range(task: MirrorTask, runtime: Runtime | None = None) -> Mirrored:
    """Read what is left of a range and write it to the target.

    Returns once every reader with isolation.level=read_committed sees the records and the position: a commit returns
    before the markers of its transaction are written, and the next init_transactions() of its id after that.
    """
    from kctl.client.producer import Producer
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_range

    properties = resolve(task.target_properties)
    writing = transactional_properties(properties, f"{task.target.group_id}-{task.range.partition}")
    with Producer(writing, runtime) as producer:
        producer.init_transactions()  # from here on no earlier attempt can commit any more
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
    """Set the positions of partitions of a target, in a transaction as the tasks do, so that they never expire."""
    from kctl.client.producer import Producer

    writing = transactional_properties(properties, f"{target.group_id}-positions")
    with Producer(writing, runtime) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        _commit(producer, target, positions)
    wait_for_markers(writing, runtime)


def wait_for_markers(writing: Mapping[str, object], runtime: Runtime | None = None) -> None:
    """Return once the last transaction of a transactional.id is complete: init_transactions() waits for its markers."""
    from kctl.client.producer import Producer

    with Producer(writing, runtime) as producer:
        producer.init_transactions()


def transactional_properties(properties: Mapping[str, object], transactional_id: str) -> dict[str, object]:
    """Return the properties of a producer whose transactions end soon after their task is gone."""
    from kctl.pipeline.record_writer import copying_properties, writing_properties

    given = {"transaction.timeout.ms": TRANSACTION_MS, **copying_properties(properties)}
    return writing_properties({**given, "transactional.id": transactional_id, "enable.idempotence": "true"})


def resumed(task: MirrorTask, properties: dict[str, object], runtime: Runtime | None = None) -> tuple[int, Mirrored]:
    """Return where to continue, and what is done: an earlier attempt may have come further than the driver knew.

    An offset that was committed for a target topic that was deleted since does not count.
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
    """Copy the batches, a transaction for some of them; an error aborts the one that is open."""
    from kctl.pipeline.record_rows import record_rows

    topic, partition = task.target.topic, task.range.partition
    (records, transactions), pending = before, 0
    for batch in _pieces(batches, task.commit_rows):
        if not pending:
            producer.begin_transaction()
        rows = record_rows(batch, with_timestamps=True)
        producer.send_columns(topic, rows.values, rows.keys, partition, rows.headers, rows.timestamps_ms)
        pending += batch.num_rows
        if pending >= task.commit_rows:
            records, transactions, pending = records + pending, transactions + 1, 0
            _commit_range(task, producer, batch.column("offset")[-1].as_py() + 1, Mirrored(records, transactions))
    if not pending:
        producer.begin_transaction()  # the position alone: what is left of the range has no records
    done = Mirrored(records + pending, transactions + 1)
    _commit_range(task, producer, task.range.end_offset, done)
    return done


def _commit_range(task: MirrorTask, producer: "Producer", offset: int, done: Mirrored) -> None:
    """Commit the transaction with the position that has everything before an offset."""
    position = MirrorPosition.behind(task.range, task.target, offset, task.run, done)
    _commit(producer, task.target, {task.range.partition: position})


def _commit(producer: "Producer", target: MirrorTarget, positions: Mapping[int, MirrorPosition]) -> None:
    """Commit the transaction with the positions of partitions behind its records."""
    offsets = {
        TopicPartition(target.topic, partition): write_position(producer, target, partition, position)
        for partition, position in positions.items()
    }
    producer.send_offsets_to_transaction(offsets, GroupMetadata(target.group_id, -1, "", None))
    producer.commit_transaction()


def _pieces(batches: "Iterable[pa.RecordBatch]", most: int) -> "Iterator[pa.RecordBatch]":
    """Yield the batches, cut so that none has more records than a transaction is to have."""
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)
