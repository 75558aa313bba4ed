"""Schemas on a real registry (Apicurio), records of foreign serializers, on Kafka 4.3.1.

Each format is written by confluent-kafka and read by kctl, and the other way round.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kctl.cli.exit_codes import ExitCode
from kctl.client import Producer
from tests.cli.processes import Ended, kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.registry.apicurio import running_apicurio
from tests.support.registry.server import FakeRegistry, running

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


@pytest.fixture(scope="module")
def registry_url() -> Iterator[str]:
    with running_apicurio() as url:
        yield url


class Scene:
    """A topic, a registry, and a foreign client of it."""

    def __init__(self, kafka: KafkaCluster, url: str, home: Path, foreign: SchemaRegistryClient | None = None) -> None:
        self.bootstrap = kafka.bootstrap()
        self.topic = kafka.create_topic()
        self.environ = {
            "KCTL_BOOTSTRAP_SERVERS": self.bootstrap,
            "KCTL_SCHEMA_REGISTRY_URL": url,
            "XDG_CACHE_HOME": str(home),
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
        ended = self.run("consume", self.topic, "-e", "--decode", "--output", "jsonl")
        assert ended.code == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def raw(self) -> list[bytes]:
        ended = self.run("consume", self.topic, "-e", "--output", "hex")
        return [bytes.fromhex(line.decode()) for line in ended.stdout.splitlines()]


@pytest.fixture
def scene(kafka_newest: KafkaCluster, registry_url: str, tmp_path: Path) -> Iterator[Scene]:
    with SchemaRegistryClient({"url": registry_url}) as foreign:
        yield Scene(kafka_newest, registry_url, tmp_path, foreign)


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


@pytest.mark.parametrize("open_registry", [running_apicurio, lambda: running(FakeRegistry())], ids=["apicurio", "fake"])
def test_registry_of_the_tests_answers_as_a_real_one(
    open_registry: Callable[[], Any], kafka_newest: KafkaCluster, tmp_path: Path
) -> None:
    """The same requests of kctl get the same rows and exit codes."""
    with open_registry() as opened:
        scene = Scene(kafka_newest, opened if isinstance(opened, str) else opened.url, tmp_path)
        old, new = tmp_path / "old.avsc", tmp_path / "new.avsc"
        fields = [{"name": "a", "type": "int"}]
        old.write_text(json.dumps({"type": "record", "name": "R", "fields": fields}))
        new.write_text(json.dumps({"type": "record", "name": "R", "fields": [*fields, {"name": "b", "type": "int"}]}))
        assert _subjects(scene, ("list",)) == (0, [])
        code, rows = _subjects(scene, ("register", "s", str(old)))
        assert (code, rows[0]["version"]) == (0, 1)
        assert _subjects(scene, ("list",)) == (0, [{"subject": "s", "versions": [1], "latest_version": 1}])
        assert _subjects(scene, ("config", "s", "--set", "BACKWARD"))[0] == 0
        assert _subjects(scene, ("check", "s", str(new)))[0] == ExitCode.DATA
        assert _subjects(scene, ("register", "s", str(new))) == (ExitCode.DATA, None)
        assert _subjects(scene, ("show", "s", "--version", "9")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("show", "99999")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("show", "nothing")) == (ExitCode.UNKNOWN_RESOURCE, None)
        assert _subjects(scene, ("delete", "s", "--yes"))[0] == 0
        assert _subjects(scene, ("list",)) == (0, [])
