"""Values where they lie, in Python and in C: the bytes that take_values() copies, written in any number of steps."""

import os
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, OutputField, OutputPlan
from kctl.client.records._hot import bulk, places
from kctl.client.records._hot.cursor import LARGE_BYTES
from tests.unit.records.handmade import batch, record
from tests.unit.records.sources import source_of

source = source_of(places)

contents = st.none() | st.binary(max_size=3) | st.sampled_from([b"x" * (LARGE_BYTES - 9), b"y" * 700, b"z" * 9_000])
pairs = st.lists(st.tuples(st.binary(max_size=3), contents), max_size=1)
records = st.lists(st.tuples(st.integers(1, 3), contents, pairs), min_size=1, max_size=40)
damage = st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 255)), max_size=2)


def written(content: list[tuple[int, bytes | None, list[tuple[bytes, bytes | None]]]]) -> list[bytes]:
    """The records, whose offsets rise by one to three."""
    found, delta = [], -1
    for step, value, headers in content:
        delta += step
        found.append(record(delta, None, value, headers))
    return found


def damaged(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for at, byte in changes:
        changed[at % len(changed)] = byte
    return bytes(changed)


@given(records, damage, st.integers(-2, 60), st.integers(0, 100), st.integers(-1, 60), st.integers(0, 60))
@example([(1, b"v", [])] * 1_500, [], 0, 2_000, 2_000, 1_500)
def test_places_are_of_the_bytes_that_would_be_copied(
    content: list[tuple[int, bytes | None, list[tuple[bytes, bytes | None]]]],
    changes: list[tuple[int, int]],
    first_delta: int,
    end_delta: int,
    most: int,
    left: int,
) -> None:
    data = damaged(b"".join(written(content)), changes)
    arguments = (data, 0, len(data), first_delta, end_delta, most, left, b"\r\n", b"NULL")
    copied, *where = bulk.take_values(*arguments)
    for module in (places, source):
        found, *there = module.place_values(*arguments)
        assert there == where
        assert len(found) == len(copied)
        assert bytes(found) == copied


@pytest.mark.parametrize("module", [places, source], ids=["built", "source"])
@pytest.mark.parametrize("takes", [1, 7, 4096, 10_000])
def test_places_are_written_however_little_the_system_takes(module: ModuleType, takes: int) -> None:
    data = b"".join(record(number, None, b"%d" % number * (number % 40)) for number in range(1_500))
    arguments = (data, 0, len(data), 0, 1_500, 1_500, 1_500, b"\n", b"")
    copied = bulk.take_values(*arguments)[0]
    found = module.place_values(*arguments)[0]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    arrived, waits = b"", 0
    with open(reading, "rb", buffering=0) as reader, open(writing, "wb", buffering=0) as stream:
        while len(found):
            before = len(found)
            try:
                found.write_some(stream.fileno())
            except BlockingIOError:
                waits += 1
                arrived += reader.read(takes)
            else:
                assert len(found) < before
                assert bytes(found) == copied[len(copied) - len(found) :]
        found.write_some(stream.fileno())  # nothing
        stream.close()
        while piece := reader.read(1 << 20):
            arrived += piece
    assert arrived == copied
    assert waits > 0


@pytest.mark.parametrize("module", [places, source], ids=["built", "source"])
def test_errors_of_the_system_are_raised(module: ModuleType) -> None:
    found = module.place_values(record(0), 0, len(record(0)), 0, 1, 1, 1, b"\n", b"")[0]
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as stream, pytest.raises(BrokenPipeError):
        found.write_some(stream.fileno())
    assert bytes(found) == b"v\n"
    with pytest.raises(OSError, match="Bad file descriptor"):
        found.write_some(writing)


def read(data: bytes, chunk: int, start: int, stop: int, *, in_place: bool) -> tuple[bytes, int, int, str]:
    """What comes out, the position after it, the number of records, and the error that ended it."""
    reader = BatchReader(data, fetch_offset=start, stop_offset=stop, check_crcs=False)
    plan = OutputPlan([OutputField("value"), b"\n"], b"NULL")
    text, error = b"", ""
    try:
        while not reader.exhausted:
            text += b"".join(map(bytes, reader.pieces(plan, chunk))) if in_place else reader.output(plan, chunk)
    except CorruptBatchError as found:
        error = str(found)
    return text, reader.next_offset, reader.count, error


@given(
    st.lists(records, min_size=1, max_size=3), damage, st.integers(1, 50), st.integers(95, 140), st.integers(95, 400)
)
def test_pieces_are_the_output(
    batches: list[list[tuple[int, bytes | None, list[tuple[bytes, bytes | None]]]]],
    changes: list[tuple[int, int]],
    chunk: int,
    start: int,
    stop: int,
) -> None:
    data, base_offset = b"", 100
    for content in batches:
        last = sum(step for step, *_ in content) - 1
        data += batch(*written(content), base_offset=base_offset, last_offset_delta=last)
        base_offset += last + 1
    assert read(data, chunk, start, stop, in_place=True) == read(data, chunk, start, stop, in_place=False)
    behind_header = damaged(data[61:], changes)
    broken = data[:61] + behind_header
    assert read(broken, chunk, start, stop, in_place=True) == read(broken, chunk, start, stop, in_place=False)


def test_large_values_are_places_and_small_ones_are_joined() -> None:
    plan = OutputPlan([OutputField("value"), b"\n"])
    large = batch(*(record(number, None, bytes(1_000)) for number in range(5)), last_offset_delta=4)
    small = batch(*(record(number, None, bytes(100)) for number in range(5)), last_offset_delta=4)
    assert [type(piece) for piece in BatchReader(large).pieces(plan)] == [places.ValuePlaces]
    assert [type(piece) for piece in BatchReader(small).pieces(plan)] == [bytes]
    assert [len(piece) for piece in BatchReader(large).pieces(plan)] == [5 * 1_001]
