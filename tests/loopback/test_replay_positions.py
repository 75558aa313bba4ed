"""A task of `replay` on a sandbox: a position that an open transaction of another task hides is waited for."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from kctl.client.admin import Admin
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.producer import Producer
from kctl.pipeline.jobs import replay_task
from kctl.pipeline.jobs.mirror_positions import (
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    create_positions_topic,
    write_position,
)
from kctl.pipeline.jobs.replay_task import Destination, Replayed, ReplayTask, end_transactions, replay_ranges
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.record_filter import RecordFilter
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.task_rounds import Attempt
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.pipeline.exports import on_topic
from tests.support.killed_commits import KilledError, killed_after

Batches = Callable[[ReplayTask, int], Iterator[pa.RecordBatch]]
RECORDS = 5
ATTEMPT = Attempt(0, 1)


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"source": 2, "to": 1}).serve() as served:
        with Admin({"bootstrap.servers": served.bootstrap}) as admin:
            create_positions_topic(admin)
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            for number in range(RECORDS):
                producer.send("source", b"%d" % number, partition=0)
        yield served


def task_of(served: ServedSandbox, partition: int) -> ReplayTask:
    properties: dict[str, object] = {"bootstrap.servers": served.bootstrap, "default.api.timeout.ms": "1500"}
    return ReplayTask(
        "run",
        OffsetRange("source", partition, 0, RECORDS, "", RECORDS),
        (),
        None,
        MirrorTarget("source", "kctl-replay.test"),
        RecordFilter(),
        Destination("to", None, None, 3, False, False),
        None,
        properties,
        properties,
        True,
    )


def replayed(*tasks: ReplayTask) -> list[Replayed]:
    """Return what became of ranges of one Spark task."""
    return list(replay_ranges(tasks, ATTEMPT))


def commit_position(task: ReplayTask) -> None:
    """Commit, as another run of the task, that everything is replayed."""
    with Producer(task.producer_properties()) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        write_position(producer, task.target, task.offsets.partition, MirrorPosition(ResumePoint(RECORDS), ""))
        producer.commit_transaction()


def open_transaction(producer: Producer) -> None:
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(POSITIONS_TOPIC, b"{}", b"[]")
    producer.flush()


def test_no_record_is_replayed_twice_while_another_transaction_is_open(served: ServedSandbox) -> None:
    task = task_of(served, 0)
    with Producer({"bootstrap.servers": served.bootstrap, "transactional.id": "of another job"}) as other:
        open_transaction(other)
        commit_position(task)
        with pytest.raises(ApiTimeout, match="an open transaction begins at offset 0"):
            replayed(task)
        other.commit_transaction()
    (found,) = replayed(task)
    assert (found.records, found.resumed) == (0, True)
    assert served.sandbox.end_offset("to", 0) == 0


def test_transaction_of_a_killed_run_is_ended_before_tasks_wait_for_it(served: ServedSandbox) -> None:
    task, last = task_of(served, 0), task_of(served, 1)
    with Producer(last.producer_properties()) as killed:
        open_transaction(killed)
        commit_position(task)
        with Admin({"bootstrap.servers": served.bootstrap}) as admin:
            end_transactions(admin, [task, last])
        assert replayed(task)[0].records == 0
        with pytest.raises(KafkaError):
            killed.commit_transaction()


def test_transaction_of_a_killed_run_is_ended_in_any_partition_of_the_positions_topic() -> None:
    with Sandbox(nodes=1, topics={"source": 2, "to": 1, POSITIONS_TOPIC: 3}).serve() as served:
        last = task_of(served, 1)
        with Producer(last.producer_properties()) as killed:
            killed.init_transactions()
            killed.begin_transaction()
            killed.send(POSITIONS_TOPIC, b"{}", b"[]", partition=2)
            killed.flush()
            with Admin({"bootstrap.servers": served.bootstrap}) as admin:
                end_transactions(admin, [last])
            with pytest.raises(KafkaError):
                killed.commit_transaction()


def in_pairs(batches: Batches) -> Batches:
    """Return batches of two records."""

    def cut(task: ReplayTask, start: int) -> Iterator[pa.RecordBatch]:
        for batch in batches(task, start):
            yield from (batch.slice(at, 2) for at in range(0, batch.num_rows, 2))

    return cut


@pytest.mark.parametrize("kept", range(3))
def test_attempts_after_a_kill_replay_the_rest_of_their_ranges_and_count_all_of_them(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """Of three transactions, of two records each and of the last one, the one after some that were kept fails."""
    monkeypatch.setattr(replay_task, "COMMIT_ROWS", 2)
    monkeypatch.setattr(replay_task, "_batches", in_pairs(replay_task._batches))
    tasks = (task_of(served, 0), task_of(served, 1)._replace(offsets=OffsetRange("source", 1, 0, 0)))
    with monkeypatch.context() as patched:
        patched.setattr(Producer, "commit_transaction", killed_after(kept))
        with pytest.raises(KilledError):
            replayed(*tasks)
    whole = [Replayed(RECORDS, (("to", RECORDS),)), Replayed()]
    assert replayed(*tasks) == whole
    assert replayed(*tasks) == whole, "a third attempt has nothing to do"
    assert replayed(*(task._replace(run="another") for task in tasks)) == [Replayed(resumed=True), Replayed()]
    committed = {"bootstrap.servers": served.bootstrap, "isolation.level": "read_committed"}
    assert [row.value for row in on_topic(committed, "to")] == [b"%d" % number for number in range(RECORDS)]


def test_attempt_ends_the_transaction_that_a_killed_one_left_open_in_a_later_range(served: ServedSandbox) -> None:
    """Until its end the position of the first range cannot be read."""
    first, last = task_of(served, 0), task_of(served, 1)._replace(offsets=OffsetRange("source", 1, 0, 0))
    with Producer(last.producer_properties()) as killed:
        open_transaction(killed)
        commit_position(first)
        assert list(replay_ranges((first, last), Attempt(1, 2))) == [Replayed(resumed=True), Replayed()]
        with pytest.raises(KafkaError):
            killed.commit_transaction()
