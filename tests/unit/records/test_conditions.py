"""Output of only some records: each subject, negation, null, positions and counts, damage among what is left out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import CorruptBatchError, LocalProtocolError
from kctl.client.records import SUBJECT_NAMES, BatchReader, Condition, OutputField, OutputPlan
from tests.unit.records.handmade import batch, record

DATA = batch(
    record(0, b"red", b"apple", [(b"colour", b"bright"), (b"\xff", None)]),
    record(1, None, b"pear", [(b"origin", b"colour")]),
    record(2, b"apple", None),
    base_offset=40,
)
OFFSETS: list[bytes | OutputField] = [OutputField("offset"), b" "]


def condition(subject: str, pattern: bytes, *, negated: bool = False, header_name: str = "") -> Condition:
    return Condition(subject, re.compile(pattern).search, negated, header_name)


def read(*conditions: Condition, data: bytes = DATA, chunk: int = 500) -> tuple[bytes, BatchReader]:
    reader = BatchReader(data, topic="tö", partition=3)
    output = b""
    while not reader.exhausted:
        output += reader.output(OutputPlan(OFFSETS, conditions=conditions), chunk)
    return output, reader


@pytest.mark.parametrize(
    ("subject", "pattern", "header_name", "expected"),
    [
        ("key", b"a|r", "", b"40 42 "),
        ("value", b"^(apple|pear)$", "", b"40 41 "),
        ("value", b"^$", "", b"42 "),
        ("key", b"^$", "", b"41 "),
        ("key_or_value", b"apple", "", b"40 42 "),
        ("topic", "ö$".encode(), "", b"40 41 42 "),
        ("topic", b"other", "", b""),
        ("header_name", b"^colour$", "", b"40 "),
        ("header_name", b"\xff", "", b"40 "),
        ("header_value", b"colour", "", b"41 "),
        ("header_value", b"^$", "", b"40 "),
        ("named_header", b"bright", "colour", b"40 "),
        ("named_header", b"", "origin", b"41 "),
        ("named_header", b"", "\udcff", b"40 "),
        ("named_header", b"bright", "origin", b""),
    ],
)
def test_each_subject(subject: str, pattern: bytes, header_name: str, expected: bytes) -> None:
    assert subject in SUBJECT_NAMES
    output, reader = read(condition(subject, pattern, header_name=header_name))
    assert output == expected
    assert (reader.count, reader.filtered_records, reader.next_offset) == (expected.count(b" "), 3 - reader.count, 43)
    opposite, _ = read(condition(subject, pattern, header_name=header_name, negated=True))
    assert sorted(opposite.split() + output.split()) == [b"40", b"41", b"42"]


def test_all_must_hold() -> None:
    assert read(condition("key_or_value", b"apple"), condition("key", b"red"))[0] == b"40 "
    assert read(condition("key_or_value", b"apple"), condition("key", b"red", negated=True))[0] == b"42 "


def test_the_limit_is_one_of_what_is_given_out() -> None:
    reader = BatchReader(DATA)
    plan = OutputPlan(OFFSETS, conditions=[condition("value", b"p", negated=True)])
    assert reader.output(plan, 1) == b"42 "
    assert (reader.count, reader.filtered_records, reader.next_offset) == (1, 2, 43)
    reader = BatchReader(DATA)
    plan = OutputPlan([OutputField("count"), b" "], conditions=[condition("value", b"pear")])
    assert reader.output(plan, 1) == b"1 "
    assert (reader.count, reader.filtered_records, reader.next_offset) == (1, 1, 42)
    assert reader.output(plan, 1) == b""
    assert (reader.exhausted, reader.filtered_records, reader.next_offset) == (True, 2, 43)


def test_skipped_records_move_the_position_up_to_the_stop_offset() -> None:
    reader = BatchReader(DATA, stop_offset=42)
    assert reader.output(OutputPlan(OFFSETS, conditions=[condition("key", b"nothing")])) == b""
    assert (reader.exhausted, reader.filtered_records, reader.next_offset) == (True, 2, 42)


def test_damage_behind_records_that_are_left_out() -> None:
    broken = record(1, tail=b"\x02\x01")  # one header, whose name is null
    reader = BatchReader(batch(record(0), broken, base_offset=7))
    with pytest.raises(CorruptBatchError, match="without a name"):
        reader.output(OutputPlan(OFFSETS, conditions=[condition("header_name", b"x")]))
    assert (reader.count, reader.filtered_records, reader.next_offset) == (0, 1, 8)


def test_an_error_of_a_search_comes_through() -> None:
    def search(data: bytes) -> object:
        raise IndexError("mine")

    with pytest.raises(IndexError, match="mine"):
        read(Condition("key", search))


@given(st.lists(st.none() | st.sampled_from([b"", b"a", b"ab", b"b"]), min_size=1, max_size=12), st.integers(1, 5))
def test_with_and_without_a_fast_way(values: list[bytes | None], chunk: int) -> None:
    data = batch(*(record(number, None, value) for number, value in enumerate(values)))
    reader = BatchReader(data)
    plan = OutputPlan([OutputField("value"), b"\n"], conditions=[condition("value", b"a")])
    output = b""
    while not reader.exhausted:
        output += reader.output(plan, chunk)
    assert output == b"".join(value + b"\n" for value in values if value is not None and b"a" in value)
    assert reader.count + reader.filtered_records == len(values)


def test_an_unknown_subject_is_named() -> None:
    with pytest.raises(LocalProtocolError, match="'colour' is not a subject of a condition: key_or_value, key"):
        Condition("colour", re.compile(b"").search)
