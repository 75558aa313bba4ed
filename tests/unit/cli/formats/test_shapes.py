"""The shapes of --output: what each keeps of a record."""

import base64
import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.shapes import CSV_HEAD, base64_parts, csv_parts, hex_parts, jsonl_parts, raw_parts
from kctl.cli.formats.texts import JsonForm
from kctl.client.records import Header
from tests.unit.cli.formats.running import TIMESTAMP_MS, Content, Data, chunk_of, written

RECORD: Content = (b"key", b"v\x1b[2J\xff", [("h1", b"x\x07"), ("h2", None), ("h1", b"")])

data = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
names = st.text(max_size=5) | st.binary(max_size=5).map(lambda name: name.decode("utf-8", "surrogateescape"))
contents = st.lists(st.tuples(data, data, st.lists(st.tuples(names, data), max_size=3)), min_size=1, max_size=5)


def as_jsonl(*records: Content, for_terminal: bool = False) -> bytes:
    return written(RecordOutput(jsonl_parts(for_terminal=for_terminal)), chunk_of(*records))


def as_csv(*records: Content, for_terminal: bool = False) -> bytes:
    return written(RecordOutput(csv_parts(for_terminal=for_terminal), head=CSV_HEAD), chunk_of(*records))


# --- lines ----------------------------------------------------------------------------------------------------------


def test_raw_is_the_values_and_nothing_else() -> None:
    chunk = chunk_of((b"k", b"one\n", []), (None, None, []), (None, b"\x1b\xff", []))
    assert written(RecordOutput(raw_parts(null=b"", for_terminal=False)), chunk) == b"one\n\x1b\xff"
    assert written(RecordOutput(raw_parts(null=b"-", for_terminal=True), null=b"-"), chunk) == b"one\n-\\x1b\\xff"


def test_hex_and_base64_have_a_line_for_every_record() -> None:
    chunk = chunk_of((b"k", b"\x00\xff\n", []), (None, None, []), (None, b"", []), (None, bytes(60), []))
    assert written(RecordOutput(hex_parts(null=b"")), chunk) == b"00ff0a\n\n\n" + b"00" * 60 + b"\n"
    assert written(RecordOutput(base64_parts(null=b"NULL")), chunk) == b"AP8K\nNULL\n\n" + b"A" * 80 + b"\n"


# --- jsonl ----------------------------------------------------------------------------------------------------------


def test_jsonl() -> None:
    (line,) = as_jsonl(RECORD).splitlines()
    assert list(json.loads(line).items()) == [
        ("topic", "a-topic"),
        ("partition", 3),
        ("offset", 40),
        ("timestamp", TIMESTAMP_MS),
        ("key", "key"),
        ("value", {"base64": base64.b64encode(b"v\x1b[2J\xff").decode()}),
        ("headers", [["h1", "x\x07"], ["h2", None], ["h1", ""]]),
    ]


def test_jsonl_on_a_terminal_is_ascii() -> None:
    output = as_jsonl((b"\xc2\x9b31m", "é".encode(), []), for_terminal=True)
    assert output.isascii()
    assert b"\x1b" not in output
    assert json.loads(output)["key"] == "\x9b31m"


@pytest.mark.parametrize("for_terminal", [False, True])
@given(
    data=st.binary(max_size=30)
    | st.text(max_size=20).map(str.encode)
    | st.sampled_from(["\x7f", '"', "\\"]).map(str.encode)
)
def test_json_text_equals_that_of_the_json_module(data: bytes, for_terminal: bool) -> None:
    try:
        text: object = data.decode()
    except UnicodeDecodeError:
        text = {"base64": base64.b64encode(data).decode()}
    written_text = JsonForm(is_ascii=for_terminal).text(data)
    assert json.loads(written_text) == text
    expected = json.dumps(text, ensure_ascii=for_terminal, separators=(",", ":")).encode()
    assert written_text == (expected.replace(b"\x7f", b"\\u007f") if for_terminal else expected)


def _bytes_of(value: object) -> Data:
    if value is None:
        return None
    if isinstance(value, dict):
        assert list(value) == ["base64"]
        return base64.b64decode(value["base64"], validate=True)
    assert isinstance(value, str)
    return value.encode()


def _record_of(fields: dict[str, object]) -> tuple[Data, Data, list[tuple[Data, Data]]]:
    headers = fields["headers"]
    assert isinstance(headers, list)
    return (
        _bytes_of(fields["key"]),
        _bytes_of(fields["value"]),
        [(_bytes_of(name), _bytes_of(each)) for name, each in headers],
    )


def _wire_names(headers: list[Header]) -> list[tuple[Data, Data]]:
    return [(name.encode("utf-8", "surrogateescape"), value) for name, value in headers]


@given(contents, st.lists(st.integers(0, 2**62), min_size=5, max_size=5))
@pytest.mark.parametrize("for_terminal", [False, True])
def test_jsonl_is_lossless(for_terminal: bool, records: list[Content], timestamps: list[int]) -> None:
    chunk = chunk_of(*records, topic="a.topic_-1", timestamps=timestamps)
    output = written(RecordOutput(jsonl_parts(for_terminal=for_terminal)), chunk)
    assert output.count(b"\n") == len(records)
    for number, line in enumerate(output.splitlines()):
        fields = json.loads(line)
        key, value, headers = records[number]
        assert _record_of(fields) == (key, value, _wire_names(headers))
        assert (fields["topic"], fields["partition"]) == ("a.topic_-1", 3)
        assert (fields["offset"], fields["timestamp"]) == (40 + number, timestamps[number])


# --- csv ------------------------------------------------------------------------------------------------------------


def test_csv() -> None:
    assert as_csv((b'a "b",\r\nc', None, [("h", b"1")]), (b"", b"\xff", [])) == (
        b"topic,partition,offset,timestamp,key,key_encoding,value,value_encoding,headers\r\n"
        b'"a-topic",3,40,1700000000000,"a ""b"",\r\nc",utf-8,,null,"[[""h"",""1""]]"\r\n'
        b'"a-topic",3,41,1700000000001,"",utf-8,"/w==",base64,"[]"\r\n'
    )


def test_csv_on_a_terminal() -> None:
    output = as_csv((b"\x1b[2J", "\x9b\u202e".encode(), [("\x1b", b"\x1b")]), for_terminal=True)
    assert b"\x1b" not in output
    assert output.isascii()


@given(contents)
def test_csv_can_be_read_back_by_any_reader(records: list[Content]) -> None:
    text = as_csv(*records).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for row, (key, value, headers) in zip(rows, records, strict=True):
        assert _csv_bytes(row["key"], row["key_encoding"]) == key
        assert _csv_bytes(row["value"], row["value_encoding"]) == value
        assert [(_bytes_of(name), _bytes_of(each)) for name, each in json.loads(row["headers"])] == _wire_names(headers)


def _csv_bytes(text: str, encoding: str) -> Data:
    if encoding == "null":
        assert text == ""
        return None
    assert encoding in ("utf-8", "base64")
    return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
