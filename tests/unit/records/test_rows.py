"""Columns are checked, measured and cut as a record at a time would be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.records._hot.murmur2 import partition_of_key, partitions_of_keys
from kctl.client.records._hot.rows import checked_timestamps, cut_rows, rows_bytes

contents = st.none() | st.binary(max_size=30)
columns = st.lists(st.tuples(contents, contents, st.integers(0, 20)), max_size=30)


@given(columns, st.integers(1, 80), st.integers(1, 9), st.booleans())
def test_runs_are_as_long_as_there_is_room(
    data: list[tuple[bytes | None, bytes | None, int]], room: int, most: int, full: bool
) -> None:
    values = [value for value, _, _ in data]
    keys = [key for _, key, _ in data] if full else None
    headers_bytes = [size for _, _, size in data] if full else None
    cuts, largest, largest_bytes = cut_rows(values, keys, headers_bytes, 9, room, most)
    first = 0
    sizes = [rows_bytes(values, keys, headers_bytes, at, at + 1, 9) for at in range(len(data))]
    for end, size_bytes in cuts:
        assert size_bytes == sum(sizes[first:end]) == rows_bytes(values, keys, headers_bytes, first, end, 9)
        assert end - first == 1 or size_bytes <= room
        assert end - first <= most
        assert end == len(data) or end - first == most or size_bytes + sizes[end] > room, "the next row has room"
        first = end
    assert first == len(data)
    assert largest_bytes == max(sizes, default=-1)
    assert not data or sizes.index(largest_bytes) == largest


@pytest.mark.parametrize(
    ("values", "keys", "said"),
    [
        ([b"", "text"], None, "row 1: value must be bytes or None, not str"),
        ([None, b"", b""], [None, b"", 7], "row 2: key must be bytes or None, not int"),
    ],
)
def test_the_first_entry_that_no_record_can_have_is_named(
    values: list[object], keys: list[object] | None, said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        cut_rows(values, keys, None, 9, 1000, 1000)


@pytest.mark.parametrize("bad", [-1, 2**63 - 1, 2**70, "now", 1.5])
def test_a_timestamp_that_no_record_can_have_is_named(bad: object) -> None:
    with pytest.raises(ValueError, match="row 2: timestamp_ms"):
        checked_timestamps([0, None, bad], 5)


def test_a_row_without_a_timestamp_is_of_now() -> None:
    assert checked_timestamps([2**63 - 2, None, 0], 5) == [2**63 - 2, 5, 0]


@given(st.lists(contents, max_size=20), st.integers(1, 50))
def test_each_key_chooses_for_itself(keys: list[bytes | None], count: int) -> None:
    alone = [-1 if key is None else partition_of_key(key, count) for key in keys]
    assert partitions_of_keys(keys, 0, len(keys), count, -1) == alone
    assert partitions_of_keys(keys, len(keys) // 2, len(keys), count, -1) == alone[len(keys) // 2 :]
