"""AvroCodec: JSON that reads well and gives the same bytes again."""

import json
import math
from contextlib import suppress
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.serdes.avro import TO_JSON, AvroCodec
from kctl.serdes.avro_schema import AvroSchema, read_avro_schema
from kctl.serdes.avro_shape import Shape
from kctl.serdes.errors import DecodeError, EncodeError, SchemaError
from kctl.serdes.json_text import show_json

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "bytes"}}},
            {
                "name": "how",
                "type": [
                    "null",
                    "int",
                    "string",
                    {"type": "record", "name": "Card", "fields": [{"name": "last", "type": ["null", "State"]}]},
                    "State",
                ],
            },
            {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
            {"name": "next", "type": ["null", "Order"], "default": None},
        ],
    }
)
VALUE = {
    "id": 2**60,
    "note": "grüß",
    "price": "-12.50",
    "state": "PAID",
    "at": 1700000000000,
    "tags": {"a": ["\x00ÿ"]},
    "how": {"shop.Card": {"last": "NEW"}},
    "hash": "\x01\x02",
    "next": None,
}


def written(schema: str, value: Any) -> bytes:
    """The bytes that a foreign serializer writes."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), value)
    return out.getvalue()


def test_record_of_every_type_is_read_as_it_was_written() -> None:
    codec = AvroCodec(ORDER)
    nested = {**VALUE, "next": {**VALUE, "how": {"string": "cash"}, "note": None}}
    assert codec.decode(codec.encode(nested)) == nested
    assert json.loads(show_json(codec.decode(codec.encode(nested)))) == nested


def test_foreign_bytes_with_logical_types_are_read() -> None:
    from datetime import UTC, datetime
    from decimal import Decimal

    foreign: dict[str, Any] = {
        "id": 7,
        "note": None,
        "price": Decimal("3.10"),
        "state": "NEW",
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "tags": {},
        "how": 5,
        "hash": b"ab",
        "next": None,
    }
    read = AvroCodec(ORDER).decode(written(ORDER, foreign))
    assert (read["price"], read["at"], read["how"]) == ("3.10", 1767312000000, {"int": 5})


def test_plain_schema_needs_no_conversion() -> None:
    plain = {
        "type": "record",
        "name": "P",
        "fields": [
            {"name": "a", "type": ["null", "string"]},
            {
                "name": "b",
                "type": {
                    "type": "array",
                    "items": {"type": "record", "name": "Q", "fields": [{"name": "c", "type": "double"}]},
                },
            },
            {"name": "d", "type": "Q"},
        ],
    }
    codec = AvroCodec(json.dumps(plain))
    assert Shape(read_avro_schema(json.dumps(plain)), TO_JSON).convert is None
    value = {"a": "x", "b": [{"c": 1.5}], "d": {"c": math.inf}}
    assert codec.decode(written(json.dumps(plain), value)) == value
    assert show_json(value) == '{"a":"x","b":[{"c":1.5}],"d":{"c":"Infinity"}}'
    assert codec.encode(json.loads(show_json(value))) == written(json.dumps(plain), value)


def test_reader_schema_fills_fields_that_the_writer_had_not() -> None:
    old = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    new = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string", "default": "none"}],
        }
    )
    assert AvroCodec(old, reader=new).decode(AvroCodec(old).encode({"a": 1})) == {"a": 1, "b": "none"}


def test_references_are_named_types_of_other_schemas() -> None:
    item = json.dumps({"type": "record", "name": "shop.Item", "fields": [{"name": "sku", "type": "bytes"}]})
    cart = json.dumps(
        {
            "type": "record",
            "name": "shop.Cart",
            "fields": [{"name": "items", "type": {"type": "array", "items": "shop.Item"}}],
        }
    )
    codec = AvroCodec(cart, [item])
    assert codec.decode(codec.encode({"items": [{"sku": "é"}]})) == {"items": [{"sku": "é"}]}


ITEM: dict[str, Any] = {"type": "record", "name": "Item", "fields": [{"name": "n", "type": "bytes"}]}
PAIR: dict[str, Any] = {"type": "record", "name": "Pair", "fields": [{"name": name, "type": "int"} for name in "nm"]}
LIKE_ITEM = {"type": "record", "name": "Like", "fields": [{"name": "n", "type": "bytes"}]}
STATE = {"type": "enum", "name": "E", "symbols": ["A"]}


@pytest.mark.parametrize("damage", [slice(None, -1), b"\0", slice(0), b"\xff" * 30])
def test_damaged_bytes_are_decode_errors(damage: slice | bytes) -> None:
    codec = AvroCodec(ORDER)
    data = codec.encode(VALUE)
    with pytest.raises(DecodeError):
        codec.decode(data[damage] if isinstance(damage, slice) else data + damage)


@given(st.binary(max_size=60))
@settings(max_examples=200)
def test_no_bytes_raise_anything_but_decode_errors(data: bytes) -> None:
    with suppress(DecodeError):
        AvroCodec(ORDER).decode(data)


@pytest.mark.parametrize(
    "wrong",
    [
        {**VALUE, "id": "1"},
        {**VALUE, "price": "1.005"},
        {**VALUE, "price": "12345678.90"},
        {**VALUE, "hash": "abc"},
        {**VALUE, "extra": 1},
        {name: value for name, value in VALUE.items() if name != "id"},
        {**VALUE, "tags": []},
        {**VALUE, "tags": {"a": ["€"]}},
        [],
        None,
    ],
)
def test_value_that_does_not_fit_is_an_encode_error(wrong: Any) -> None:
    with pytest.raises(EncodeError):
        AvroCodec(ORDER).encode(wrong)


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ("int", 2**31),
        ("int", -(2**31) - 1),
        ("int", True),
        ("int", 1.0),
        ("long", 2**63),
        ("boolean", 1),
        ("boolean", "false"),
        ("float", 1e39),
        ("float", -(10**400)),
        ("float", "1"),
        ("double", False),
        ("string", 5),
    ],
)
def test_value_of_another_type_is_no_value_of_this_one(schema: str, wrong: Any) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema}]}
    for whole, value in ((schema, wrong), (record, {"f": wrong}), (["bytes", schema], {schema: wrong})):
        with pytest.raises(EncodeError):
            AvroCodec(json.dumps(whole)).encode(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("int", 2**31 - 1),
        ("int", -(2**31)),
        ("long", -(2**63)),
        ("float", 3.4028234663852886e38),
        ("float", "-Infinity"),
        ("double", 1e300),
        ("boolean", False),
    ],
)
def test_largest_values_of_a_type_are_read_by_others(schema: str, value: Any) -> None:
    data = AvroCodec(json.dumps(schema)).encode(value)
    assert fastavro.schemaless_reader(BytesIO(data), fastavro.parse_schema(schema)) == float(value)


@pytest.mark.parametrize(
    "schema",
    ["", "[", '"nothing"', r'"a\u001b[2J\nkctl: b"', '{"type":"record"}', "[" * 100_000, '{"type":"enum","name":"a"}'],
)
def test_invalid_schema_is_a_schema_error_in_one_line(schema: str) -> None:
    with pytest.raises(SchemaError) as raised:
        AvroCodec(schema)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    "logical",
    [
        {"precision": 5, "scale": -900_000},
        {"precision": 900_000, "scale": 900_000},
        {"precision": 5, "scale": "2"},
        {"precision": None, "scale": []},
        {"precision": 2, "scale": 3},
    ],
)
def test_decimal_that_is_none_is_bytes(logical: dict[str, object]) -> None:
    codec = AvroCodec(json.dumps({"type": "bytes", "logicalType": "decimal", **logical}))
    assert codec.decode(b"\x02\x41") == "A"
    assert codec.encode("A") == b"\x02\x41"


def test_decimal_of_many_bytes_is_refused() -> None:
    codec = AvroCodec(json.dumps({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}))
    with pytest.raises(DecodeError, match=r"the decimal has too many bytes \(8128\)"):
        codec.decode(b"\x80\x7f" + b"\x55" * 8128)


def test_default_of_bytes_and_decimals_is_read_again_and_again() -> None:
    price = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    inner = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "price", "type": price}, {"name": "raw", "type": "bytes"}],
    }
    old = json.dumps({"type": "record", "name": "R", "fields": []})
    new = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "i", "type": inner, "default": {"price": "\u0004\u00e2", "raw": "\u00ff"}}],
        }
    )
    codec = AvroCodec(old, reader=new)
    assert [codec.decode(b"") for _ in range(3)] == [{"i": {"price": "12.50", "raw": "\u00ff"}}] * 3


def test_names_of_a_schema_are_no_code() -> None:
    hostile = '"];raise SystemExit(3)#'
    record = {"type": "record", "name": "R", "fields": [{"name": hostile, "type": ["null", "bytes"]}]}
    convert = Shape(AvroSchema(record, {"R": record}), TO_JSON).convert
    assert convert is not None
    assert convert({hostile: b"\xff"}) == {hostile: "\u00ff"}


@pytest.mark.parametrize(
    ("branches", "written", "shown"),
    [
        (["int", ITEM], {"n": b"a"}, {"Item": {"n": "a"}}),
        (["int", {"type": "map", "values": "bytes"}, ITEM], ("Item", {"n": b"a"}), {"Item": {"n": "a"}}),
        (["int", ITEM, PAIR], {"n": b"a"}, {"Item": {"n": "a"}}),
        (["int", ITEM, PAIR], {"n": 1, "m": 2}, {"Pair": {"n": 1, "m": 2}}),
        (["int", PAIR, {**PAIR, "name": "Other", "fields": []}], ("Other", {}), {"Other": {}}),
        (["int", ITEM, LIKE_ITEM], ("Like", {"n": b"a"}), {"Like": {"n": "a"}}),
        ([STATE, ITEM, PAIR], "A", {"E": "A"}),
        (["string", STATE, ITEM, PAIR], ("Pair", {"n": 1, "m": 2}), {"Pair": {"n": 1, "m": 2}}),
        (["int", STATE], "A", {"E": "A"}),
        (["string", STATE], ("E", "A"), {"E": "A"}),
        (["int", {"type": "fixed", "name": "F", "size": 2}], b"\xff\x00", {"F": "\xff\x00"}),
        (["bytes", {"type": "fixed", "name": "F", "size": 2}], ("F", b"\xff\x00"), {"F": "\xff\x00"}),
    ],
)
def test_branch_of_a_named_type_is_told_by_its_class_or_by_name(branches: Any, written: Any, shown: Any) -> None:
    schema = {"type": "array", "items": ["null", *branches]}
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), [written, None])
    codec = AvroCodec(json.dumps(schema))
    assert codec.decode(out.getvalue()) == [shown, None]
    assert codec.decode(codec.encode([shown, None])) == [shown, None]


BRANCHES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "boolean": ("boolean", (True,)),
    "int": ("int", (16_777_217,)),
    "long": ("long", (7,)),
    "float": ("float", (3, "NaN")),
    "double": ("double", (3, 0.5)),
    "string": ("string", ("A", "ab")),
    "bytes": ("bytes", ("A", "ab")),
    "array": ({"type": "array", "items": "int"}, ([1],)),
    "map": ({"type": "map", "values": "int"}, ({"n": 1, "m": 2}, {})),
    "Pair": (PAIR, ({"n": 1, "m": 2},)),
    "E": (STATE, ("A",)),
    "F": ({"type": "fixed", "name": "F", "size": 2}, ("ab",)),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branch_that_is_named_is_written_whichever_stands_before_it(name: str) -> None:
    schema, values = BRANCHES[name]
    for other, (before, _) in BRANCHES.items():
        if other != name:
            codec = AvroCodec(json.dumps([before, schema, "null"]))
            assert [codec.encode({name: value})[0] for value in values] == [2] * len(values), other


def test_record_that_becomes_a_branch_of_the_readers_union_has_its_name() -> None:
    new = json.dumps(["null", "int", ITEM])
    assert AvroCodec(json.dumps(ITEM), (), new).decode(b"\x02a") == {"Item": {"n": "a"}}


def test_record_of_a_union_that_gains_a_field_by_default_has_its_name() -> None:
    more = {**ITEM, "fields": [*ITEM["fields"], {"name": "more", "type": "int", "default": 1}]}
    old, new = json.dumps(["int", ITEM, PAIR]), json.dumps(["int", more, {**PAIR, "fields": PAIR["fields"][:1]}])
    codec = AvroCodec(old, (), new)
    assert codec.decode(b"\x02\x02a") == {"Item": {"n": "a", "more": 1}}
    assert codec.decode(b"\x04\x02\x04") == {"Pair": {"n": 1}}


def test_fastavro_names_branches_only_where_fields_do_not_tell_records_apart() -> None:
    def names(*branches: Any) -> bool:
        return Shape(read_avro_schema(json.dumps(branches)), TO_JSON).names_branches

    assert not names("int", ITEM, PAIR)
    assert names("int", ITEM, LIKE_ITEM)
    assert names(ITEM, PAIR, {"type": "map", "values": "int"})
