"""Columns are checked, measured and cut as a record at a time would be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.records._hot.murmur2 import partition_of_key, partitions_of_keys
from kctl.client.records._hot.rows import Rows, check_contents, checked_timestamps, split_all, split_at

contents = st.none() | st.binary(max_size=30)
columns = st.lists(st.tuples(contents, contents, st.integers(0, 20)), max_size=30)


@given(columns, st.integers(1, 80), st.integers(1, 9), st.booleans())
def test_runs_are_as_long_as_there_is_room(
    data: list[tuple[bytes | None, bytes | None, int]], room: int, most: int, full: bool
) -> None:
    values = [value for value, _, _ in data]
    keys = [key for _, key, _ in data] if full else None
    headers_bytes = [size for _, _, size in data] if full else None
    rows = Rows(values, keys, None, headers_bytes)
    cuts, largest_bytes = rows.cut(9, room, most)
    first = 0
    sizes = [rows.size_bytes(at, at + 1, 9) for at in range(len(data))]
    for end, size_bytes in cuts:
        assert size_bytes == sum(sizes[first:end]) == rows.size_bytes(first, end, 9)
        assert end - first == 1 or size_bytes <= room
        assert end - first <= most
        assert end == len(data) or end - first == most or size_bytes + sizes[end] > room, "the next row has room"
        first = end
    assert first == len(data)
    assert largest_bytes == max(sizes, default=-1)


@given(columns, st.integers(0, 80), st.integers(0, 5))
def test_rows_that_fill_a_room_end_with_the_one_that_uses_it_up(
    data: list[tuple[bytes | None, bytes | None, int]], room: int, first: int
) -> None:
    rows = Rows([value for value, _, _ in data], [key for _, key, _ in data], None, [size for _, _, size in data])
    first = min(first, len(data))
    count = rows.count_filling(first, len(data), 9, room)
    if count:
        assert rows.size_bytes(first, first + count - 1, 9) < max(room, 1)
    assert first + count == len(data) or rows.size_bytes(first, first + count, 9) >= room


def test_copied_and_selected_rows_keep_their_columns_together() -> None:
    rows = Rows([b"0", b"1", None], [None, b"k", b"l"], [(), (("h", b""),), ()], [0, 11, 0], [5, 6, 7])
    copy, chosen = rows.copied(1, 3), rows.selected([2, 0])
    assert (copy.values, copy.keys, copy.headers) == ([b"1", None], [b"k", b"l"], [(("h", b""),), ()])
    assert (copy.headers_bytes, copy.timestamps_ms) == ([11, 0], [6, 7])
    assert (chosen.values, chosen.keys, chosen.headers) == ([None, b"0"], [b"l", None], [(), ()])
    assert (chosen.headers_bytes, chosen.timestamps_ms) == ([0, 0], [7, 5])


@pytest.mark.parametrize("contents", [[b"", "text"], [None, 7, "x"]])
def test_the_first_entry_that_no_record_can_have_is_named(contents: list[object]) -> None:
    with pytest.raises(TypeError, match=f"row 1: key must be bytes or None, not {type(contents[1]).__name__}"):
        check_contents(contents, "key")


@pytest.mark.parametrize("bad", [-(2**63) - 1, 2**63, 2**70, "now", 1.5])
def test_a_timestamp_that_no_record_can_have_is_named(bad: object) -> None:
    with pytest.raises(ValueError, match="row 2: timestamp_ms"):
        checked_timestamps([0, None, bad], 5)


def test_a_row_without_a_timestamp_is_of_now() -> None:
    assert checked_timestamps([2**63 - 1, None, 0], 5) == [2**63 - 1, 5, 0]


@given(st.lists(contents, max_size=20), st.integers(1, 50))
def test_each_key_chooses_for_itself(keys: list[bytes | None], count: int) -> None:
    alone = [-1 if key is None else partition_of_key(key, count) for key in keys]
    assert Rows(keys, keys).partitions(0, len(keys), count, -1) == alone
    assert partitions_of_keys(keys, len(keys) // 2, len(keys), count, -1) == alone[len(keys) // 2 :]


@given(columns, st.integers(0, 5), st.integers(1, 40), st.booleans(), st.booleans())
def test_rows_by_key_are_those_that_each_key_chooses(
    data: list[tuple[bytes | None, bytes | None, int]], first: int, count: int, full: bool, timed: bool
) -> None:
    first = min(first, len(data))
    keys = [key if full else key or b"" for _, key, _ in data]
    times = [time for _, _, time in data] if timed else None
    rows = Rows([value for value, _, _ in data], list(keys), timestamps_ms=times, timestamp_ms=7)
    found = rows.by_key(first, len(data), count, 9)
    if None in keys[first:] or len(data) - first < count:
        assert found is None
        return
    chosen: dict[int, list[int]] = {}
    for row, partition in enumerate(rows.partitions(first, len(data), count, -1), first):
        chosen.setdefault(partition, []).append(row)
    assert found is not None
    assert [partition for partition, _, _ in found] == sorted(chosen)
    for partition, its, size_bytes in found:
        expected = rows.selected(chosen[partition])
        assert (its.values, its.keys, its.timestamp_ms) == (expected.values, expected.keys, 7)
        assert its.timestamps_ms == expected.timestamps_ms
        assert size_bytes == its.size_bytes(0, len(its.values), 9)


def test_rows_with_headers_are_not_divided_by_key() -> None:
    assert Rows([b"", b""], [b"", b""], [(), ()], [0, 0]).by_key(0, 2, 1, 9) is None


@given(st.lists(st.binary(max_size=4) | st.just(b"x" * 400), max_size=12), st.sampled_from([b"\n", b"\r\n", b"ab"]))
def test_all_contents_are_those_of_split(given_contents: list[bytes], delimiter: bytes) -> None:
    data = delimiter.join(given_contents)
    assert split_all(data, delimiter) == data.split(delimiter)


@given(
    st.lists(
        (st.binary(max_size=8) | st.binary(min_size=20, max_size=60)).map(
            lambda b: bytes(b"ab:"[byte % 3] for byte in b)
        )
    ),
    st.sampled_from([b":", b"::", b"ab"]),
)
def test_contents_are_split_at_the_first_separator(given_contents: list[bytes], separator: bytes) -> None:
    before, behind = split_at(given_contents, separator)
    expected = [each.partition(separator) for each in given_contents]
    assert before == [head if found else None for head, found, _ in expected]
    assert behind == [rest if found else head for head, found, rest in expected]
