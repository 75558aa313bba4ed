"""Which schemas a table can take, and what it is refused by."""

import pyarrow as pa
import pytest

from kctl.pipeline.export_files.merged_schema import evolved, plain
from kctl.pipeline.job_errors import FolderError


def value(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([("offset", pa.int64()), ("value", pa.struct(list(fields)))])


def listed(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind))


def test_new_field_is_added_and_one_that_is_gone_stays() -> None:
    old = value(("id", pa.int32()), ("gone", pa.string()))
    new = value(("new", pa.string()), ("id", pa.int32()))
    assert evolved(old, new, "t", can_widen=False) == value(
        ("id", pa.int32()), ("gone", pa.string()), ("new", pa.string())
    )


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
        (pa.decimal128(9, 2), pa.decimal128(12, 2)),
        (listed(pa.int32()), listed(pa.int64())),
        (pa.map_(pa.string(), pa.float32()), pa.map_(pa.string(), pa.float64())),
        (listed(pa.struct([("x", pa.int32())])), listed(pa.struct([("x", pa.int64()), ("y", pa.bool_())]))),
    ],
)
def test_narrower_type_fits_into_a_wider_one(narrow: pa.DataType, wide: pa.DataType, is_turned: bool) -> None:
    old, new = (wide, narrow) if is_turned else (narrow, wide)
    assert evolved(value(("a", old)), value(("a", new)), "t", can_widen=True) == value(("a", wide))


def test_format_that_does_not_widen_refuses_by_the_field() -> None:
    old, new = value(("a", listed(pa.int32()))), value(("a", listed(pa.int64())))
    with pytest.raises(
        FolderError,
        match=r"t has different columns: value.a.element is int32 and cannot change to "
        "int64",
    ):
        evolved(old, new, "t", can_widen=False)
    assert evolved(new, old, "t", can_widen=False) == new


def test_other_types_are_refused_by_all_their_names() -> None:
    old = value(("a", pa.int32()), ("b", pa.string()), ("c", pa.string()))
    new = value(("a", pa.string()), ("b", pa.struct([("x", pa.int32())])), ("c", pa.string()))
    with pytest.raises(FolderError, match=r"value.a is int32, not string; value.b is string, not a struct$"):
        evolved(old, new, "t", can_widen=True)


def test_bytes_and_structs_are_refused_both_ways() -> None:
    raw = pa.schema([("offset", pa.int64()), ("value", pa.binary())])
    for old, new in ((raw, value(("a", pa.int32()))), (value(("a", pa.int32())), raw)):
        with pytest.raises(FolderError, match="value is"):
            evolved(old, new, "t", can_widen=True)


def test_large_types_of_a_library_are_the_plain_ones() -> None:
    large = pa.struct(
        [pa.field("a", pa.large_list(pa.field("item", pa.large_string(), nullable=False))), ("b", pa.large_binary())]
    )
    assert plain(large) == pa.struct([("a", listed(pa.string())), ("b", pa.binary())])
