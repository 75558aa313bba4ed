"""JSON lines back into records: lossless, and every mistake has its place."""

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.shapes import jsonl_parts
from kctl.cli.input.form import InputRecord
from kctl.cli.input.json_values import JsonError, distinct
from kctl.cli.input.jsonl import read_jsonl
from kctl.cli.produce.undelivered import UndeliveredRecord, as_json_line
from tests.unit.cli.formats.running import Content, chunk_of, written

data = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
names = st.text(max_size=5) | st.binary(max_size=5).map(lambda name: name.decode("utf-8", "surrogateescape"))
headers = st.lists(st.tuples(names, data), max_size=3)
contents = st.lists(st.tuples(data, data, headers), min_size=1, max_size=5)
timestamps = st.integers(-(2**63), 2**63 - 1)


def read(text: bytes, longest_bytes: int = 10_000) -> list[InputRecord]:
    return list(read_jsonl(io.BytesIO(text), "x", longest_bytes))


def one(text: str) -> InputRecord:
    (record,) = read(text.encode())
    return record


@given(contents, timestamps, st.booleans())
def test_output_of_consume_is_read_back(records: list[Content], timestamp: int, for_terminal: bool) -> None:
    chunk = chunk_of(*records, topic="a-topic", partition=3, timestamps=[timestamp] * len(records))
    found = read(written(RecordOutput(jsonl_parts(for_terminal=for_terminal)), chunk))
    assert [record[1:7] for record in found] == [
        (value, key, tuple(headers), "a-topic", 3, timestamp) for key, value, headers in records
    ]


@given(data, data, headers, st.none() | st.integers(0, 2**31 - 1), st.none() | timestamps, st.booleans())
def test_undelivered_records_are_read_back(
    key: bytes | None,
    value: bytes | None,
    given_headers: list[tuple[str, bytes | None]],
    partition: int | None,
    timestamp: int | None,
    perhaps: bool,
) -> None:
    line = as_json_line(
        UndeliveredRecord("t", partition, timestamp, key, value, given_headers, 'a "cause"\n\ud800', perhaps)
    )
    assert line.count(b"\n") == 1
    (record,) = read(line)
    assert record[1:7] == (value, key, tuple(given_headers), "t", partition, timestamp)
    assert ("perhaps_written" in json.loads(line)) is perhaps


def test_field_left_out_is_none() -> None:
    assert one('{"value":null}\n\n  \n') == InputRecord("x line 1 (byte 0)", None)
    assert one('{"value":"","key":"","headers":null,"timestamp":-1}')[1:7] == (b"", b"", (), None, None, -1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not valid JSON: expecting property name"),
        ('{"value":1}', '"value": expected a string, null, or {"base64":"..."}, found 1'),
        ('{"value":"\\ud800"}', "half of a surrogate pair"),
        ('{"value":{"base64":"x"}}', "not valid base64"),
        ('{"value":{"base64":"eA==","x":1}}', "expected a string"),
        ('{"vaule":"x"}', 'unknown field "vaule": did you mean value?'),
        ('{"key":"x"}', 'the field "value" is missing: use null for a tombstone'),
        ('{"value":"x","value":"y"}', '"value" appears twice'),
        ('{"value":"x","partition":-1}', '"partition" must be a number from 0 to 2147483647'),
        ('{"value":"x","partition":true}', '"partition" must be'),
        ('{"value":"x","partition":2147483648}', '"partition" must be'),
        ('{"value":"x","timestamp":1.5}', '"timestamp" must be'),
        ('{"value":"x","timestamp":NaN}', "NaN is not valid JSON"),
        ('{"value":"x","timestamp":' + "9" * 5000 + "}", "unsupported JSON"),
        ('{"value":"x","topic":""}', '"topic" must be a name'),
        ('{"value":"x","headers":{}}', '"headers" must be [[name, value], ...]'),
        ('{"value":"x","headers":[["a"]]}', '"headers"[0] must be [name, value], not ["a"]'),
        ('{"value":"x","headers":[["a","b"],[null,"b"]]}', '"headers"[1]: a header needs a name'),
        ('["value"]', "a record must be an object"),
        ("[" * (3000 if sys.version_info < (3, 12) else 75_000), "unsupported JSON"),
    ],
)
def test_mistakes(line: str, words: str) -> None:
    with pytest.raises(CommandError) as e:
        read(b'{"value":"good"}\n' + line.encode())
    assert e.value.code is ExitCode.DATA
    assert str(e.value).startswith("x line 2 (byte 17), column ")
    assert words in str(e.value)


def test_the_caret_points_at_the_byte() -> None:
    with pytest.raises(CommandError) as e:
        read('{"value":"é", oops}'.encode())
    first, shown, caret = str(e.value).split("\n")
    assert first.startswith("x line 1 (byte 0), column 16: not valid JSON")
    assert shown[caret.index("^") :] == "oops}"
    with pytest.raises(CommandError, match="column 11: the line is not UTF-8"):
        read(b'{"value":"\xff"}')


def test_name_that_is_twice_among_many_is_found_by_one_look_at_each() -> None:
    looks = 0

    class Name(str):
        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    with pytest.raises(JsonError, match='"999" appears twice'):
        distinct([(Name(number), None) for number in [*range(1000), 999]])
    assert looks < 5000
