"""Random messages of every declared version against Kafka's own message classes: same bytes, same values, same headers.

One Java process answers for all of them (tests/conformance/java/Reencode.java).
"""

import json
import subprocess
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import api, codec, framing, walker
from kctl.client.protocol.primitives import uuid_text
from kctl.client.protocol.schema import Field, Message, Request, Struct
from tests.fuzz.protocol.messages import every_version, messages_of, mutate, random_message, same, versions_of
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool
from tools.declarations import api_of, module_text, read_definitions
from tools.kafka_jars import JACKSON, KAFKA_CLIENTS, jar

pytestmark = pytest.mark.nightly

PROGRAM = Path(__file__).parents[1] / "java" / "Reencode.java"
SEED = 20261120
DECLARED = every_version()


def java(lines: list[str]) -> list[str]:
    """One answer of the Java program for each line."""
    have(lambda: [find_tool("java", "openjdk-17-jdk-headless"), find_tool("mvn", "maven")])
    path = ":".join(str(jar(coordinates)) for coordinates in (KAFKA_CLIENTS, *JACKSON))
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, str(PROGRAM)]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=bound(300))
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def ask_java(messages: list[tuple[Any, int]]) -> None:
    """Assert that Kafka's classes read our bytes, see the same values and write the same bytes."""
    encoded = [compiled_bytes(message, version) for message, version in messages]
    pairs = list(zip(messages, encoded, strict=True))
    lines = [f"{type(message).__name__} {version} {data.hex()}" for (message, version), data in pairs]
    for ((message, version), data), answer in zip(pairs, java(lines), strict=True):
        what = f"{message!r:.500} v{version}\n{answer:.500}"
        again, _, text = answer.partition(" ")
        assert again == data.hex(), what
        assert json.loads(text) == as_json(message, version), what


def compiled_bytes(message: Message, version: int) -> bytes:
    """The bytes that the compiled encoder makes, after a look at the walker and the compiled decoder."""
    parts: list[bytes] = []
    codec.encoder(type(message), version)(message, parts)
    data = b"".join(parts)
    assert walker.encode(message, version) == data
    assert same(codec.decoder(type(message), version)(data, 0), (message, len(data)))
    return data


def test_every_declared_message_and_version() -> None:
    rng = Random(SEED)
    ask_java([(random_message(rng, cls, version), version) for cls, version in DECLARED for _ in range(25)])


def test_defaults_are_those_of_kafka() -> None:
    answers = java([f"default {cls.__name__} {version}" for cls, version in DECLARED])
    for (cls, version), answer in zip(DECLARED, answers, strict=True):
        assert walker.encode(cls(), version).hex() == answer, f"{cls.__name__} v{version}"


def test_every_message_of_the_jar() -> None:
    """What the declaration tool makes of APIs that are not declared yet: nullable structs, floats, shared structs."""
    definitions = read_definitions(jar(KAFKA_CLIENTS))
    classes: list[type[Message]] = []
    for name in sorted(set(map(api_of, definitions))):
        module = ModuleType(f"declared_{name}")
        exec(module_text([name], definitions), vars(module))
        classes += messages_of(module)
    assert {cls.__name__ for cls in classes} == set(definitions)
    rng = Random(SEED)
    ask_java([(random_message(rng, cls, version), version) for cls, version in versions_of(classes) for _ in range(5)])


def test_damaged_bytes_that_we_accept_mean_the_same_to_java() -> None:
    rng = Random(SEED)
    accepted = []
    for cls, version in DECLARED:
        for _ in range(40):
            data = mutate(rng, walker.encode(random_message(rng, cls, version), version))
            with suppress(RemoteProtocolError):
                accepted.append((codec.decode(cls, data, version), version, data))
    assert len(accepted) > len(DECLARED)
    lines = [f"{type(message).__name__} {version} {data.hex()}" for message, version, data in accepted]
    for (message, version, _), line, answer in zip(accepted, lines, java(lines), strict=True):
        assert answer.partition(" ")[0] == walker.encode(message, version).hex(), f"{line:.500}\n{answer:.500}"


def test_header_versions() -> None:
    pairs = [(cls, version) for cls, version in DECLARED if issubclass(cls, Request)]
    answers = java([f"header {cls.API_KEY} {version}" for cls, version in pairs])
    for (cls, version), answer in zip(pairs, answers, strict=True):
        request = framing.request_header_version(cls, version)
        response = framing.response_header_version(api.response_class(cls.API_KEY), version)
        assert f"{request} {response}" == answer, f"{cls.__name__} v{version}"


def test_a_message_that_java_refuses_is_seen() -> None:
    (answer,) = java(["MetadataResponse 9 0000"])
    assert answer.startswith("ERROR")


def as_json(value: Struct | Message, version: int) -> dict[str, Any]:
    """What Kafka's JSON converter writes: the fields of the version; tagged ones only when they are not the default."""
    result: dict[str, Any] = {}
    for entry in value.FIELDS:
        item = getattr(value, entry.name)
        if not entry.is_in(version) or (entry.is_tagged_in(version) and item == entry.default_value()):
            continue
        first, *rest = entry.name.rstrip("_").split("_")
        name = first + "".join(map(str.capitalize, rest))
        if entry.kind == "records" and item is not None:
            result[f"{name}SizeInBytes"] = len(item)
        elif entry.is_array and item is not None:
            result[name] = [_json_value(entry, element, version) for element in item]
        else:
            result[name] = _json_value(entry, item, version)
    return result


def _json_value(entry: Field, item: Any, version: int) -> Any:
    if item is None:
        return None
    if isinstance(entry.kind, type):
        return as_json(item, version)
    if entry.kind == "uuid":
        return uuid_text(item)
    return b64encode(item).decode() if entry.kind == "bytes" else item
