"""Packed columns: what C and Python make of them is the same, and what the builder makes of the rows as objects."""

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kctl.client.records import PackedColumn, PackedParts, PackedRows, RecordBatchBuilder, partition_of_key
from kctl.client.records._hot import packed
from tests.unit.records.column_contents import packed_parts
from tests.unit.records.sources import source_of

source = source_of(packed)

contents = st.none() | st.binary(max_size=6) | st.sampled_from([b"x" * 63, b"x" * 64, b"y" * 9_000])
rows = st.lists(st.tuples(contents, contents), max_size=40)


def built(content: Sequence[tuple[bytes | None, bytes | None]]) -> bytes:
    builder = RecordBatchBuilder(batch_size_bytes=1 << 30)
    for key, value in content:
        assert builder.try_append(key, value, (), 77) is not None
    return builder.build()


def of_records(records: bytes, count: int) -> bytes:
    builder = RecordBatchBuilder()
    builder.set_records(records, count, 77)
    return builder.build()


def both(function: str, *arguments: Any) -> Any:
    """What the function returns, in C as in Python."""
    found = getattr(packed, function)(*arguments)
    assert found == getattr(source, function)(*arguments)
    return found


@given(rows, st.integers(0, 5), st.integers(0, 20), st.integers(0, 45), st.integers(0, 45))
def test_entries_are_taken_as_objects(
    content: list[tuple[bytes | None, bytes | None]], begun: int, bit: int, one: int, other: int
) -> None:
    entries = [value for _, value in content]
    first, end = sorted((min(one, len(entries)), min(other, len(entries))))
    assert both("take_entries", packed_parts(entries, begun, bit), first, end) == entries[first:end]


@given(rows, st.booleans(), st.integers(0, 40), st.integers(-1, 400) | st.just(1 << 20), st.integers(0, 50))
@example([(None, b"z")] * 300, False, 0, 1 << 20, 300)  # offset deltas of two bytes
def test_rows_are_encoded_as_the_builder_encodes_them(
    content: list[tuple[bytes | None, bytes | None]], has_keys: bool, first: int, room: int, most: int
) -> None:
    if not has_keys:
        content = [(None, value) for _, value in content]
    keys = packed_parts([key for key, _ in content], 1, 3) if has_keys else None
    values = packed_parts([value for _, value in content])
    first = min(first, len(content))
    records, count = both("encode_packed", values, keys, first, len(content), room, most)
    assert count <= most
    assert count <= 1 or len(records) <= room
    assert count or not most or first == len(content)
    if count:
        assert of_records(records, count) == built(content[first : first + count])
    if first + count < len(content) and 0 < count < most:  # it ended for want of room
        assert len(packed.encode_packed(values, keys, first, len(content), 1 << 30, count + 1)[0]) > room


@given(rows, st.booleans())
def test_the_largest_row_is_measured(content: list[tuple[bytes | None, bytes | None]], has_keys: bool) -> None:
    keys = packed_parts([key for key, _ in content]) if has_keys else None
    sizes = [len(value or b"") + (len(key or b"") if has_keys else 0) for key, value in content]
    assert both("measure_packed", packed_parts([value for _, value in content]), keys) == max(sizes, default=-1)


@given(rows, st.integers(1, 5), st.integers(0, 3))
def test_keys_divide_rows_as_the_partitioner_does(
    content: list[tuple[bytes | None, bytes | None]], partitions: int, first: int
) -> None:
    first = min(first, len(content))
    keys, values = (packed_parts([row[at] for row in content], at) for at in (0, 1))
    found = both("divide_packed", values, keys, first, len(content), partitions)
    wanted: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
    for key, value in content[first:]:
        if key is None:
            assert found is None
            return
        wanted.setdefault(partition_of_key(key, partitions), []).append((key, value))
    assert [partition for partition, *_ in found] == sorted(wanted)
    for partition, records, count, content_bytes in found:
        share = wanted[partition]
        assert of_records(records, count) == built(share)
        assert content_bytes == sum(len(key or b"") + len(value or b"") for key, value in share)


@given(st.lists(contents, max_size=40), st.integers(1, 14))
def test_registers_are_raised_to_the_ranks_of_keys(keys: list[bytes | None], bits: int) -> None:
    in_c, in_python = bytearray(1 << bits), bytearray(1 << bits)
    packed.raise_registers(in_c, packed_parts(keys), bits)
    source.raise_registers(in_python, packed_parts(keys), bits)
    assert in_c == in_python
    again = bytearray(in_c)
    packed.raise_registers(again, packed_parts(keys[:1]), bits)
    assert again == in_c
    assert any(in_c) is any(key is not None for key in keys)


EMPTY = packed_parts([])
ONE = packed_parts([b"ab"])
DAMAGED = [
    ((memoryview(b"ab"), memoryview(b""), None, 0), "without all of its ends"),
    ((memoryview(b"ab"), ONE[1], memoryview(b""), 0), "without all of its ends"),
    ((memoryview(b"ab"), ONE[1], memoryview(b"\1"), -1), "without all of its ends"),
    ((memoryview(b"a"), ONE[1], None, 0), "not in its contents"),
    ((memoryview(b"ab"), memoryview(struct.pack("=3i", 0, 2, 1)), None, 0), "not in its contents"),
    ((memoryview(b"ab"), memoryview(struct.pack("=2i", -1, 1)), None, 0), "not in its contents"),
]


@pytest.mark.parametrize("module", [packed, source], ids=["C", "Python"])
@pytest.mark.parametrize(("parts", "reason"), DAMAGED)
def test_a_damaged_column_is_refused(module: ModuleType, parts: PackedParts, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        module.take_entries(parts, 0, 0)
    with pytest.raises(ValueError, match=reason):
        module.encode_packed(ONE, parts, 0, 1, 9, 9)
    with pytest.raises(ValueError, match=reason):
        module.measure_packed(parts, None)
    with pytest.raises(ValueError, match=reason):
        module.divide_packed(ONE, parts, 0, 1, 1)
    with pytest.raises(ValueError, match=reason):
        module.raise_registers(bytearray(2), parts, 1)


@pytest.mark.parametrize("module", [packed, source], ids=["C", "Python"])
def test_rows_that_are_not_there_are_refused(module: ModuleType) -> None:
    for first, end in ((-1, 0), (1, 0), (0, 2)):
        with pytest.raises(ValueError, match="do not have"):
            module.take_entries(ONE, first, end)
        with pytest.raises(ValueError, match="do not have"):
            module.encode_packed(ONE, None, first, end, 9, 9)
        with pytest.raises(ValueError, match="do not have"):
            module.divide_packed(ONE, ONE, first, end, 1)
    with pytest.raises(ValueError, match="do not have"):
        module.encode_packed(ONE, EMPTY, 0, 1, 9, 9)
    with pytest.raises(ValueError, match="do not have"):
        module.measure_packed(ONE, EMPTY)
    with pytest.raises(ValueError, match="do not have"):
        module.divide_packed(ONE, ONE, 0, 1, 0)
    with pytest.raises(ValueError, match="another size"):
        module.raise_registers(bytearray(3), ONE, 1)


def test_a_packed_column_is_a_sequence() -> None:
    column = PackedColumn(packed_parts([b"a", None, b"", b"bcd"], 2, 5))
    assert list(column) == column[:] == [b"a", None, b"", b"bcd"]
    assert (len(column), column[1], column[-1], column[::2]) == (4, None, b"bcd", [b"a", b""])
    with pytest.raises(IndexError):
        column[4]


@given(rows.filter(bool), st.integers(0, 200), st.integers(1, 50))
def test_rows_end_where_the_room_does(content: list[tuple[bytes | None, bytes | None]], room: int, most: int) -> None:
    keys, values = (PackedColumn(packed_parts([row[at] for row in content])) for at in (0, 1))
    found = PackedRows(values, keys)
    end = found.end_within(0, 9, room, most)
    sizes = [9 + len(key or b"") + len(value or b"") for key, value in content]
    assert 1 <= end <= min(most, len(content))
    assert end == 1 or sum(sizes[:end]) <= room
    assert end == min(most, len(content)) or sum(sizes[: end + 1]) > room
    rows_found = found.rows(0, end, 5)
    assert list(zip(rows_found.keys or (), rows_found.values, strict=True)) == content[:end]


def test_a_batch_of_packed_rows_looks_at_no_rows_behind_it() -> None:
    rows = 100
    ends = bytearray(struct.pack(f"={rows + 1}i", *range(rows + 1)))
    column = PackedColumn((memoryview(b"v" * rows), memoryview(ends), None, 0))
    packed_rows = PackedRows(column, column)
    ends[-4:] = struct.pack("=i", -1)
    records, count, end = packed_rows.encoded_from(0, 40, rows)
    assert of_records(records, count) == built([(b"v", b"v")] * count)
    assert count == end > 0
    assert column[1] == b"v"
    found = packed_rows.part(0, 10, 5).divided(1)
    assert found is not None
    assert [share[2] for share in found] == [10]
    with pytest.raises(ValueError, match="not in its contents"):
        packed_rows.encoded_from(rows - 1, 40, rows)


@pytest.mark.skipif(not packed.__file__.endswith(".so"), reason="Python has no largest number")
@pytest.mark.parametrize("bit", [15, 2**31, 2**63 - 2, 2**63 - 1])
def test_column_whose_bits_are_beyond_its_bitmap_is_refused(bit: int) -> None:
    """For the last ones, the sum of bits and rows is beyond the largest number of C."""
    ends = memoryview(struct.pack("=3i", 0, 1, 2))
    assert packed.take_entries((memoryview(b"ab"), ends, memoryview(b"\xff\xff"), 14), 0, 2) == [b"a", b"b"]
    with pytest.raises(ValueError, match="a column without all of its ends"):
        packed.take_entries((memoryview(b"ab"), ends, memoryview(b"\xff\xff"), bit), 0, 2)
