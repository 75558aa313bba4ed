"""`consume --decode` and `produce --encode` as whole command lines, on a sandbox and a registry of the test."""

import json
import select
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client import Producer
from kctl.serdes.avro import AvroCodec
from kctl.serdes.wire import VALUE_HEADER, write_frame
from tests.cli.processes import Ended, kctl
from tests.support.registry.server import FakeRegistry, running

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)
CODEC = AvroCodec(ORDER)
CANARY = "canary-7531"


def order(number: int) -> dict[str, object]:
    return {"id": number, "price": f"{number}.50", "note": None if number % 2 else "grüß"}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running(FakeRegistry()) as served:
        yield served


class Scene:
    """A topic with decodable and other values, and the registry of their schema."""

    def __init__(self, bootstrap: str, topic: str, registry: FakeRegistry, home: Path) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.registry = registry
        self.environ = {"XDG_CACHE_HOME": str(home), "KCTL_BOOTSTRAP_SERVERS": bootstrap}
        self.schema = registry.add(f"{topic}-value", ORDER)

    def fill(self, *values: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        with Producer({"bootstrap.servers": self.bootstrap}) as producer:
            for number, value in enumerate(values):
                producer.send(self.topic, value=value, key=b"k%d" % number, partition=0, headers=headers)

    def good(self, number: int) -> bytes:
        return write_frame(self.schema, CODEC.encode(order(number)))

    def consume(self, *options: str, url: str | None = None) -> Ended:
        where = f"schema.registry.url={url or self.registry.url}"
        return kctl("consume", self.topic, "-e", *options, "-X", where, environ=self.environ)

    def produce(self, topic: str, *options: str, stdin: bytes) -> Ended:
        where = f"schema.registry.url={self.registry.url}"
        return kctl("produce", topic, *options, "-X", where, stdin=stdin, environ=self.environ)


@pytest.fixture
def scene(bootstrap: str, topic: str, registry: FakeRegistry, tmp_path: Path) -> Scene:
    return Scene(bootstrap, topic, registry, tmp_path)


def records(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_decoded_value_is_an_object_beside_its_schema(scene: Scene) -> None:
    scene.fill(scene.good(1), None, b"plain")
    ended = scene.consume("--decode", "auto", "--output", "jsonl")
    found = [(r["key"], r["key_schema"], r["value"], r["value_schema"]) for r in records(ended)]
    schema = {"id": scene.schema, "type": "AVRO"}
    assert found == [("k0", None, order(1), schema), ("k1", None, None, None), ("k2", None, "plain", None)]
    assert (ended.code, ended.stderr) == (0, "")
    assert scene.registry.requests == [f"GET /schemas/ids/{scene.schema}"]


def test_schema_of_a_command_is_not_read_by_the_next_one_with_another_login(scene: Scene) -> None:
    scene.fill(scene.good(1))
    scene.registry.user_info = "prod:key"
    scene.environ["KCTL_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = "prod:key"
    assert scene.consume("--decode", "auto").stdout == b'{"id":1,"price":"1.50","note":null}\n'
    scene.environ["KCTL_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = "staging:key"
    ended = scene.consume("--decode", "auto", "--strict")
    assert (ended.code, ended.stdout) == (ExitCode.AUTHENTICATION, b""), ended.stderr


def test_undecodable_values_are_printed_raw_and_counted(scene: Scene) -> None:
    unknown, damaged = write_frame(99, b"abc"), write_frame(scene.schema, b"\xff")
    scene.fill(scene.good(1), unknown, damaged, scene.good(2))
    ended = scene.consume("--decode", "auto", "--output", "jsonl")
    assert [r["value"] for r in records(ended)] == [
        order(1),
        "\0\0\0\0cabc",
        {"base64": "AAAAAAH/"} if scene.schema == 1 else records(ended)[2]["value"],
        order(2),
    ]
    assert ended.code == 0
    lines = ended.stderr.splitlines()
    assert lines[0].endswith("Schema 99 not found (HTTP 404, 40403)")
    assert lines[-1] == "kctl consume: note: 2 values printed raw because decoding failed"


def test_strict_ends_at_the_first_and_prints_those_before(scene: Scene) -> None:
    scene.fill(scene.good(1), scene.good(2), write_frame(scene.schema, b"\xff"), scene.good(3))
    ended = scene.consume("--decode", "auto", "--strict", "-f", "%v\\n")
    assert ended.code == ExitCode.DATA
    assert ended.stdout.count(b"\n") == 2
    assert "cannot decode a value: not Avro of this schema" in ended.stderr


def test_records_that_a_registry_does_not_explain_are_not_bad(scene: Scene) -> None:
    scene.fill(scene.good(1))
    ended = scene.consume("--decode", "auto", "--strict", "--on-bad-record", "skip", url="http://127.0.0.1:1")
    assert ended.code == ExitCode.REFUSED
    assert "skipped" not in ended.stderr


@pytest.mark.parametrize("grep", [(), ("--grep", "v:id")], ids=["all", "grep"])
@pytest.mark.parametrize("how", [(), ("-g", "strict"), ("--tail", "9")], ids=["alone", "group", "tail"])
def test_strict_skips_what_cannot_be_decoded_on_request(
    scene: Scene, how: tuple[str, ...], grep: tuple[str, ...]
) -> None:
    scene.fill(scene.good(1), write_frame(99, b"abc"), write_frame(scene.schema, b"\xff"), scene.good(2), b"unframed")
    form = ("--decode", "value=avro", "--strict", "--on-bad-record", "skip", "-f", "%o %v\\n")
    ended = scene.consume(*form, *grep, *how)
    assert ended.code == 0, ended.stderr
    assert [line.split(b" ")[0] for line in ended.stdout.splitlines()][:1] == [b"0"]
    assert b"\n3 {" in ended.stdout
    assert "schema 99 not found" in ended.stderr.lower()
    notes = [line for line in ended.stderr.splitlines() if "bad record" in line and "skipped (--on" in line]
    assert len(notes) == 1


@pytest.mark.parametrize("how", [(), ("-g", "{topic}"), ("--tail", "9")], ids=["alone", "group", "tail"])
def test_record_on_which_jq_fails_ends_the_command_unless_it_is_skipped(scene: Scene, how: tuple[str, ...]) -> None:
    scene.fill(b"[1]", b"[2]", b"3", b"[4]", b"5", b"[6]")
    program = ("--jq", ".value | fromjson | .[]")
    ended = scene.consume(*program, *(each.format(topic=f"{scene.topic}-1") for each in how))
    assert (ended.code, ended.stdout) == (ExitCode.DATA, b"1\n2\n"), ended.stderr
    assert ", offset 2: --jq: " in ended.stderr
    how = tuple(each.format(topic=f"{scene.topic}-2") for each in how)
    ended = scene.consume(*program, "--on-bad-record", "skip", *how)
    assert (ended.code, ended.stdout) == (0, b"1\n2\n4\n6\n"), ended.stderr
    assert ended.stderr.count(". Continuing at offset ") == 2
    assert "note: 2 bad records and batches skipped (--on-bad-record). First error: " in ended.stderr
    limited = scene.consume(*program, "--on-bad-record", "skip", "-n", "3")
    assert limited.stdout == b"1\n2\n4\n"


def test_topic_whose_records_are_all_skipped_is_not_called_empty(scene: Scene) -> None:
    scene.fill(b"3", b"5")
    ended = scene.consume("--jq", ".value | fromjson | .[]", "--on-bad-record", "skip")
    assert (ended.code, ended.stdout) == (0, b"")
    assert "note: 2 bad records and batches skipped" in ended.stderr
    assert "0 records" not in ended.stderr


def test_template_prints_json_schema_id_and_bytes(scene: Scene) -> None:
    scene.fill(scene.good(1))
    ended = scene.consume("--decode", "value=avro", "-f", "%k %v{schema} %v %v{hex}\\n")
    expected = f'k0 {scene.schema} {{"id":1,"price":"1.50","note":null}} {scene.good(1).hex()}\n'
    assert ended.stdout.decode() == expected


def test_csv_says_json(scene: Scene) -> None:
    scene.fill(scene.good(1))
    assert (
        b'"{""id"":1,""price"":""1.50"",""note"":null}",json,'
        in scene.consume("--decode", "auto", "--output", "csv").stdout
    )


def test_grep_and_jq_look_at_the_decoded_value(scene: Scene) -> None:
    scene.fill(*(scene.good(number) for number in range(5)))
    assert scene.consume("--decode", "auto", "--grep", 'v:"id":[34]', "-f", "%o ").stdout == b"3 4 "
    assert scene.consume("--decode", "auto", "--grep", '"price":"2', "-f", "%o ").stdout == b"2 "
    ended = scene.consume("--decode", "auto", "--jq", "select(.value.id >= 2) | .value.id, .offset", "-n", "2")
    assert ended.stdout == b"2\n2\n3\n3\n"
    bad = scene.consume("--jq", ".value +")
    assert (bad.code, bad.stdout) == (ExitCode.USAGE, b"")
    assert "--jq: " in bad.stderr


def test_guid_in_a_header_names_the_schema(scene: Scene) -> None:
    guid = scene.registry.guid(scene.schema)
    scene.fill(CODEC.encode(order(1)), headers=((VALUE_HEADER, b"\x01" + guid.bytes),))
    [record] = records(scene.consume("--decode", "auto", "--output", "jsonl"))
    assert (record["value"], record["value_schema"]) == (order(1), {"guid": str(guid), "type": "AVRO"})


def test_decoded_records_are_encoded_again(scene: Scene) -> None:
    scene.fill(scene.good(1), b"plain", None, b"\xff\xfe", scene.good(2))
    first = scene.consume("--decode", "auto", "--output", "jsonl")
    sent = scene.produce(f"{scene.topic}-copy", "-i", "jsonl", "--encode", "auto", stdin=first.stdout)
    assert sent.code == 0, sent.stderr
    raw = kctl("consume", f"{scene.topic}-copy", "-e", "--output", "base64", environ=scene.environ)
    assert raw.stdout == kctl("consume", scene.topic, "-e", "--output", "base64", environ=scene.environ).stdout


def test_decoded_records_without_encode_are_refused(scene: Scene) -> None:
    scene.fill(scene.good(1))
    sent = scene.produce("copy", "-i", "jsonl", stdin=scene.consume("--decode", "auto", "--output", "jsonl").stdout)
    assert sent.code == ExitCode.DATA
    assert "by --encode value=auto" in sent.stderr


@pytest.mark.parametrize("target", ["topic", "id:{id}", "{topic}-value@1", "record:Order"])
def test_lines_of_json_are_encoded_by_a_schema(scene: Scene, target: str) -> None:
    scene.registry.add("Order", ORDER)
    target = target.format(id=scene.schema, topic=scene.topic)
    line = json.dumps(order(3)).encode()
    assert scene.produce(scene.topic, "--encode", f"value={target}", "-K", " ", "-D", ";", stdin=b"k " + line).code == 0
    [record] = records(scene.consume("--decode", "auto", "--output", "jsonl"))
    assert (record["key"], record["value"], record["value_schema"]["id"]) == ("k", order(3), scene.schema)


def test_value_that_does_not_fit_is_named_and_those_before_are_delivered(scene: Scene) -> None:
    lines = [json.dumps(order(1)), '{"id":"x"}', json.dumps(order(2))]
    sent = scene.produce(scene.topic, "--encode", "value=topic", stdin="\n".join(lines).encode())
    assert sent.code == ExitCode.DATA
    assert "1 record delivered" in sent.stderr
    assert "stdin line 2 (byte " in sent.stderr
    assert "value: the value does not fit the Avro schema" in sent.stderr
    assert len(records(scene.consume("--decode", "auto", "--output", "jsonl"))) == 1


def test_schema_is_registered_only_with_register(scene: Scene, tmp_path: Path) -> None:
    file = tmp_path / "new.avsc"
    file.write_text('"long"')
    missing = scene.produce("numbers", "--encode", "value=topic", stdin=b"5")
    assert missing.code == ExitCode.UNKNOWN_RESOURCE
    sent = scene.produce("numbers", "--encode", "value=topic", "--register", "--avsc", str(file), stdin=b"5")
    assert sent.code == 0, sent.stderr
    assert "POST /subjects/numbers-value/versions" in scene.registry.requests


def test_local_schemas_need_no_registry(bootstrap: str, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(ORDER)
    local = ("avro", "--avsc", str(file))
    sent = kctl(
        "produce", topic, "-b", bootstrap, "--encode", "value=avro", *local[1:], stdin=json.dumps(order(1)).encode()
    )
    assert sent.code == 0, sent.stderr
    read = kctl("consume", topic, "-b", bootstrap, "-e", "--decode", "value=avro", *local[1:])
    assert json.loads(read.stdout) == order(1)
    packed = kctl("produce", topic, "-b", bootstrap, "--encode", "value=msgpack", stdin=b'{"a":[1,{"base64":"/w=="}]}')
    assert packed.code == 0
    newest = kctl("consume", topic, "-b", bootstrap, "--tail", "1", "--decode", "value=msgpack")
    assert newest.stdout == b'{"a":[1,{"base64":"/w=="}]}\n'


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    try:
        while not select.select([handler.connection], [], [], 0.05)[0]:  # until the client closes
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:
        return


def test_registry_that_drips_costs_one_timeout_and_records_go_on(scene: Scene) -> None:
    scene.fill(*(scene.good(number) for number in range(20)))
    scene.registry.fault = _drip
    ended = scene.consume("--decode", "auto", "--request-timeout", "1s", "--output", "jsonl")
    assert (ended.code, len(records(ended))) == (0, 20)
    assert len(scene.registry.requests) == 1
    assert "(--request-timeout)" in ended.stderr
    assert "20 values printed raw" in ended.stderr


@pytest.mark.parametrize(
    ("url", "code"),
    [("http://127.0.0.1:1", ExitCode.REFUSED), ("http://nothing.invalid", ExitCode.DNS), ("nothing", ExitCode.USAGE)],
)
def test_registry_that_is_not_there_ends_strict_with_its_cause(scene: Scene, url: str, code: ExitCode) -> None:
    scene.fill(scene.good(1))
    assert scene.consume("--decode", "auto", "--strict", url=url).code == code


def test_login_is_refused_and_no_secret_is_shown(scene: Scene, tmp_path: Path) -> None:
    scene.fill(scene.good(1))
    scene.registry.user_info = f"me:{CANARY}"
    refused = scene.consume("--decode", "auto", "--strict")
    assert refused.code == ExitCode.AUTHENTICATION
    scene.environ["KCTL_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = f"me:{CANARY}"
    trace = tmp_path / "trace.jsonl"
    ended = scene.consume("--decode", "auto", "--strict", "-v", "--trace-file", str(trace))
    assert ended.code == 0, ended.stderr
    written = [ended.stderr.encode(), ended.stdout, trace.read_bytes()]
    written += [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert not any(CANARY.encode() in each for each in written)
    secret = kctl("consume", "x", "-X", f"schema.registry.basic.auth.user.info=me:{CANARY}", environ=scene.environ)
    assert secret.code == ExitCode.USAGE
    assert CANARY not in secret.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--decode", "avros"), "'avros' is not one of auto, avro"),
        (
            ("--decode", "--output", "raw"),
            "Missing value for --decode: the next argument '--output' looks like an option.",
        ),
        (("--decode", "auto", "--output", "raw"), "--decode cannot be combined with --output raw"),
        (("--decode", "json", "--avsc", "x"), "--avsc can only be used with --decode avro."),
        (("--decode", "protobuf", "--protoset", "x"), "--protoset and --protobuf-message must be used together"),
        (("--strict",), "--strict needs --decode."),
        (("--jq", ".", "--output", "csv"), "--jq cannot be combined with another output format"),
        (("--decode", "auto"), "schema.registry.url is not set"),
        (("--decode", "avro", "--avsc", "/nonexistent"), "--avsc /nonexistent: No such file"),
        (("--decode", "avro", "--avsc", "/dev/null"), "--avsc /dev/null: not a valid Avro schema"),
    ],
)
def test_mistake_is_one_clear_line(bootstrap: str, options: tuple[str, ...], problem: str) -> None:
    ended = kctl("consume", "orders", "-b", bootstrap, *options)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert problem in ended.stderr
