"""Buffers of Arrow arrays: the entries in them are those of the array, also of slices, and without any entry."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.records import PackedColumn
from kctl.pipeline.packed_arrays import packed_parts


@given(st.lists(st.none() | st.binary(max_size=3), max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_a_slice_has_its_own_entries(entries: list[bytes | None], first: int, count: int) -> None:
    column = pa.array(entries, pa.binary()).slice(min(first, len(entries)), count)
    assert list(PackedColumn(packed_parts(column))) == column.to_pylist()


@pytest.mark.parametrize("kind", [pa.binary(), pa.string()])
def test_an_array_without_entries_has_none(kind: pa.DataType) -> None:
    for column in (pa.array([], kind), pa.nulls(0, kind)):
        assert list(PackedColumn(packed_parts(column))) == []


def test_an_array_of_nulls_alone_has_nulls() -> None:
    assert list(PackedColumn(packed_parts(pa.nulls(9, pa.binary())))) == [None] * 9
