"""The loops that are written in Python and in C: both do the same, and the general way out of a batch does, too."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, OutputField, OutputPlan, RecordBatchBuilder
from kctl.client.records._hot import bulk
from tests.unit.records.handmade import batch, record, varint
from tests.unit.records.sources import source_of

source = source_of(bulk)

contents = st.none() | st.binary(max_size=6) | st.sampled_from([b"x" * 63, b"x" * 64, b"y" * 9_000])
pairs = st.lists(st.tuples(st.binary(max_size=3), contents), max_size=2)
timestamps = st.integers(-3, 3_000) | st.sampled_from([(1 << 61), -(1 << 63), (1 << 63) - 1])
rows = st.tuples(st.integers(1, 3), contents, contents, pairs, timestamps)
records = st.lists(rows, max_size=40)
damage = st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), max_size=3)
separators = st.binary(max_size=3)


def written(
    content: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]], int]],
) -> list[bytes]:
    """The records, whose offsets rise by one to three."""
    found, delta = [], -1
    for step, key, value, headers, timestamp in content:
        delta += step
        found.append(record(delta, key, value, headers, timestamp))
    return found


def damaged(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for at, byte in changes:
        if changed:
            changed[at % len(changed)] = byte
    return bytes(changed)


def value_of_plain_records(
    data: bytes,
    pos: int = 0,
    limit: int = 1 << 20,
    first_delta: int = 0,
    end_delta: int = 1 << 40,
    most: int = 1_000,
    left: int = 1_000,
) -> tuple[bytes, int, int, int]:
    arguments = (data, pos, limit, first_delta, end_delta, most, left, b"\n", b"NULL")
    found = bulk.take_values(*arguments)
    assert found == source.take_values(*arguments)
    return found


def test_plain_records_are_taken_to_the_end() -> None:
    data = record(0) + record(1, None, None) + record(2, b"", b"") + record(5, b"k", b"w", [(b"h", b"1")])
    assert value_of_plain_records(data) == (b"v\nNULL\n\nw\n", 4, len(data), 5)


def test_records_are_not_taken_beyond_what_is_wanted() -> None:
    first = record(3)
    data = first + record(4) + record(9)
    assert value_of_plain_records(data, most=1) == (b"v\n", 1, len(first), 3)
    assert value_of_plain_records(data, most=0) == (b"", 0, 0, -1)
    assert value_of_plain_records(data, first_delta=4) == (b"", 0, 0, 3)
    assert value_of_plain_records(data, end_delta=9)[1] == 2
    assert value_of_plain_records(data, limit=len(first) + 1)[1] == 1
    assert value_of_plain_records(data, pos=len(data)) == (b"", 0, len(data), -1)


def test_records_that_are_not_plain_are_left() -> None:
    good = record(0)
    for odd in (
        record(0),  # the offset does not rise
        record(1, tail=b"\0\0"),
        record(1, size=3),
        record(1, timestamp_delta=-(1 << 63)),
        varint(1 << 30),
        b"\x80\x80\x80\x80\x80",
        b"\x01",
        b"\x80",
    ):
        assert value_of_plain_records(good + odd) == (b"v\n", 1, len(good), 0), odd
    for cut in range(1, len(good)):
        assert value_of_plain_records(good[:cut]) == (b"", 0, 0, -1)


def test_last_record_of_a_batch_is_left_where_bytes_follow_it() -> None:
    data = record(0) + record(1)
    assert value_of_plain_records(data, left=2) == (b"v\nv\n", 2, len(data), 1)
    assert value_of_plain_records(data + record(2), left=2) == (b"v\n", 1, len(record(0)), 0)
    assert value_of_plain_records(data + b"\0", left=2) == (b"v\n", 1, len(record(0)), 0)


@given(
    records, damage, st.integers(-2, 60), st.integers(0, 100), st.integers(-1, 60), st.integers(0, 60), separators,
    contents,
)  # fmt: skip
@example([(1, None, b"z", [], 0)] * 1_500, [], 0, 2_000, 2_000, 1_500, b"\n", b"")  # several blocks
@example([(1, None, b"z" * (at // 500 * 100), [], 0) for at in range(2_000)], [], 0, 3_000, 3_000, 9, b"\r\n", b"")
def test_c_and_python_take_the_same(
    content: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]], int]],
    changes: list[tuple[int, int]],
    first_delta: int,
    end_delta: int,
    most: int,
    left: int,
    separator: bytes,
    null: bytes | None,
) -> None:
    data = damaged(b"".join(written(content)), changes)
    arguments = (data, 0, len(data), first_delta, end_delta, most, left, separator, null or b"")
    assert bulk.take_values(*arguments) == source.take_values(*arguments)


Taken = tuple[object, ...]


def columns_of(
    module: ModuleType, wanted: tuple[bool, bool, bool, bool], arguments: tuple[Any, ...]
) -> tuple[Taken, Taken]:
    """What take_columns returns, and what it adds to columns that have a row already."""
    keys, values = ((bytearray(b"a"), bytearray(8), bytearray(b"\1")) if want else None for want in wanted[:2])
    offsets, times = (bytearray(8) if want else None for want in wanted[2:])
    return module.take_columns(*arguments, keys, values, offsets, times), (keys, values, offsets, times)


@given(
    records,
    damage,
    st.tuples(st.integers(-2, 60), st.integers(0, 100)),
    st.integers(-1, 60),
    st.integers(-1, 100),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([0, 77, (1 << 63) - 1]),
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
@example([(1, b"k", b"z", [], 5)] * 1_500, [], (0, 2_000), 2_000, 1 << 20, (True, False), 77, (True,) * 4)
def test_c_and_python_take_the_same_columns(
    content: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]], int]],
    changes: list[tuple[int, int]],
    deltas: tuple[int, int],
    most: int,
    room: int,
    flags: tuple[bool, bool],
    base: int,
    wanted: tuple[bool, bool, bool, bool],
) -> None:
    data = damaged(b"".join(written(content)), changes)
    arguments = (data, 0, len(data), *deltas, most, room, flags[0], min(base, 1 << 62), base, flags[1])
    found = columns_of(bulk, wanted, arguments)
    assert found == columns_of(source, wanted, arguments)
    taken, pos = found[0][0], found[0][1]
    if not any(flags[:1]) and most >= 0 and room > 0 and not any(wanted[:2]):
        same = bulk.take_values(data, 0, len(data), *deltas, most, most + 1, b"", b"")
        assert same[1:3] == (taken, pos)


@pytest.mark.parametrize("module", [bulk, source])
def test_columns_end_with_the_record_that_uses_the_room_up(module: ModuleType) -> None:
    data = record(0, b"kk", b"vv") + record(1, None, b"w") + record(2, None, b"x")
    (taken, _, last, room), (keys, values, *_) = columns_of(
        module, (True, True, False, False), (data, 0, len(data), 0, 9, 9, 5, False, 0, 0, False)
    )
    assert (taken, last, room) == (2, 1, 0)
    assert keys[0] == b"akk"  # type: ignore[index]
    assert values[0] == b"avvw"  # type: ignore[index]


def output(data: bytes, plan: OutputPlan, chunk: int, start: int, stop: int) -> tuple[bytes, int, str]:
    """What comes out, the position after it, and the error that ended it."""
    reader = BatchReader(data, fetch_offset=start, stop_offset=stop, check_crcs=False)
    text, error = b"", ""
    try:
        while not reader.exhausted:
            text += reader.output(plan, chunk)
    except CorruptBatchError as found:
        error = str(found)
    return text, reader.next_offset, error


@given(records.filter(bool), damage, st.integers(1, 50), st.integers(95, 140), st.integers(95, 300), separators)
def test_the_fast_way_out_equals_the_general_one_in_damaged_batches_too(
    content: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]], int]],
    changes: list[tuple[int, int]],
    chunk: int,
    start: int,
    stop: int,
    separator: bytes,
) -> None:
    plain = written(content)
    last = sum(row[0] for row in content) - 1
    body = damaged(b"".join(plain), changes)
    data = batch(*plain, body=body, base_offset=100, last_offset_delta=last) + batch(record(), base_offset=200)
    fast = OutputPlan([OutputField("value"), separator], null=b"NULL")
    general = OutputPlan([b"", OutputField("value"), separator], null=b"NULL")
    assert output(data, fast, chunk, start, stop) == output(data, general, chunk, start, stop)


# --- lines ------------------------------------------------------------------------------------------------------------

texts = st.lists(
    st.binary(max_size=9).map(lambda data: bytes(b"ab:\n\n-"[byte % 6] for byte in data))
    | st.sampled_from([b"x" * 54, b"x" * 55, b"y" * 126, b"z" * 8_200, b"\n" * 100]),
    max_size=12,
).map(b"".join)
delimiters = st.sampled_from([b"\n", b"\n\n", b"-\n", b"a:a", b"aa", b"\0"])


@given(texts, delimiters)
@example(b"", b"\n")
@example(b"a" * 11, b"aa")
def test_lines_are_measured_as_they_are_split(data: bytes, delimiter: bytes) -> None:
    *lines, rest = data.split(delimiter)
    expected = len(lines), max(map(len, lines), default=0), len(data) - len(rest)
    assert bulk.measure_lines(data, delimiter) == source.measure_lines(data, delimiter) == expected


@given(
    texts.filter(bool),
    delimiters,
    st.binary(max_size=3) | st.just(b"b" * 70),
    st.integers(-1, 400) | st.just(1 << 20),
    st.integers(0, 300),
    st.integers(0, 12),
)
@example(b"\n" * 5_000, b"\n", b"", 1 << 20, 5_000, 0)  # offset deltas of two bytes, and far more records than bytes
@example(b"q" * 20_000 + b"\n" + b"\n" * 300, b"\n", b"", 10, 300, 0)
def test_c_and_python_encode_the_same_lines_as_the_builder(
    data: bytes, delimiter: bytes, begun: bytes, room: int, most: int, first: int
) -> None:
    *lines, rest = data.split(delimiter)
    end = len(data) - len(rest)
    first = min(first, len(lines))
    at = sum(len(line) + len(delimiter) for line in lines[:first])
    found = bulk.encode_lines(begun, data, at, end, delimiter, room, most)
    assert found == source.encode_lines(begun, data, at, end, delimiter, room, most)

    records, count, behind = found
    taken = [*lines[first : first + count]]
    assert behind == at + sum(len(line) + len(delimiter) for line in taken)
    assert count == 0 or len(records) <= room or count == 1
    assert count or not most or first == len(lines)
    if count:
        taken[0] = begun + taken[0]
        expected, builder = RecordBatchBuilder(batch_size_bytes=1 << 30), RecordBatchBuilder()
        for line in taken:
            expected.try_append(None, line, (), 77)
        builder.set_records(records, count, 77)
        assert builder.build() == expected.build()
        assert (builder.size_bytes, builder.plain_bytes) == (expected.size_bytes, expected.plain_bytes)
    if first + count < len(lines) and 0 < count < most:  # it ended for want of room
        more = bulk.encode_lines(begun, data, at, end, delimiter, 1 << 30, count + 1)
        assert len(more[0]) > room


@pytest.mark.parametrize("module", [bulk, source])
def test_an_empty_delimiter_is_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="empty delimiter"):
        module.measure_lines(b"a", b"")
    with pytest.raises(ValueError, match="empty delimiter"):
        module.encode_lines(b"", b"a", 0, 1, b"", 1, 1)
