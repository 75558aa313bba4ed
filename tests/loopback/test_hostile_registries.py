"""Schema registries that answer with a megabyte of anything: each command of schemas, and records that need a schema,
are bounded in CPU and memory and end with an exit code of their own.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.command_tree import read_tree
from kctl.client.producer import Producer
from kctl.sandbox import Sandbox
from tests.cli.processes import Measured, measure
from tests.support.bounds import bound
from tests.support.registry.server import FakeRegistry, running

MOST_CPU_S = bound(2.0)
MOST_RSS_BYTES = 300 << 20
MEGABYTE = 1_000_000
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
FRAMED = b"\0\0\0\0\1\0" + bytes(20)
"""A value with schema id 1; as Protobuf it names the first message."""
COMMANDS: Mapping[str, bytes] = {
    "schemas list": b"",
    "schemas show s": b"",
    "schemas check s -": AVRO.encode(),
    "schemas register s -": AVRO.encode(),
    "schemas delete s --execute": b"",
    "schemas config s": b"",
    "schemas config s FULL --execute": b"",
}
READING: Mapping[str, bytes] = {
    "consume t -e --decode value=avro": b"",
    "consume t -e --decode value=protobuf": b"",
    "consume t -e --decode value=json-schema": b"",
    "produce t --encode value=avro": b'{"a": 1}\n',
}


def _fields(count: int) -> str:
    fields = ",".join(f'{{"name":"f{number}","type":"int"}}' for number in range(count))
    return f'{{"type":"record","name":"R","fields":[{fields}]}}'


def _nested(levels: int) -> str:
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


def _union(count: int) -> str:
    return json.dumps([{"type": "fixed", "name": f"f{number}", "size": 1} for number in range(count)])


def _doubling(count: int) -> str:
    """Records each of which has the one before twice: 2 ** count fields if they are written out."""
    inner = '{"type":"record","name":"R0","fields":[]}'
    for number in range(1, count):
        twice = f'{{"name":"a","type":{inner}}},{{"name":"b","type":"R{number - 1}"}}'
        inner = f'{{"type":"record","name":"R{number}","fields":[{twice}]}}'
    return inner


def _properties(count: int) -> str:
    return json.dumps({"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(count)}})


def _references(count: int) -> str:
    places = {f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(count)}
    return json.dumps({"$ref": "#/$defs/d0", "$defs": {**places, f"d{count}": {"type": "string"}}})


SCHEMAS: Mapping[str, tuple[str, str]] = {
    "Avro, many fields": ("AVRO", _fields(30_000)),
    "Avro, nested arrays": ("AVRO", _nested(30_000)),
    "Avro, a wide union": ("AVRO", _union(20_000)),
    "Avro, doubled records": ("AVRO", _doubling(60)),
    "Avro, a long name": ("AVRO", '{"type":"fixed","size":1,"name":"' + "n" * MEGABYTE + '"}'),
    "JSON, many properties": ("JSON", _properties(25_000)),
    "JSON, doubled references": ("JSON", _references(60)),
    "JSON, nested": ("JSON", '{"not":' * 100_000 + "{}" + "}" * 100_000),
    "Protobuf, many fields": (
        "PROTOBUF",
        'syntax="proto3";message M{' + "".join(f"int32 f{number}={number};" for number in range(1, 40_000)) + "}",
    ),
    "Protobuf, many messages": (
        "PROTOBUF",
        'syntax="proto3";' + "".join(f"message M{number}{{int32 a=1;}}" for number in range(35_000)),
    ),
    "Protobuf, nested messages": ("PROTOBUF", 'syntax="proto3";' + "message M{" * 50_000 + "}" * 50_000),
    "Protobuf, nested options": ("PROTOBUF", 'syntax="proto3";option a=' + "{a:" * 200_000),
    "Protobuf, a comment": ("PROTOBUF", 'syntax="proto3";' + "/*" * (MEGABYTE // 2)),
    "text": ("AVRO", "\x1b\n" * (MEGABYTE // 2)),
}
VALUES: Mapping[str, Any] = {
    "numbered strings": [f"{number:x}" for number in range(MEGABYTE // 8)],
    "numbers": list(range(MEGABYTE // 8)),
    "objects": [{"a": number} for number in range(MEGABYTE // 14)],
    "names": {f"{number:x}": number for number in range(MEGABYTE // 16)},
    "a text": "x" * MEGABYTE,
    "controls": "\x1b\n" * (MEGABYTE // 12),
    "lone surrogates": "\ud800 \udcc2\udc9b" * (MEGABYTE // 19),
}


def run(line: str, stdin: bytes, url: str, bootstrap: str) -> Measured:
    words = [*line.split(), "-b", bootstrap, "-X", f"schema.registry.url={url}"]
    return measure(*words, to=Path(os.devnull), stdin=stdin)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            producer.send("t", FRAMED)
        yield served.bootstrap


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running(FakeRegistry()) as served:
        served.add("s", AVRO)
        yield served


def check(line: str, stdin: bytes, url: str, bootstrap: str, what: str) -> None:
    free = run("schemas list --help", b"", url, bootstrap)
    ended = run(line, stdin, url, bootstrap)
    assert "which is a bug" not in ended.stderr, (what, ended.stderr[-500:])
    assert "Traceback" not in ended.stderr, (what, ended.stderr[-500:])
    assert ended.code >= 0, (what, ended)
    assert ended.cpu_s - free.cpu_s <= MOST_CPU_S, (what, ended.cpu_s, ended.stderr[:200])
    assert ended.peak_bytes <= MOST_RSS_BYTES, (what, ended.peak_bytes >> 20, ended.stderr[:200])


def answering(make: Callable[[str], Any]) -> Callable[[BaseHTTPRequestHandler], None]:
    """Return a fault that answers with JSON made of the path."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps(make(handler.path)).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def _placed(value: Any, kind: str) -> Callable[[str], Any]:
    """Return what makes a response with a value in one of the places where responses have values."""
    true = {"subject": "s", "version": 1, "id": 1, "schema": AVRO, "schemaType": "AVRO", "references": []}
    return {
        "everywhere": lambda _: value,
        "references": lambda path: [1] if path.endswith("versions") else {**true, "references": value},
        "subject": lambda path: [1] if path.endswith("versions") else {**true, "subject": value},
        "messages": lambda _: {"is_compatible": False, "messages": value, "compatibilityLevel": value, "id": value},
    }[kind]


@pytest.mark.parametrize("place", ["everywhere", "references", "subject", "messages"])
@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.nightly
def test_response_of_a_megabyte_is_bounded(line: str, place: str, registry: FakeRegistry, bootstrap: str) -> None:
    for name, value in VALUES.items():
        registry.fault = answering(_placed(value, place))
        check(line, COMMANDS[line], registry.url, bootstrap, f"{name} as {place}")


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.nightly
def test_schema_of_a_megabyte_is_bounded(name: str, registry: FakeRegistry, bootstrap: str) -> None:
    kind, text = SCHEMAS[name]
    found = {"subject": "t-value", "version": 1, "id": 1, "schema": text, "schemaType": kind}
    registry.fault = answering(lambda path: [1] if path.endswith("versions") else found)
    for line, stdin in {**READING, "schemas show s": b""}.items():
        check(line, stdin, registry.url, bootstrap, f"{line}: {name}")


@pytest.mark.slow
def test_list_of_a_megabyte_is_bounded(registry: FakeRegistry, bootstrap: str) -> None:
    registry.fault = answering(lambda _: VALUES["numbered strings"])
    check("schemas list", b"", registry.url, bootstrap, "numbered strings")


def test_each_command_of_schemas_is_attacked() -> None:
    names = [command.name.removeprefix("kctl ") for command in read_tree().walk() if command.runs]
    attacked = {" ".join(line.split()[:2]) for line in COMMANDS}
    assert attacked == {name for name in names if name.startswith("schemas ")}


def test_check_finds_a_command_that_takes_too_much(
    registry: FakeRegistry, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.loopback.test_hostile_registries.MOST_RSS_BYTES", 1 << 20)
    with pytest.raises(AssertionError, match="a planted one"):
        check("schemas list", b"", registry.url, bootstrap, "a planted one")
