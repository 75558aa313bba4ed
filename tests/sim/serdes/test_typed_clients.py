"""Typed producers and consumers in virtual time: values, invalid records, handlers, and repeated records."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from kctl.client import ConsumerRecord, TopicPartition
from kctl.client.errors import ConnectionRefused, KafkaError
from kctl.serdes import (
    DeadLetters,
    EncodeError,
    Json,
    Mapped,
    RecordDecodeError,
    SchemaError,
    SerdesError,
    Text,
    TypedConsumer,
    TypedProducer,
    TypedRecord,
)
from kctl.serdes.errors import LibraryMissingError, RegistryDeniedError, SchemaNotFoundError
from kctl.serdes.typed import OnError
from kctl.serdes.wire import Header
from tests.sim.kit import SimCluster, run

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Order(NamedTuple):
    """A value of the application."""

    id: int


ORDERS = Mapped(Json(), lambda found: Order(found["id"]), lambda order: {"id": order.id})


def write(cluster: SimCluster, *values: bytes | None, partition: int = 0) -> None:
    with cluster.producer() as producer:
        for value in values:
            producer.send("t", value, b"k", partition, headers=[("trace", b"a1")])


def consumer_of(cluster: SimCluster, on_error: OnError | None = None) -> TypedConsumer[str, Order]:
    client = cluster.enter(cluster.consumer(group_id="g", enable_auto_commit=False))
    client.assign([T0, T1])
    return TypedConsumer(client, Text(), ORDERS, on_error=on_error)


def values(records: list[TypedRecord[str, Order]]) -> list[tuple[str | None, Order | None]]:
    return [(each.key, each.value) for each in records]


def test_values_of_the_application_travel_through_a_topic() -> None:
    def app(cluster: SimCluster) -> None:
        with TypedProducer(cluster.producer(), Text(), ORDERS) as producer:
            producer.send("t", Order(7), "ann", partition=0)
            producer.send("t", None, "ann", partition=0)
            producer.send("t", Order(8), partition=0)
        records = consumer_of(cluster).poll(5)
        assert values(records) == [("ann", Order(7)), ("ann", None), (None, Order(8))]
        assert [(each.topic, each.partition, each.offset) for each in records] == [("t", 0, at) for at in range(3)]

    run(app, topics={"t": 2})


def test_record_that_cannot_be_decoded_is_an_error_with_its_place_until_a_seek() -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b'{"id":1}', b"{", b'{"id":3}')
        consumer = consumer_of(cluster)
        assert values(consumer.poll(5)) == [("k", Order(1))]
        for _ in range(2):
            with pytest.raises(
                RecordDecodeError, match="cannot decode the value of t-0 at offset 1: not JSON"
            ) as caught:
                consumer.poll(5)
            error = caught.value
            assert (error.topic, error.partition, error.offset, error.side, error.raw) == ("t", 0, 1, "value", b"{")
        consumer.client.commit_sync(timeout=5)
        assert cluster.sandbox.committed("g")["t", 0].offset == 1
        consumer.client.seek(T0, 2)
        assert values(consumer.poll(5)) == [("k", Order(3))]

    run(app, topics={"t": 2})


def test_other_partitions_behind_a_bad_record_come_again() -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b'{"id":1}', b"[]")
        write(cluster, b'{"id":5}', b'{"id":6}', partition=1)
        consumer = consumer_of(cluster)
        seen: list[int] = []

        def read() -> None:
            while True:
                seen.extend(each.value.id for each in consumer.poll(1) if each.value)

        with pytest.raises(RecordDecodeError) as caught:
            read()
        assert (caught.value.partition, caught.value.offset) == (0, 1)
        consumer.client.seek(T0, 2)
        for _ in range(3):
            seen += [each.value.id for each in consumer.poll(1) if each.value]
        assert sorted(seen) == [1, 5, 6]

    run(app, topics={"t": 2})


def test_loop_raises_at_the_bad_record_and_meets_it_again() -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b'{"id":1}', b"{", b'{"id":3}')
        consumer = consumer_of(cluster)
        seen: list[Order | None] = []

        def read() -> None:
            for record in consumer:
                seen.append(record.value)
                if record.value == Order(3):
                    return

        for _ in range(2):
            with pytest.raises(RecordDecodeError):
                read()
        assert seen == [Order(1)]
        assert consumer.client.position(T0, 5) == 1

    run(app, topics={"t": 2})


def test_dead_letters_have_the_bytes_and_the_reason() -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b'{"id":1}', b"{", b'{"id":3}')
        letters = DeadLetters(cluster.enter(cluster.producer()), "dead")
        consumer = consumer_of(cluster, letters)
        assert values(consumer.poll(5)) == [("k", Order(1)), ("k", Order(3))]
        (letter,) = cluster.records(0, "dead")
        headers = dict(letter.headers)
        assert (letter.key, letter.value, headers["trace"]) == (b"k", b"{", b"a1")
        assert headers["__connect.errors.offset"] == b"1"
        assert b"not JSON" in (headers["__connect.errors.exception.message"] or b"")

    run(app, topics={"t": 2, "dead": 1})


def test_record_whose_handler_fails_comes_again() -> None:
    failures = [RuntimeError("no room")]

    def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
        if failures:
            raise failures.pop()

    def app(cluster: SimCluster) -> None:
        write(cluster, b"{", b'{"id":2}')
        consumer = consumer_of(cluster, handle)
        with pytest.raises(RuntimeError, match="no room"):
            consumer.poll(5)
        assert values(consumer.poll(5)) == [("k", Order(2))]

    run(app, topics={"t": 2})


def test_records_before_a_failure_of_the_handler_are_handled_once() -> None:
    handled: list[int] = []

    def handle(record: ConsumerRecord, error: RecordDecodeError) -> None:
        if record.offset == 1 and handled.count(1) == 0:
            handled.append(1)
            raise RuntimeError("no room")
        handled.append(record.offset)

    def app(cluster: SimCluster) -> None:
        write(cluster, b"{", b"[", b'{"id":2}')
        consumer = consumer_of(cluster, handle)
        with pytest.raises(RuntimeError, match="no room"):
            consumer.poll(5)
        assert consumer.client.position(T0, 5) == 1
        assert values(consumer.poll(5)) == [("k", Order(2))]
        assert handled == [0, 1, 1]

    run(app, topics={"t": 2})


class Interrupted(Text):
    """Keys whose second one is interrupted once."""

    def __init__(self, error: BaseException) -> None:
        self.errors: list[BaseException | None] = [None, error]

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> str:
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return super().deserialize(data, topic, headers)


def test_interrupt_does_not_return_to_records_that_a_handler_has_processed() -> None:
    handled: list[int] = []

    def handle(record: ConsumerRecord, _: RecordDecodeError) -> None:
        if record.offset == 1 and 1 not in handled:
            handled.append(1)
            raise KeyboardInterrupt
        handled.append(record.offset)

    def app(cluster: SimCluster) -> None:
        write(cluster, b"{", b"[", b'{"id":2}')
        client = cluster.enter(cluster.consumer(group_id="g", enable_auto_commit=False))
        client.assign([T0])
        consumer = TypedConsumer(client, Text(), ORDERS, on_error=handle)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(5)
        assert values(consumer.poll(5)) == [("k", Order(2))]
        assert handled == [0, 1, 1]

    run(app)


def test_interrupt_and_a_silent_registry_lose_no_record() -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b'{"id":1}', b'{"id":2}')
        handled: list[object] = []
        client = cluster.enter(cluster.consumer(group_id="g", enable_auto_commit=False))
        client.assign([T0])
        consumer = TypedConsumer(client, Interrupted(KeyboardInterrupt()), ORDERS)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(5)
        assert values(consumer.poll(5)) == [("k", Order(1)), ("k", Order(2))]
        client.seek(T0, 0)
        consumer = TypedConsumer(
            client, Interrupted(ConnectionRefused("no registry")), ORDERS, on_error=lambda *given: handled.append(given)
        )
        assert values(consumer.poll(5)) == [("k", Order(1))]
        assert values(consumer.poll(5)) == [("k", Order(2))]
        assert handled == []

    run(app)


class Failing(Text):
    """Values that cannot be read."""

    def __init__(self, error: KafkaError) -> None:
        self._error = error

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> str:
        raise self._error


@pytest.mark.parametrize(
    ("error", "is_handled"),
    [
        (SchemaError("no schema"), True),
        (SchemaNotFoundError("unknown schema", status=404), True),
        (SerdesError("nested too deeply"), True),
        (RegistryDeniedError("denied", status=403), False),
        (LibraryMissingError("no library"), False),
    ],
)
def test_handler_gets_errors_of_the_data_alone(error: KafkaError, *, is_handled: bool) -> None:
    def app(cluster: SimCluster) -> None:
        write(cluster, b"v")
        client = cluster.enter(cluster.consumer(group_id="g", enable_auto_commit=False))
        client.assign([T0])
        handled: list[RecordDecodeError] = []
        consumer = TypedConsumer(client, Text(), Failing(error), on_error=lambda _record, found: handled.append(found))
        if is_handled:
            assert consumer.poll(2) == []
            assert [each.__cause__ for each in handled] == [error]
        else:
            with pytest.raises(type(error), match=str(error)):
                consumer.poll(2)
            assert handled == []

    run(app)


@pytest.mark.parametrize(("serde", "value"), [(Text(), 7), (Text(), "\ud800"), (Json('{"type": "integer"}'), "x")])
def test_value_that_does_not_fit_is_not_sent(serde: Text | Json, value: object) -> None:
    def app(cluster: SimCluster) -> None:
        with TypedProducer[str, object](cluster.producer(), Text(), serde) as producer:  # type: ignore[arg-type]
            with pytest.raises(EncodeError):
                producer.send("t", value)
            assert producer.client.close(5).delivered == 0

    run(app)
