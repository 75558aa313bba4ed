"""Random messages of every declared version against Kafka's own message classes: same bytes, same values, same headers.

One Java process answers for all of them (tests/conformance/java/Reencode.java).
"""

import json
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kctl.client.protocol import api, codec, framing
from kctl.client.protocol.primitives import uuid_text
from kctl.client.protocol.schema import Field, Message, Request, Struct
from tests.fuzz.protocol.messages import every_version, random_message
from tools.kafka_jars import JACKSON, KAFKA_CLIENTS, jar

PROGRAM = Path(__file__).parents[1] / "java" / "Reencode.java"
MESSAGES_EACH = 25
SEED = 20_26_11


def java(lines: list[str]) -> list[str]:
    """One answer of the Java program for each line."""
    if not shutil.which("java") or not shutil.which("mvn"):
        pytest.skip("java and mvn are needed to ask Kafka's own message classes")
    path = ":".join(str(jar(coordinates)) for coordinates in (KAFKA_CLIENTS, *JACKSON))
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, str(PROGRAM)]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def test_every_message_and_version() -> None:
    rng = Random(SEED)
    messages = [
        (random_message(rng, cls, version), version) for cls, version in every_version() for _ in range(MESSAGES_EACH)
    ]
    encoded = [codec.encode(message, version).hex() for message, version in messages]
    lines = [
        f"{type(message).__name__} {version} {data}" for (message, version), data in zip(messages, encoded, strict=True)
    ]
    for (message, version), line, data, answer in zip(messages, lines, encoded, java(lines), strict=True):
        again, _, text = answer.partition(" ")
        assert again == data, f"{line[:200]}\n{answer[:200]}\n{message}"
        assert json.loads(text) == as_json(message, version), line[:200]


def test_header_versions() -> None:
    pairs = [(cls, version) for cls, version in every_version() if issubclass(cls, Request)]
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
