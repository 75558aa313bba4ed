"""transaction(): a block that commits records and offsets together, or aborts and lets its records come again."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import (
    AbortableTransactionError,
    ApiTimeout,
    CommitFailedError,
    IllegalStateError,
    MaxBlockTimeout,
    TransactionError,
)
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.kit.cluster import dotted, drain
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.kit.transactions import seen
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=45) as hub:
        cluster = GroupCluster(hub, topics={"t": 1, "out": 1})
        cluster.write(0, 20)
        yield cluster


def open_producer(cluster: GroupCluster, **properties: object) -> Producer:
    producer = cluster.producer({"transactional.id": "copier", **dotted(properties)})
    producer.init_transactions()
    return producer


def open_consumer(cluster: GroupCluster) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, enable_auto_commit=False, max_poll_records=5)
    consumer.assign([T0])
    return consumer


def copy(producer: Producer, consumer: Consumer, timeout: float | None = None, error: Exception | None = None) -> None:
    """Copy five records, polled before the block."""
    records = drain(consumer, 5)
    with producer.transaction(consumer, timeout):
        for record in records:
            producer.send("out", record.value, partition=0)
        if error is not None:
            raise error


def numbers(count: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(count)]


def committed(cluster: GroupCluster) -> int | None:
    found = cluster.sandbox.committed(GROUP).get(("t", 0))
    return None if found is None else found.offset


def test_records_and_positions_are_committed_together(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            for _ in range(4):
                with producer.transaction(consumer):
                    for record in drain(consumer, 5):
                        producer.send("out", record.value, partition=0)
            assert committed(cluster) == 20
        assert seen(cluster, "out") == numbers(20)

    cluster.play(body)


def test_block_that_raises_is_aborted_and_its_records_come_again(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            with pytest.raises(KeyError, match="why"):
                copy(producer, consumer, error=KeyError("why"))
            copy(producer, consumer)
            assert committed(cluster) == 5
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


def test_record_that_cannot_be_delivered_aborts_the_transaction(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            cluster.sandbox.fail_requests("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            with pytest.raises(AbortableTransactionError), producer.transaction(consumer):
                producer.send("out", drain(consumer, 5)[0].value, partition=0)
            copy(producer, consumer)
            assert committed(cluster) == 5
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


def test_commit_that_times_out_continues_and_can_be_waited_for(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer:

            def send() -> None:
                with producer.transaction(timeout=0.3):
                    producer.send("out", b"x", partition=0).result()
                    for node_id in (1, 2, 3):
                        cluster.sandbox.start_fault(node_id, Fault.FREEZE)

            with pytest.raises(MaxBlockTimeout):
                send()
            cluster.sandbox.heal()
            producer.commit_transaction()
        assert seen(cluster, "out") == [b"x"]

    cluster.play(body)


def test_block_without_a_consumer_commits_records_alone(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer:
            with producer.transaction():
                producer.send("out", b"x", partition=0)
            with pytest.raises(IllegalStateError), producer.transaction(), producer.transaction():
                pass
        assert seen(cluster, "out") == [b"x"]

    cluster.play(body)


def test_block_whose_offsets_time_out_is_aborted_and_its_records_come_again(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            cluster.sandbox.fail_requests("TxnOffsetCommit", ErrorCode.COORDINATOR_NOT_AVAILABLE, times=1000)
            with pytest.raises(AbortableTransactionError) as caught:
                copy(producer, consumer, timeout=1)
            assert isinstance(caught.value.cause, MaxBlockTimeout)
            cluster.sandbox.heal()
            copy(producer, consumer)
            assert committed(cluster) == 5
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


@pytest.mark.parametrize("is_delivered", [True, False])
def test_consumer_after_a_commit_that_timed_out_continues_where_the_commit_ends(
    cluster: GroupCluster, is_delivered: bool
) -> None:
    def body() -> None:
        with (
            open_producer(cluster, delivery_timeout_ms=5000, request_timeout_ms=1000, linger_ms=0) as producer,
            open_consumer(cluster) as consumer,
        ):
            cluster.sandbox.fail_requests("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1000)
            with pytest.raises(MaxBlockTimeout):
                copy(producer, consumer, timeout=1)
            assert consumer.poll(timeout=1) == [], "the commit continues"
            if is_delivered:
                cluster.sandbox.heal()
                producer.commit_transaction()
            else:
                with pytest.raises(AbortableTransactionError):
                    producer.commit_transaction()
                producer.abort_transaction()
                cluster.sandbox.heal()
            copy(producer, consumer)
            assert committed(cluster) == (10 if is_delivered else 5)
        assert seen(cluster, "out") == numbers(10 if is_delivered else 5)

    cluster.play(body)


def test_block_that_cannot_begin_returns_the_consumer_to_its_committed_offsets(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            producer.begin_transaction()
            with pytest.raises(IllegalStateError):
                copy(producer, consumer)
            producer.abort_transaction()
            copy(producer, consumer)
            assert committed(cluster) == 5
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


@pytest.mark.slow
def test_interrupted_block_copies_each_record_once(cluster: GroupCluster) -> None:
    count = 0

    def body() -> None:
        nonlocal count
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:

            def scene(interrupted: Interrupted) -> None:
                nonlocal count
                cluster.write(0, 5, first=20 + count)
                count += 5
                records = drain(consumer, 5)
                block = producer.transaction(consumer)

                def run() -> None:
                    with block:
                        for record in records:
                            producer.send("out", record.value, partition=0)

                if interrupted(run):
                    for end in (producer.commit_transaction, producer.abort_transaction):
                        with suppress(IllegalStateError, TransactionError):
                            end()

            assert each_boundary(scene, step=7) > 100
            while consumer.lag()[T0]:
                copy(producer, consumer)
        assert seen(cluster, "out") == numbers(20 + count)

    cluster.play(body)


def copy_for(cluster: GroupCluster, producer: Producer, consumer: Consumer, seconds: float) -> None:
    """Copy in transactions with one poll before each."""
    end_ms = cluster.hub.now_ms + round(seconds * 1000)
    while cluster.hub.now_ms < end_ms:
        records = consumer.poll(timeout=1)
        with producer.transaction(consumer):
            for record in records:
                producer.send("out", record.value, partition=0)


@pytest.mark.parametrize("is_polled_inside", [True, False])
@pytest.mark.parametrize(
    "properties",
    [
        {"partition_assignment_strategy": "range"},
        {"partition_assignment_strategy": "cooperative-sticky"},
        {"group_protocol": "consumer"},
    ],
    ids=lambda properties: "-".join(properties.values()),
)
def test_block_with_a_rebalance_among_its_polls_is_aborted_and_each_record_is_copied_once(
    properties: dict[str, str], is_polled_inside: bool
) -> None:
    with Hub(seed=46) as hub:
        cluster = GroupCluster(hub, topics={"t": 2, "out": 1})
        cluster.write(0, 20)
        cluster.write(1, 20, first=20)

        def member() -> Consumer:
            consumer = cluster.consumer(group_id=GROUP, enable_auto_commit=False, **properties)
            consumer.subscribe(["t"])
            return consumer

        def first() -> None:
            with open_producer(cluster) as producer, member() as consumer:

                def poll_often() -> None:
                    records = [] if is_polled_inside else cluster.read(consumer, 15)
                    with producer.transaction(consumer):
                        for record in records or cluster.read(consumer, 15):
                            producer.send("out", record.value, partition=0)

                with pytest.raises(AbortableTransactionError) as caught:
                    poll_often()
                assert isinstance(caught.value.cause, CommitFailedError)
                copy_for(cluster, producer, consumer, 10)

        def second() -> None:
            cluster.hub.sleep_ms(8000)
            with open_producer(cluster, transactional_id="b") as producer, member() as consumer:
                copy_for(cluster, producer, consumer, 20)

        cluster.play(first, second)
        copies: list[bytes | None] = []
        cluster.play(lambda: copies.extend(seen(cluster, "out")))
        assert sorted(copies, key=lambda value: int(value or b"")) == numbers(40)


def test_partitions_unassigned_by_the_program_before_the_block_do_not_abort_it(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            drain(consumer, 5)
            consumer.assign([])
            consumer.assign([T0])
            copy(producer, consumer)
            assert committed(cluster) == 5

    cluster.play(body)


def test_partition_with_committed_records_can_be_revoked_before_the_block(cluster: GroupCluster) -> None:
    """Aborted records move the position, but are not returned."""

    def body() -> None:
        properties = {"group_id": GROUP, "enable_auto_commit": False, "isolation_level": "read_committed"}
        with (
            open_producer(cluster) as producer,
            cluster.consumer(**properties) as consumer,
            cluster.consumer(**properties) as other,
        ):
            consumer.subscribe(["t"])
            other.subscribe(["t"])
            with producer.transaction(consumer):
                drain(consumer, 20)
            with suppress(KeyError), producer.transaction():
                producer.send("t", b"aborted", partition=0).result()
                raise KeyError
            assert consumer.poll(timeout=1) == []
            assert consumer.position(T0) == 22
            while consumer.assignment == [T0]:
                other.poll(timeout=1)
                consumer.poll(timeout=1)
            with producer.transaction(consumer):
                pass

    cluster.play(body)


@pytest.mark.parametrize("is_at_end", [False, True])
def test_block_that_resets_its_consumer_after_records_commits_the_new_position(
    cluster: GroupCluster, is_at_end: bool
) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            with producer.transaction(consumer):
                for record in drain(consumer, 5):
                    producer.send("out", record.value, partition=0)
                (consumer.seek_to_end if is_at_end else consumer.seek_to_beginning)()
            assert committed(cluster) == (20 if is_at_end else 0)
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


def test_block_whose_new_position_is_not_found_is_aborted(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:

            def copy_and_reset() -> None:
                with producer.transaction(consumer, timeout=1):
                    for record in drain(consumer, 5):
                        producer.send("out", record.value, partition=0).result()
                    consumer.seek_to_end()
                    cluster.sandbox.fail_requests("ListOffsets", ErrorCode.LEADER_NOT_AVAILABLE, times=1000)

            with pytest.raises(AbortableTransactionError) as caught:
                copy_and_reset()
            assert isinstance(caught.value.cause, ApiTimeout)
            cluster.sandbox.heal()
            copy(producer, consumer)
        assert seen(cluster, "out") == numbers(5)

    cluster.play(body)


def test_block_with_an_unassignment_after_a_reset_is_aborted(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:

            def copy_and_unassign() -> None:
                with producer.transaction(consumer):
                    producer.send("out", drain(consumer, 5)[0].value, partition=0)
                    consumer.seek_to_end()
                    consumer.assign([])

            with pytest.raises(AbortableTransactionError):
                copy_and_unassign()
        assert seen(cluster, "out") == []

    cluster.play(body)


@pytest.mark.parametrize("is_sought", [False, True])
def test_block_that_raises_before_the_first_commit_returns_to_the_first_position(
    cluster: GroupCluster, is_sought: bool
) -> None:
    def body() -> None:
        properties = {"group_id": GROUP, "enable_auto_commit": False, "auto_offset_reset": "latest"}
        with open_producer(cluster) as producer, cluster.consumer(**properties) as consumer:
            consumer.assign([T0])
            if is_sought:
                consumer.seek(T0, 15)
            else:
                assert consumer.poll(timeout=1) == []
                cluster.write(0, 5, first=20)
            with pytest.raises(KeyError):
                copy(producer, consumer, error=KeyError("why"))
            if is_sought:
                assert consumer.position(T0) == 15
            copy(producer, consumer)
        first = 15 if is_sought else 20
        assert seen(cluster, "out") == numbers(first + 5)[first:]

    cluster.play(body)


@pytest.mark.parametrize(
    ("properties", "text"),
    [({"group_id": GROUP}, "enable.auto.commit=false"), ({"enable_auto_commit": False}, "group.id")],
    ids=["automatic-commits", "no-group"],
)
def test_block_of_a_consumer_that_it_cannot_commit_for_is_refused_before_it_begins(
    cluster: GroupCluster, properties: dict[str, object], text: str
) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, cluster.consumer(**properties) as consumer:
            with pytest.raises(IllegalStateError, match=text):
                producer.transaction(consumer)
            producer.begin_transaction()  # none is open
            producer.abort_transaction()

    cluster.play(body)
