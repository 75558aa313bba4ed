"""Output bytes by a plan: every field, null, converters, and that the fast way equals the general one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import LocalProtocolError
from kctl.client.records import FIELD_NAMES, BatchReader, OutputField, OutputPlan
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


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(LocalProtocolError, match="'colour' is not a field of a record: key, value"):
        OutputField("colour")
