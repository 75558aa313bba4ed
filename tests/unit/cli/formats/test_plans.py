"""Plans carried out over a real batch: what of a record reaches stdout."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.plans import jsonl_plan, template_plan
from kctl.cli.formats.template import parse_template
from kctl.client.records import Header, OutputPlan, RecordBatchBuilder, decode_batches

Key = bytes | None


def _written(plan: OutputPlan, *records: tuple[Key, Key, list[Header]]) -> bytes:
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 20)
    for i, (key, value, headers) in enumerate(records):
        assert builder.try_append(key, value, headers, 1_700_000_000_000 + i) == i
    reader = decode_batches(builder.build(), topic="a-topic", partition=3)
    output = b""
    while not reader.exhausted:
        output += reader.output(plan)
    return output


RECORD: tuple[Key, Key, list[Header]] = (b"key", b"v\x1b[2J\xff", [("h1", b"x\x07"), ("h2", None), ("h1", b"")])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%v\\n", b"v\x1b[2J\xff\n"),
        ("%t %p %o %k", b"a-topic 3 0 key"),
        ("%d", b"1700000000000"),
        ("%T %K %V %H", b"7 3 6 3"),
        ("%i", b"1"),
        ("%h", b"h1=x\x07,h2=,h1="),
        ("%%\\xff", b"%\xff"),
    ],
)
def test_templates(template: str, expected: bytes) -> None:
    assert _written(template_plan(parse_template(template), for_terminal=False), RECORD) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%v\\n", b"v\\x1b[2J\\xff\n"),
        ("%h", b"h1=x\\x07,h2=,h1="),
        ("\\x1b[1m%k", b"\x1b[1mkey"),
    ],
)
def test_on_a_terminal_only_the_template_may_steer(template: str, expected: bytes) -> None:
    assert _written(template_plan(parse_template(template), for_terminal=True), RECORD) == expected


def test_null_and_empty_are_both_written_as_nothing() -> None:
    plan = template_plan(parse_template("[%k|%v]"), for_terminal=True)
    assert _written(plan, (None, b"", []), (b"", None, [])) == b"[|][|]"


def test_jsonl() -> None:
    (line,) = _written(jsonl_plan(for_terminal=False), RECORD).splitlines()
    assert json.loads(line) == {
        "topic": "a-topic",
        "partition": 3,
        "offset": 0,
        "timestamp": 1_700_000_000_000,
        "key": "key",
        "value": {"base64": base64.b64encode(b"v\x1b[2J\xff").decode()},
        "headers": [["h1", "x\x07"], ["h2", None], ["h1", ""]],
    }


def test_jsonl_on_a_terminal_is_ascii() -> None:
    output = _written(jsonl_plan(for_terminal=True), (b"\xc2\x9b31m", "é".encode(), []))
    assert output.isascii()
    assert json.loads(output)["key"] == "\x9b31m"


def _bytes_of(value: object) -> Key:
    if value is None:
        return None
    if isinstance(value, dict):
        return base64.b64decode(value["base64"], validate=True)
    assert isinstance(value, str)
    return value.encode()


content = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


@given(key=content, value=content, headers=st.lists(st.tuples(st.text(max_size=5), content), max_size=3))
@pytest.mark.parametrize("for_terminal", [False, True])
def test_jsonl_is_lossless(for_terminal: bool, key: Key, value: Key, headers: list[Header]) -> None:
    output = _written(jsonl_plan(for_terminal=for_terminal), (key, value, headers))
    assert output.count(b"\n") == 1
    fields = json.loads(output)
    assert (_bytes_of(fields["key"]), _bytes_of(fields["value"])) == (key, value)
    assert [(_bytes_of(name), _bytes_of(each)) for name, each in fields["headers"]] == [
        (name.encode(), each) for name, each in headers
    ]
