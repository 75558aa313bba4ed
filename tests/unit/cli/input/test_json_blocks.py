"""Blocks of JSON lines hold the records that each line holds by itself, and end before the line with the same error."""

import io
import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kctl.cli.failures import CommandError
from kctl.cli.input.form import Form, InputForm, InputRecord
from kctl.cli.input.json_blocks import JsonBlock, read_json_blocks
from kctl.cli.input.jsonl import JSONL, read_jsonl
from tests.support.growth import lines_of
from tests.unit.cli.input.test_lines import Pieces

PLAIN = b'{"topic": "t", "partition": 1, "offset": 5, "timestamp": 7, "key": "k", "value": "v", "headers": []}'
LINES = [
    PLAIN,
    PLAIN + b"\r",
    PLAIN.replace(b" ", b""),
    PLAIN.replace(b'"k"', b"null"),
    PLAIN.replace(b'"v"', b"null"),
    PLAIN.replace(b'"t"', b"null"),
    PLAIN.replace(b'"v"', b'"a\\n\\u00e9\\"\\\\"'),
    PLAIN.replace(b'"v"', b'"\\ud83d\\ude00"'),
    PLAIN.replace(b'"v"', b'{"base64": "AP8="}'),
    PLAIN.replace(b'"v"', b'{ "base64" : "AP8=" }'),
    PLAIN.replace(b'"v"', '"é€😀"'.encode()),
    PLAIN.replace(b"[]", b'[["a", "b"], ["c", null], ["d", {"base64": "AA=="}]]'),
    PLAIN.replace(b"[]", b"null"),
    PLAIN.replace(b" 7,", b" -1,"),
    PLAIN.replace(b" 7,", b" 1234567890123456789,"),
    PLAIN.replace(b" 1,", b" 2147483647,"),
    PLAIN.replace(b" 1,", b" null,"),
    PLAIN.replace(b" 1,", b" 2,"),
    b'{"value": "v"}',
    b'{"value":"w","key":"l"}',
    b'{"key":null,"value":"v","cause":"c","perhaps_written":true}',
    b' {"value": "v" } ',
    b"",
    b"  ",
]
WRONG = [
    PLAIN.replace(b'"v"', b'"\\ud800"'),
    PLAIN.replace(b'"v"', b'{"base64": "x"}'),
    PLAIN.replace(b'"v"', b'"a\tb"'),
    PLAIN.replace(b'"v"', b'"\xff"'),
    PLAIN.replace(b'"v"', b'"\\x"'),
    PLAIN.replace(b"[]", b'[["a", "b"], [null, "b"]]'),
    PLAIN.replace(b"[]", b'[["a", "\\ud800"]]'),
    PLAIN.replace(b"[]", b'[["a", "b"],]'),
    PLAIN.replace(b" 7,", b" 07,"),
    PLAIN.replace(b" 7,", b" 99999999999999999999,"),
    PLAIN.replace(b" 1,", b" 2147483648,"),
    PLAIN.replace(b'"t"', b'""'),
    PLAIN.replace(b'"k"', b'"k", "key": "l"'),
    PLAIN + PLAIN,
    b'{"key":"k"}',
    b'{"vaule":"v"}',
    b'{"value":"v","key_schema":7}',
    b'{"value":"v"',
]
Outcome = tuple[list[InputRecord], str]


def outcome_of(records: Iterator[InputRecord]) -> Outcome:
    """Return the records up to an error, and its text."""
    found: list[InputRecord] = []
    try:
        found.extend(records)
    except CommandError as error:
        return found, str(error)
    return found, ""


def blocks_of(pieces: list[bytes], form: Form = JSONL) -> Iterator[JsonBlock]:
    return read_json_blocks(Pieces(pieces), "x", 1000, form=form)


def records_of(blocks: Iterator[JsonBlock]) -> Iterator[InputRecord]:
    for block in blocks:
        assert block.values
        yield from block.records()


@given(
    st.lists(st.sampled_from(LINES) | st.sampled_from(LINES + WRONG), min_size=1, max_size=8),
    st.lists(st.integers(1, 400), max_size=6),
    st.booleans(),
)
@example([PLAIN, WRONG[0], PLAIN], [], True)
def test_blocks_are_the_records_of_the_lines_wherever_the_input_is_cut(
    lines: list[bytes], cuts: list[int], ends: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    pieces, at = [], 0
    for size in [*cuts, len(data)]:
        pieces.append(data[at : at + size])
        at += size
    expected = outcome_of(read_jsonl(io.BytesIO(data), "x", 1000))
    assert outcome_of(records_of(blocks_of([piece for piece in pieces if piece]))) == expected


@pytest.mark.parametrize("wrong", WRONG)
def test_line_that_is_not_a_record_is_named_behind_plain_ones(wrong: bytes) -> None:
    data = (PLAIN + b"\n") * 3 + wrong + b"\n" + PLAIN
    records, error = outcome_of(records_of(blocks_of([data])))
    assert len(records) == 3
    assert error.startswith(f"x line 4 (byte {3 * len(PLAIN) + 3}), column ")


@given(st.lists(st.tuples(st.sampled_from(["t", "u", None]), st.integers(0, 2) | st.none()), min_size=1))
def test_parts_have_one_topic_and_partition_and_keep_the_order(targets: list[tuple[str | None, int | None]]) -> None:
    data = b"".join(
        json.dumps({"topic": topic, "partition": partition, "timestamp": row, "value": str(row)}).encode() + b"\n"
        for row, (topic, partition) in enumerate(targets)
    )
    (block,) = blocks_of([data])
    for by_topic, by_partition in ((True, True), (True, False), (False, True), (False, False)):
        rows = 0
        for part in block.parts(by_topic=by_topic, by_partition=by_partition):
            assert part.first == rows
            for value, time in zip(part.values, part.timestamps_ms or (), strict=True):
                assert (value, time) == (b"%d" % rows, rows)
                assert part.topic == (targets[rows][0] if by_topic else None)
                assert part.partition == (targets[rows][1] if by_partition else None)
                rows += 1
        assert rows == len(targets)
    assert sum(map(block.row_bytes, range(len(targets)))) == len(data)


def test_given_key_is_that_of_records_without_one() -> None:
    (block,) = blocks_of([b'{"key":"k","value":"a"}\n{"key":null,"value":"b"}\n'], Form(InputForm.JSONL, key=b"g"))
    assert block.keys == [b"k", b"g"]
    (block,) = blocks_of([b'{"value":"a"}\n'], Form(InputForm.JSONL, key=b"g"))
    assert block.keys == [b"g"]


def test_plain_line_costs_few_lines_of_code() -> None:
    line = PLAIN + b"\n"
    list(blocks_of([line]))
    few, many = (lines_of(lambda n=n: list(blocks_of([line * n]))) for n in (100, 1000))  # type: ignore[misc]
    assert many - few < 5 * 900
