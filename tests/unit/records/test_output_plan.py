"""Output bytes by a plan: every field, null, converters, and that the fast way equals the general one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.texts import JsonForm
from kctl.client.errors import CorruptBatchError, LocalProtocolError
from kctl.client.records import FIELD_NAMES, BatchReader, OutputField, OutputPlan, QuotedText
from kctl.client.records.reader import LARGE_OUTPUT_BYTES
from tests.unit.records.handmade import batch, record

DATA = batch(
    record(0, b"key", b"value", [(b"a", b"1"), (b"a", None), (b"\xff", b"")], 7),
    record(1, None, None),
    base_offset=40,
    producer_id=9,
    producer_epoch=2,
)


def output(plan: OutputPlan, data: bytes = DATA, chunk: int = 500) -> bytes:
    reader = BatchReader(data, topic="tö", partition=3)
    text = b""
    while not reader.exhausted:
        text += reader.output(plan, chunk)
    return text


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("topic", "tö".encode(), "tö".encode()),
        ("topic_size", b"3", b"3"),
        ("partition", b"3", b"3"),
        ("offset", b"40", b"41"),
        ("timestamp", b"1007", b"1000"),
        ("timestamp_type", b"create_time", b"create_time"),
        ("key", b"key", b""),
        ("key_size", b"3", b"0"),
        ("value", b"value", b""),
        ("value_size", b"5", b"0"),
        ("headers", b"a=1,a=,\xff=", b""),
        ("header_count", b"3", b"0"),
        ("leader_epoch", b"5", b"5"),
        ("compression", b"none", b"none"),
        ("producer_id", b"9", b"9"),
        ("producer_epoch", b"2", b"2"),
        ("is_transactional", b"0", b"0"),
        ("count", b"1", b"2"),
    ],
)
def test_every_field_is_written(name: str, first: bytes, second: bytes) -> None:
    assert name in FIELD_NAMES
    assert output(OutputPlan([b"<", OutputField(name), b">"])) == b"<" + first + b"><" + second + b">"
    assert output(OutputPlan([b"<", OutputField(name), b">"]), chunk=1) == b"<" + first + b"><" + second + b">"


def test_null_may_have_a_word() -> None:
    plan = OutputPlan(
        [OutputField("key"), b" ", OutputField("value"), b" ", OutputField("headers"), b"\n"], null=b"NULL"
    )
    assert output(plan) == b"key value a=1,a=NULL,\xff=\nNULL NULL \n"
    assert output(OutputPlan([OutputField("value"), b"\n"], null=b"NULL")) == b"value\nNULL\n"


def test_a_field_may_have_its_own_word_for_null_which_no_converter_is_asked_for() -> None:
    def upper(data: bytes) -> bytes:
        return data.upper()

    plan = OutputPlan([OutputField("key", upper, null=b"-"), b" ", OutputField("value", null=b""), b"\n"], null=b"NULL")
    assert output(plan) == b"KEY value\n- \n"
    assert output(OutputPlan([OutputField("value", null=b"-"), b"\n"], null=b"NULL")) == b"value\n-\n"


@pytest.mark.parametrize("name", FIELD_NAMES)
def test_a_converter_gets_the_value(name: str) -> None:
    seen: list[object] = []

    def convert(value: object) -> bytes:
        seen.append(value)
        return b"x"

    assert output(OutputPlan([OutputField(name, convert)])) == b"xx"
    wanted = {"key": [b"key", None], "value": [b"value", None], "offset": [40, 41], "count": [1, 2], "topic": ["tö"]}
    if name in wanted:
        assert seen == wanted[name]
    if name == "headers":
        assert seen == [(("a", b"1"), ("a", None), ("\udcff", b"")), ()]


def test_an_error_of_a_converter_is_not_taken_for_damage() -> None:
    def convert(value: object) -> bytes:
        raise IndexError("mine")

    with pytest.raises(IndexError, match="mine"):
        output(OutputPlan([OutputField("key", convert)]))


def test_a_plan_without_fields_writes_its_words_for_each_record() -> None:
    assert output(OutputPlan([b"a", b"b"])) == b"abab"
    assert output(OutputPlan([])) == b""


values = st.lists(st.none() | st.binary(max_size=5), max_size=12)


@given(values, st.binary(max_size=3), st.integers(1, 5), st.sampled_from([b"", b"NULL"]))
def test_the_fast_way_equals_the_general_one(
    content: list[bytes | None], separator: bytes, chunk: int, null: bytes
) -> None:
    data = batch(*(record(number, None, value) for number, value in enumerate(content)))
    fast = OutputPlan([OutputField("value"), separator], null=null)
    general = OutputPlan([b"", OutputField("value"), separator], null=null)
    assert fast.value_separator == separator
    assert general.value_separator is None
    if content:
        assert output(fast, data, chunk) == output(general, data, chunk)


Pairs = list[tuple[bytes, bytes | None]]
Row = tuple[bytes | None, bytes | None, Pairs, int]
data_bytes = st.none() | st.binary(max_size=6) | st.text(max_size=6).map(str.encode) | st.just(b"x" * 300)
pairs = st.lists(st.tuples(st.binary(max_size=3), data_bytes), max_size=2)
rows = st.lists(st.tuples(data_bytes, data_bytes, pairs, st.integers(-2, 3_000)), min_size=1, max_size=200)
plain_fields = st.sampled_from([name for name in FIELD_NAMES if name != "topic_size"])


def _shown(name: str, at: int, base: int, row: Row, null: bytes) -> bytes:
    """One field of a record, written without any of the code under test."""
    key, value, headers, delta = row
    of_record = {
        "key": null if key is None else key,
        "value": null if value is None else value,
        "headers": b",".join(name + b"=" + (null if data is None else data) for name, data in headers),
        "offset": b"%d" % (base + at),
        "timestamp": b"%d" % (1_000 + delta),
        "key_size": b"%d" % len(key or b""),
        "value_size": b"%d" % len(value or b""),
        "header_count": b"%d" % len(headers),
        "count": b"%d" % (at + 1),
    }
    of_batch = {"topic": "tö".encode(), "partition": b"3", "leader_epoch": b"5", "timestamp_type": b"create_time"}
    rest = {"compression": b"none", "producer_id": b"-1", "producer_epoch": b"-1", "is_transactional": b"0"}
    return (of_record | of_batch | rest)[name]


@given(
    rows,
    st.lists(plain_fields.map(OutputField) | st.binary(max_size=3), max_size=7),
    st.integers(1, 130),
    st.sampled_from([b"", b"NULL"]),
    st.sampled_from([0, 990, 999_999_000, (1 << 62)]),
)
def test_any_plan_equals_field_after_field(
    content: list[Row], parts: list[bytes | OutputField], chunk: int, null: bytes, base: int
) -> None:
    records = [record(at, key, value, pairs, delta) for at, (key, value, pairs, delta) in enumerate(content)]
    expected = b"".join(
        part if isinstance(part, bytes) else _shown(part.name, at, base, row, null)
        for at, row in enumerate(content)
        for part in parts
    )
    assert output(OutputPlan(parts, null=null), batch(*records, base_offset=base), chunk) == expected


@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_quoted_text_escapes_all_that_needs_an_escape(data: bytes) -> None:
    assert QuotedText(lambda given: b"escaped " + given)(data) in (
        b"escaped " + data,
        json.dumps(data.decode("utf-8", "replace")).encode(),
    )


def test_quoted_text_of_each_byte_is_json_or_left_to_the_escape() -> None:
    quoted = QuotedText(lambda _: b"escaped")
    for code in range(256):
        assert quoted(bytes([code])) == (json.dumps(chr(code)).encode() if 0x20 <= code < 0x7F else b"escaped")


def test_records_before_damage_are_written_to_their_end() -> None:
    data = batch(*[record(at, None, b"v") for at in range(70)], record(70, tail=b"\x02"))
    plan = OutputPlan([b"<", OutputField("value"), OutputField("header_count"), b">"])
    reader = BatchReader(data, topic="t", partition=3)
    assert reader.output(plan) == b"<v0>" * 70
    with pytest.raises(CorruptBatchError):
        reader.output(plan)


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(LocalProtocolError, match="'colour' is not a field of a record: key, value"):
        OutputField("colour")


@pytest.mark.parametrize(
    "value",
    [
        b"x" * (LARGE_OUTPUT_BYTES + 7),
        b'"\\' * (LARGE_OUTPUT_BYTES // 2 + 1),
        "aé€😀".encode() * (LARGE_OUTPUT_BYTES // 10 + 1),
        b"x" * LARGE_OUTPUT_BYTES + b"\xff",
    ],
    ids=["plain", "escaped", "characters of all sizes", "no text"],
)
def test_large_value_is_quoted_in_parts_as_a_small_one_is(value: bytes) -> None:
    quoted = JsonForm(is_ascii=False).text
    plan = OutputPlan([b"<", OutputField("offset"), OutputField("value", quoted), b">"])
    data = batch(record(0, value=b"a"), record(1, value=value), record(2, value=b"b"), base_offset=5)
    reader = BatchReader(data)
    pieces: list[bytes] = []
    while not reader.exhausted:
        pieces += map(bytes, reader.pieces(plan))
    assert b"".join(pieces) == b'<5"a"><6%b><7"b">' % quoted(value)
    if value.isascii():
        assert max(map(len, pieces)) < len(value)
