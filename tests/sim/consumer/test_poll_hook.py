"""The hook of poll and of loops: it gets each record once, before the application does."""

import pytest

from kctl.client import Consumer, TopicPartition
from kctl.client.consumer import ConsumerRecord, OnPoll
from kctl.client.errors import IllegalStateError
from tests.sim.kit import SimCluster, run

T0 = TopicPartition("t", 0)


def write(cluster: SimCluster, count: int) -> None:
    with cluster.producer() as producer:
        for number in range(count):
            producer.send("t", b"%d" % number, partition=0)


def consumer_with(cluster: SimCluster, on_poll: OnPoll, **properties: object) -> Consumer:
    config = {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"}
    more = {name.replace("_", "."): value for name, value in properties.items()}
    consumer = cluster.enter(Consumer({**config, **more}, cluster.runtime, on_poll=on_poll))
    consumer.assign([T0])
    return consumer


def test_poll_shows_its_list_and_a_loop_each_record() -> None:
    def app(cluster: SimCluster) -> None:
        shown: list[list[int]] = []
        write(cluster, 6)
        consumer = consumer_with(cluster, lambda records: shown.append([each.offset for each in records]))
        assert consumer.poll(0) == []
        consumer.seek(T0, 0)
        for record in consumer:
            assert shown[-1] == [record.offset], "before the application has it"
            if record.offset == 2:
                break
        assert [record.offset for record in consumer.poll(5)] == [3, 4, 5]
        assert shown == [[0], [1], [2], [3, 4, 5]]

    run(app)


def test_records_come_again_if_the_hook_raises() -> None:
    def app(cluster: SimCluster) -> None:
        failures = [LookupError("first"), LookupError("second")]

        def on_poll(_: object) -> None:
            if failures:
                raise failures.pop()

        write(cluster, 2)
        consumer = consumer_with(cluster, on_poll, group_id="g")
        with pytest.raises(LookupError):
            consumer.poll(5)
        consumer.commit_sync(timeout=5)
        assert consumer.position(T0) == 0, "the application has no record"
        with pytest.raises(LookupError):
            next(iter(consumer))
        assert [record.offset for record in consumer.poll(5)] == [0, 1]

    run(app)


def test_hook_that_calls_the_consumer_is_an_error_and_loses_no_record() -> None:
    def app(cluster: SimCluster) -> None:
        calls = [1, 2]

        def on_poll(_: object) -> None:
            if calls:
                calls.pop()
                consumer.position(T0)

        write(cluster, 2)
        consumer = consumer_with(cluster, on_poll)
        for _ in range(2):
            with pytest.raises(IllegalStateError, match="on_poll must not call the consumer"):
                consumer.poll(5)
        assert [record.offset for record in consumer.poll(5)] == [0, 1]

    run(app)


def test_chunks_are_not_shown() -> None:
    def app(cluster: SimCluster) -> None:
        shown: list[ConsumerRecord] = []
        write(cluster, 2)
        consumer = consumer_with(cluster, shown.extend)
        assert consumer.poll_chunk(5) is not None
        assert shown == []

    run(app)


def test_hook_that_is_not_a_function_is_a_type_error() -> None:
    def app(cluster: SimCluster) -> None:
        with pytest.raises(TypeError, match="on_poll"):
            consumer_with(cluster, "hook")  # type: ignore[arg-type]

    run(app)
