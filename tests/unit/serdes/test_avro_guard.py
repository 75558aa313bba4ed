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
    with pytest.raises(DecodeError, match="items of no bytes"):
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
    assert AvroCodec(json.dumps(plain))._guard is None
