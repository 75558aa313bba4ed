"""Schemas on a real registry (Apicurio), records of foreign serializers, on Kafka 4.3.1.

Each format is written by confluent-kafka and by Apicurio's serializers of Java and read by kctl, and the other way
round.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP_FILE

from kctl.cli.exit_codes import ExitCode
from kctl.client import Producer
from tests.cli.processes import Ended, kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.registry.apicurio import running_apicurio
from tests.support.registry.apicurio_serde import ApicurioSerde, running_apicurio_serde
from tests.support.registry.server import FakeRegistry, running

pytestmark = pytest.mark.nightly

ITEM = json.dumps({"type": "record", "name": "shop.Item", "fields": [{"name": "sku", "type": "string"}]})
CART = json.dumps(
    {
        "type": "record",
        "name": "shop.Cart",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "items", "type": {"type": "array", "items": "shop.Item"}},
            {"name": "how", "type": ["null", "string", "long"], "default": None},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)
VALUE = {"id": 7, "items": [{"sku": "a"}, {"sku": "é"}], "how": {"long": 5}, "at": 1767312000000}
NOTE = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Note",
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
)
OF_JAVA = '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
GOODS = {"type": "record", "name": "shop.Item", "fields": [{"name": "price", "type": DECIMAL}]}
SHAPE = json.dumps(
    {
        "type": "record",
        "name": "shop.Shape",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "how", "type": ["null", "string", {"type": "map", "values": "double"}, GOODS]},
            {"name": "other", "type": ["null", "string", {"type": "map", "values": "double"}]},
            {"name": "price", "type": DECIMAL},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "kind", "type": {"type": "enum", "name": "shop.Kind", "symbols": ["A", "B"]}},
            {"name": "hash", "type": {"type": "fixed", "name": "shop.Hash", "size": 2}},
        ],
    }
)
JAVA_VALUE = {
    "id": 2**40,
    "how": {"shop.Item": {"price": "\x7f"}},
    "other": {"map": {"é": 0.5}},
    "price": "\x04â",
    "at": -1,
    "kind": "A",
    "hash": "\x00ÿ",
}
IN_KCTL = {**JAVA_VALUE, "how": {"shop.Item": {"price": "1.27"}}, "price": "12.50"}


@pytest.fixture(scope="module")
def registry_url() -> Iterator[str]:
    with running_apicurio() as url:
        yield url


@pytest.fixture(scope="module")
def java(registry_url: str) -> Iterator[ApicurioSerde]:
    with running_apicurio_serde(registry_url.replace("/apis/ccompat/v7", "/apis/registry/v3")) as started:
        yield started


class Scene:
    """A topic, a registry, and a foreign client of it."""

    def __init__(self, kafka: KafkaCluster, url: str, foreign: SchemaRegistryClient | None = None) -> None:
        self.bootstrap = kafka.bootstrap()
        self.topic = kafka.create_topic()
        self.environ = {
            "KCTL_BOOTSTRAP_SERVERS": self.bootstrap,
            "KCTL_SCHEMA_REGISTRY_URL": url,
        }
        self._foreign = foreign
        self.context = SerializationContext(self.topic, MessageField.VALUE)

    @property
    def foreign(self) -> SchemaRegistryClient:
        """A foreign client of the registry."""
        assert self._foreign is not None
        return self._foreign

    def run(self, *words: str, stdin: bytes = b"") -> Ended:
        return kctl(*words, stdin=stdin, environ=self.environ)

    def send(self, *values: bytes) -> None:
        with Producer({"bootstrap.servers": self.bootstrap}) as producer:
            for value in values:
                producer.send(self.topic, value=value)

    def read(self) -> list[dict[str, Any]]:
        ended = self.run("consume", self.topic, "-e", "--decode", "auto", "--output", "jsonl")
        assert ended.code == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def write(self, value: Any, *encode: str) -> bytes:
        """Return the bytes that kctl writes for a value."""
        ended = self.run("produce", self.topic, "--encode", *encode, stdin=json.dumps(value).encode())
        assert ended.code == 0, ended.stderr
        return self.raw()[-1]

    def raw(self) -> list[bytes]:
        ended = self.run("consume", self.topic, "-e", "--output", "hex")
        return [bytes.fromhex(line.decode()) for line in ended.stdout.splitlines()]


@pytest.fixture
def scene(kafka_newest: KafkaCluster, registry_url: str) -> Iterator[Scene]:
    with SchemaRegistryClient({"url": registry_url}) as foreign:
        yield Scene(kafka_newest, registry_url, foreign)


def test_avro_with_references_goes_both_ways(scene: Scene) -> None:
    item = f"{scene.topic}-item"
    scene.foreign.register_schema(item, Schema(ITEM, "AVRO"))
    cart = Schema(CART, "AVRO", [SchemaReference("shop.Item", item, 1)])
    serialize = AvroSerializer(scene.foreign, cart, conf={"auto.register.schemas": True})
    written = serialize({**VALUE, "how": 5}, scene.context)
    assert written is not None
    scene.send(written)
    [record] = scene.read()
    assert record["value"] == VALUE
    sent = scene.run("produce", scene.topic, "--encode", "value=topic", stdin=json.dumps(VALUE).encode())
    assert sent.code == 0, sent.stderr
    assert scene.raw() == [written, written]
    assert AvroDeserializer(scene.foreign)(scene.raw()[1], scene.context)["items"] == VALUE["items"]


def test_json_schema_goes_both_ways(scene: Scene) -> None:
    serialize = JSONSerializer(NOTE, scene.foreign)
    written = serialize({"text": "é"}, scene.context)
    assert written is not None
    scene.send(written)
    [record] = scene.read()
    assert (record["value"], record["value_schema"]["type"]) == ({"text": "é"}, "JSON")
    assert scene.run("produce", scene.topic, "--encode", "value=topic", stdin=b'{"text":"x"}').code == 0
    assert JSONDeserializer(NOTE)(scene.raw()[1], scene.context) == {"text": "x"}
    wrong = scene.run("produce", scene.topic, "--encode", "value=topic", stdin=b'{"text":5}')
    assert wrong.code == ExitCode.DATA
    assert "at /text" in wrong.stderr


def test_protobuf_goes_both_ways(scene: Scene) -> None:
    """A message of a file that refers to others: oneof, map, repeated, enumeration, timestamp and bytes."""
    order = order_class(scene.topic)
    serialize = ProtobufSerializer(order, scene.foreign, {"use.deprecated.format": False})
    message = order(id=7, how={"card": "x"}, counts={"é": 2**40}, raw=b"\xff", state=1)
    message.items.add(sku="a")
    message.at.FromJsonString("2026-01-02T12:00:00.500Z")
    written = serialize(message, SerializationContext(scene.topic, MessageField.VALUE))
    assert written is not None
    scene.send(written)
    [record] = scene.read()
    assert record["value_schema"]["type"] == "PROTOBUF"
    assert record["value"] == {
        "id": "7",
        "items": [{"sku": "a"}],
        "counts": {"é": "1099511627776"},
        "how": {"card": "x"},
        "at": "2026-01-02T12:00:00.500Z",
        "raw": "/w==",
        "state": "PAID",
    }
    sent = scene.run(
        "produce",
        scene.topic,
        "--encode",
        f"id:{record['value_schema']['id']}",
        stdin=json.dumps(record["value"]).encode(),
    )
    assert sent.code == 0, sent.stderr
    deserialize = ProtobufDeserializer(order, {"use.deprecated.format": False})
    for value in scene.raw():
        assert deserialize(value, SerializationContext(scene.topic, MessageField.VALUE)) == message


def order_class(name: str) -> Any:
    """Return the class of a message whose file refers to another one and to a well-known type."""
    item = FileDescriptorProto(name=f"{name}/item.proto", package="shop", syntax="proto3")
    item.message_type.add(name="Item").field.add(name="sku", number=1, type="TYPE_STRING", label="LABEL_OPTIONAL")
    file = FileDescriptorProto(name=f"{name}/order.proto", package="shop", syntax="proto3")
    file.dependency.extend([item.name, "google/protobuf/timestamp.proto"])
    file.enum_type.add(name="State").value.add(name="OPEN", number=0)
    file.enum_type[0].value.add(name="PAID", number=1)
    order = file.message_type.add(name="Order")

    def add(to: DescriptorProto, name: str, number: int, kind: str, of: str = "", *, many: bool = False) -> None:
        label = "LABEL_REPEATED" if many else "LABEL_OPTIONAL"
        to.field.add(name=name, number=number, type=kind, type_name=of or None, label=label)

    add(order, "id", 1, "TYPE_INT64")
    add(order, "items", 2, "TYPE_MESSAGE", ".shop.Item", many=True)
    add(order, "counts", 3, "TYPE_MESSAGE", ".shop.Order.CountsEntry", many=True)
    add(order, "how", 4, "TYPE_MESSAGE", ".shop.Order.How")
    add(order, "at", 5, "TYPE_MESSAGE", ".google.protobuf.Timestamp")
    add(order, "raw", 6, "TYPE_BYTES")
    add(order, "state", 7, "TYPE_ENUM", ".shop.State")
    entry = order.nested_type.add(name="CountsEntry", options={"map_entry": True})
    add(entry, "key", 1, "TYPE_STRING")
    add(entry, "value", 2, "TYPE_INT64")
    how = order.nested_type.add(name="How", oneof_decl=[{"name": "way"}])
    add(how, "card", 1, "TYPE_STRING")
    add(how, "cash", 2, "TYPE_INT32")
    for field in how.field:
        field.oneof_index = 0
    pool = DescriptorPool()
    for each in (TIMESTAMP_FILE.serialized_pb, item.SerializeToString(), file.SerializeToString()):
        pool.AddSerializedFile(each)
    return GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_schema_evolves_and_a_readers_schema_applies(scene: Scene, tmp_path: Path) -> None:
    old = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    new = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 9}],
        }
    )
    file = tmp_path / "new.avsc"
    subject = f"{scene.topic}-value"
    assert scene.run("schemas", "config", subject, "--set", "BACKWARD").code in (0, ExitCode.UNKNOWN_RESOURCE)
    for text in (old, new):
        file.write_text(text)
        assert scene.run("schemas", "register", subject, str(file)).code == 0
        value = b'{"a":1}' if text == old else b'{"a":2,"b":3}'
        assert scene.run("produce", scene.topic, "--encode", "value=topic", stdin=value).code == 0
    assert [record["value"] for record in scene.read()] == [{"a": 1}, {"a": 2, "b": 3}]
    ended = scene.run("consume", scene.topic, "-e", "--decode", "avro", "--avsc", str(file))
    assert [json.loads(line) for line in ended.stdout.splitlines()] == [{"a": 1, "b": 9}, {"a": 2, "b": 3}]


def _subjects(scene: Scene, words: tuple[str, ...]) -> Any:
    ended = scene.run("schemas", *words, "--json")
    return ended.code, json.loads(ended.stdout)["rows"] if ended.stdout else None


@pytest.mark.parametrize("is_real", [True, False], ids=["apicurio", "fake"])
def test_registry_of_the_tests_answers_as_a_real_one(
    is_real: bool, registry_url: str, kafka_newest: KafkaCluster, tmp_path: Path
) -> None:
    """The same requests of kctl get the same rows and exit codes."""
    with running(FakeRegistry()) as fake:
        scene = Scene(kafka_newest, registry_url if is_real else fake.url)
        subject = f"{scene.topic}-s"
        old, new = tmp_path / "old.avsc", tmp_path / "new.avsc"
        fields = [{"name": "a", "type": "int"}]
        old.write_text(json.dumps({"type": "record", "name": "R", "fields": fields}))
        new.write_text(json.dumps({"type": "record", "name": "R", "fields": [*fields, {"name": "b", "type": "int"}]}))
        assert _subjects(scene, ("list", subject)) == (0, [])
        code, rows = _subjects(scene, ("register", subject, str(old)))
        assert (code, rows[0]["version"]) == (0, 1)
        assert _subjects(scene, ("list", subject)) == (0, [{"subject": subject, "versions": [1], "latest_version": 1}])
        assert _subjects(scene, ("config", subject, "--set", "BACKWARD"))[0] == 0
        assert _subjects(scene, ("check", subject, str(new)))[0] == ExitCode.DATA
        assert _subjects(scene, ("register", subject, str(new))) == (ExitCode.DATA, None)
        assert _subjects(scene, ("show", subject, "--version", "9")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("show", "99999")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("show", "nothing")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("delete", subject, "--yes"))[0] == 0
        assert _subjects(scene, ("list", subject)) == (0, [])


def test_avro_of_java_with_unions_and_logical_types_goes_both_ways(scene: Scene, java: ApicurioSerde) -> None:
    written = java.write(scene.topic, "avro", SHAPE.encode(), json.dumps(JAVA_VALUE).encode())
    scene.send(written)
    [record] = scene.read()
    assert (record["value"], record["value_schema"]["type"]) == (IN_KCTL, "AVRO")
    of_kctl = scene.write(record["value"], "value=topic")
    assert of_kctl == written
    assert json.loads(java.read(scene.topic, "avro", of_kctl)) == JAVA_VALUE


def test_json_schema_of_java_goes_both_ways(scene: Scene, java: ApicurioSerde, tmp_path: Path) -> None:
    file = tmp_path / "note.json"
    file.write_text(OF_JAVA)
    assert scene.run("schemas", "register", f"{scene.topic}-value", str(file), "--type", "json").code == 0
    scene.send(java.write(scene.topic, "json", b'{"text":"\\u00e9"}'))
    [record] = scene.read()
    assert (record["value"], record["value_schema"]["type"]) == ({"text": "é"}, "JSON")
    of_kctl = scene.write({"text": "x"}, "value=topic")
    assert json.loads(java.read(scene.topic, "json", of_kctl)) == {"text": "x"}


@pytest.mark.parametrize("form", ["protobuf", "protobuf-own"])
def test_protobuf_of_java_goes_both_ways_by_a_local_file(
    scene: Scene, java: ApicurioSerde, tmp_path: Path, form: str
) -> None:
    """Apicurio's registry has the schema as text only; its own form has the message's name where indexes would be."""
    order = order_class(scene.topic)
    message = order(id=7, how={"card": "x"}, counts={"é": 2})
    files, file = files_of(order.DESCRIPTOR.file), tmp_path / "order.protoset"
    file.write_bytes(files)
    scene.send(java.write(scene.topic, form, files, b"Order", message.SerializeToString()))
    by_registry = scene.run("consume", scene.topic, "-e", "--decode", "auto")
    assert "the Protobuf schema as text" in by_registry.stderr
    local = ("--protoset", str(file), "--message", "shop.Order")
    ended = scene.run("consume", scene.topic, "-e", "--decode", "protobuf", *local, "--output", "jsonl")
    assert ended.code == 0, ended.stderr
    record = json.loads(ended.stdout)
    assert (record["value"]["id"], record["value"]["how"]) == ("7", {"card": "x"})
    assert record["value_schema"]["type"] == "PROTOBUF"
    of_kctl = scene.write(record["value"], "value=topic", *local)
    assert order.FromString(java.read(scene.topic, "protobuf", of_kctl, b"Order")) == message


def files_of(file: Any) -> bytes:
    """Return a FileDescriptorSet of a file and those that it needs, each after those that it needs itself."""
    found: dict[str, bytes] = {}

    def add(each: Any) -> None:
        for needed in each.dependencies:
            add(needed)
        found[each.name] = each.serialized_pb

    add(file)
    return FileDescriptorSet(file=map(FileDescriptorProto.FromString, found.values())).SerializeToString()
