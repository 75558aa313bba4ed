"""Serdes of a registry on loopback: schemas registered and found by id, keys, readers, threads, and errors."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client import Consumer, Producer
from kctl.client.errors import ConfigError, KafkaError
from kctl.serdes import DecodeError, EncodeError, Registry, RegistryError, TypedConsumer, TypedProducer, TypedRecord
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER
from kctl.testing import KafkaSandbox
from tests.support.bounds import bound
from tests.support.registry.server import FakeRegistry, running

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
WIDER = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)
PATIENCE_S = bound(60)


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with running(FakeRegistry()) as fake:
        yield fake


@pytest.fixture
def registry(fake: FakeRegistry) -> Iterator[Registry]:
    with Registry({"schema.registry.url": fake.url, "request.timeout.ms": "5000"}) as registry:
        yield registry


def test_typed_clients_share_schemas_by_the_registry(fake: FakeRegistry, registry: Registry) -> None:
    with KafkaSandbox(1, topics={"orders": 1}) as kafka:
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        with TypedProducer(Producer(servers), registry.avro('"string"', is_key=True), registry.avro(ORDER)) as producer:
            for number in range(3):
                producer.send("orders", {"id": number}, "ann")
        assert registry.client.subjects() == ["orders-key", "orders-value"]
        read = Consumer({**servers, "group.id": "g", "auto.offset.reset": "earliest"})
        with TypedConsumer(read, registry.avro(is_key=True), registry.avro(reader=WIDER)) as consumer:
            consumer.client.subscribe(["orders"])
            found: list[TypedRecord[str, Any]] = []
            while len(found) < 3:
                found += consumer.poll(PATIENCE_S)
        assert [(each.key, each.value) for each in found] == [("ann", {"id": at, "note": "none"}) for at in range(3)]


def test_schema_is_requested_once(fake: FakeRegistry, registry: Registry) -> None:
    serde = registry.json_schema('{"type": "integer"}')
    data = [serde.serialize(number, "t") for number in range(50)]
    assert [registry.json_schema().deserialize(each, "t", ()) for each in data] == list(range(50))
    assert len(fake.requests) <= 3
    with pytest.raises(EncodeError):
        serde.serialize("x", "t")


def test_many_threads_encode_and_decode(registry: Registry) -> None:
    serde, wrong = registry.avro(ORDER), []

    def work(first: int) -> None:
        for number in range(first, first + 200):
            if serde.deserialize(serde.serialize({"id": number}, "t"), "t", ()) != {"id": number}:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1000, 2000, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_bytes_without_a_schema_and_of_another_type_are_decode_errors(registry: Registry) -> None:
    with pytest.raises(DecodeError, match="no schema ID"):
        registry.avro().deserialize(b"plain", "t", ())
    data = registry.json_schema('{"type": "integer"}').serialize(7, "t")
    with pytest.raises(DecodeError, match="schema 1 has type JSON, expected AVRO"):
        registry.avro().deserialize(data, "t", ())


def test_subjects_are_checked_before_the_first_value(registry: Registry) -> None:
    for subject in ("auto", "id:0", "", "record:"):
        with pytest.raises(ValueError, match=r"subject|id|name"):
            registry.avro(subject=subject)
    with pytest.raises(ValueError, match="invalid subject 'id:7'"):
        registry.avro(ORDER, subject="id:7")
    with pytest.raises(RegistryError):
        registry.avro(subject="missing").serialize({"id": 1}, "t")


def test_registry_needs_a_url_and_known_properties() -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is not set"):
        Registry({})
    with pytest.raises(ConfigError, match="unknown property"):
        Registry({"schema.registry.url": "http://127.0.0.1:1", "nonsense": 1})
    with Registry({"schema.registry.url": "http://127.0.0.1:1"}) as registry, pytest.raises(KafkaError):
        registry.avro(ORDER).serialize({"id": 1}, "t")


def test_schema_in_a_header_counts_for_its_own_side_alone(registry: Registry) -> None:
    key = registry.avro('"string"', is_key=True)
    data = key.serialize("ann", "t")
    header, payload = data[:5], data[5:]
    assert key.deserialize(payload, "t", [(KEY_HEADER, header)]) == "ann"
    with pytest.raises(DecodeError, match="no schema ID"):
        key.deserialize(payload, "t", [(VALUE_HEADER, header)])
