"""A task of `replay` on a sandbox: a position that an open transaction of another task hides is waited for."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import Admin
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.producer import Producer
from kctl.pipeline.jobs.mirror_positions import (
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    create_positions_topic,
    write_position,
)
from kctl.pipeline.jobs.replay import end_transactions
from kctl.pipeline.jobs.replay_task import Destination, ReplayTask, replay_range
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.record_filter import RecordFilter
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.running import Attempt
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox

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
            replay_range(task, ATTEMPT)
        other.commit_transaction()
    found = replay_range(task, ATTEMPT)
    assert (found.records, found.resumed) == (0, True)
    assert served.sandbox.end_offset("to", 0) == 0


def test_transaction_of_a_killed_run_is_ended_before_tasks_wait_for_it(served: ServedSandbox) -> None:
    task, last = task_of(served, 0), task_of(served, 1)
    with Producer(last.producer_properties()) as killed:
        open_transaction(killed)
        commit_position(task)
        with Admin({"bootstrap.servers": served.bootstrap}) as admin:
            end_transactions(admin, [task, last])
        assert replay_range(task, ATTEMPT).records == 0
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
