"""Guard: bytes that would crash or flood the process are refused; others pass."""

import json

import pytest

from kctl.serdes.avro import AvroCodec
from kctl.serdes.errors import DecodeError

CHAIN = json.dumps({"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]})
NULLS = json.dumps({"type": "array", "items": "null"})
EMPTIES = json.dumps(
    {"type": "array", "items": {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}}
)
TREE = json.dumps(
    {
        "type": "record",
        "name": "T",
        "fields": [{"name": "many", "type": {"type": "map", "values": "T"}}, {"name": "size", "type": "double"}],
    }
)


def test_deep_recursion_is_refused_and_not_a_crash() -> None:
    codec = AvroCodec(CHAIN)
    with pytest.raises(DecodeError, match="nested more than"):
        codec.decode(b"\x02" * 200_000 + b"\x00")
    assert codec.decode(b"\x02\x02\x00") == {"next": {"next": {"next": None}}}


@pytest.mark.parametrize("schema", [NULLS, EMPTIES])
def test_array_of_empty_items_is_bounded(schema: str) -> None:
    codec = AvroCodec(schema)
    with pytest.raises(DecodeError, match="bytes contain more than"):
        codec.decode(b"\x80\x80\x80\x80\x08" + b"\x00")
    assert len(codec.decode(b"\x06\x00")) == 3


def test_recursive_schema_with_every_type_passes() -> None:
    codec = AvroCodec(TREE)
    value = {"many": {"a": {"many": {}, "size": 1.5}}, "size": 2.5}
    assert codec.decode(codec.encode(value)) == value
    for cut in range(len(codec.encode(value))):
        with pytest.raises(DecodeError):
            codec.decode(codec.encode(value)[:cut])


def test_ordinary_schema_has_no_guard() -> None:
    plain = {"type": "record", "name": "P", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    assert AvroCodec(json.dumps(plain))._reader._guard is None


def levels(count: int, fields: int, leaf: list[object]) -> str:
    """Records of which each has some fields of the one before."""
    types: list[object] = [{"type": "record", "name": "R0", "fields": leaf}]
    for number in range(1, count):
        inner = [{"name": f"f{each}", "type": f"R{number - 1}"} for each in range(fields)]
        types.append({"type": "record", "name": f"R{number}", "fields": inner})
    tops = [{"name": f"t{number}", "type": ["null", each]} for number, each in enumerate(types)]
    return json.dumps({"type": "record", "name": "T", "fields": tops})


def test_records_of_no_bytes_that_double_at_each_level_are_refused() -> None:
    codec = AvroCodec(levels(40, 2, []))
    with pytest.raises(DecodeError, match="bytes contain more than"):
        codec.decode(b"\x00" * 39 + b"\x02")
    assert codec.decode(b"\x02" + b"\x00" * 39)["t0"] == {}


def test_array_of_records_that_double_at_each_level_is_a_schema_like_others() -> None:
    schema = json.loads(levels(40, 2, [{"name": "x", "type": "int"}]))
    schema["fields"].append({"name": "many", "type": {"type": "array", "items": "R39"}})
    assert AvroCodec(json.dumps(schema)).decode(b"\x00" * 41)["many"] == []


def test_schema_that_is_deep_without_recursion_is_no_crash() -> None:
    codec = AvroCodec(levels(2_000, 1, [{"name": "x", "type": "int"}]))
    with pytest.raises(DecodeError, match="nested more than"):
        codec.decode(b"\x00" * 1_999 + b"\x02\x00")
    assert codec.decode(b"\x02\x02" + b"\x00" * 1_999)["t0"] == {"x": 1}


LONG = "n" * 10_000


@pytest.mark.parametrize(
    ("items", "item"),
    [
        ({"type": "record", "name": "R", "fields": [{"name": LONG, "type": "int"}]}, b"\0"),
        ({"type": "enum", "name": "E", "symbols": [LONG]}, b"\0"),
        (["null", "int", {"type": "fixed", "name": LONG, "size": 1}], b"\4\0"),
    ],
    ids=["field", "symbol", "branch"],
)
def test_names_that_make_the_json_of_few_bytes_large_are_refused(items: object, item: bytes) -> None:
    codec = AvroCodec(json.dumps({"type": "array", "items": items}))
    with pytest.raises(DecodeError, match="larger than 96 MiB as JSON"):
        codec.decode(_count(20_000) + item * 20_000 + b"\0")
    assert len(codec.decode(_count(100) + item * 100 + b"\0")) == 100


def test_record_that_contains_itself_with_a_long_name_is_refused() -> None:
    fields = [{"name": LONG, "type": {"type": "array", "items": "N"}}]
    codec = AvroCodec(json.dumps({"type": "record", "name": "N", "fields": fields}))
    with pytest.raises(DecodeError, match="larger than 96 MiB as JSON"):
        codec.decode(_count(20_000) + b"\0" * 20_001)


def _count(number: int) -> bytes:
    """Return the count of a block."""
    number <<= 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
