"""transaction(): a block that commits records and offsets together, or aborts and lets its records come again."""

from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import AbortableTransactionError, IllegalStateError, MaxBlockTimeout
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.kit.cluster import drain
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
OUT = TopicPartition("out", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=45) as hub:
        cluster = GroupCluster(hub, topics={"t": 1, "out": 1})
        cluster.write(0, 20)
        yield cluster


def open_producer(cluster: GroupCluster) -> Producer:
    producer = cluster.producer({"transactional.id": "copier"})
    producer.init_transactions()
    return producer


def open_consumer(cluster: GroupCluster) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, enable_auto_commit=False, max_poll_records=5)
    consumer.assign([T0])
    return consumer


def copied(cluster: GroupCluster) -> list[bytes | None]:
    """Return what read_committed readers see."""
    with cluster.consumer(isolation_level="read_committed") as reader:
        reader.assign([OUT])
        return [record.value for record in reader.poll(1)]


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
        assert copied(cluster) == [b"%d" % number for number in range(20)]

    cluster.play(body)


def test_block_that_raises_is_aborted_and_its_records_come_again(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:

            def copy(error: Exception | None) -> None:
                with producer.transaction(consumer):
                    for record in drain(consumer, 5):
                        producer.send("out", record.value, partition=0)
                    if error is not None:
                        raise error

            with pytest.raises(KeyError, match="why"):
                copy(KeyError("why"))
            copy(None)
            assert committed(cluster) == 5
        assert copied(cluster) == [b"%d" % number for number in range(5)]

    cluster.play(body)


def test_record_that_cannot_be_delivered_aborts_the_transaction(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer, open_consumer(cluster) as consumer:
            cluster.sandbox.fail_requests("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            with pytest.raises(AbortableTransactionError), producer.transaction(consumer):
                producer.send("out", drain(consumer, 5)[0].value, partition=0)
            with producer.transaction(consumer):
                for record in drain(consumer, 5):
                    producer.send("out", record.value, partition=0)
            assert committed(cluster) == 5
        assert copied(cluster) == [b"%d" % number for number in range(5)]

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
        assert copied(cluster) == [b"x"]

    cluster.play(body)


def test_block_without_a_consumer_commits_records_alone(cluster: GroupCluster) -> None:
    def body() -> None:
        with open_producer(cluster) as producer:
            with producer.transaction():
                producer.send("out", b"x", partition=0)
            with pytest.raises(IllegalStateError), producer.transaction(), producer.transaction():
                pass
        assert copied(cluster) == [b"x"]

    cluster.play(body)
