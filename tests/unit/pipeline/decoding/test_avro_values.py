"""AvroValues: the types of a schema, values of three versions of it, and schemas that would be types without end."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kctl.pipeline.decoding.avro_values import AvroValues
from kctl.serdes.errors import DecodeError, SchemaError
from kctl.serdes.registry import AVRO, Schema
from kctl.serdes.schema_store import Resolved


def record(*fields: tuple[str, Any] | tuple[str, Any, Any], name: str = "shop.R") -> dict[str, Any]:
    made = [{"name": f[0], "type": f[1], **({"default": f[2]} if len(f) > 2 else {})} for f in fields]
    return {"type": "record", "name": name, "fields": made}


def resolved(schema: Any, *dependencies: Any) -> Resolved:
    return Resolved(Schema(AVRO, json.dumps(schema)), tuple(("", Schema(AVRO, json.dumps(d))) for d in dependencies))


def written(schema: Any, value: Any) -> bytes:
    """The bytes of a foreign serializer."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def read(reader: Any, writer: Any, value: Any) -> Any:
    values = AvroValues(resolved(reader))
    found = values.of_writer(resolved(writer))(written(writer, value))
    return pa.array([found], values.type).to_pylist()[0]


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
EVERYTHING = record(
    ("id", "long"),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
    ("long_price", {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("at", MILLIS),
    ("at_us", {"type": "long", "logicalType": "timestamp-micros"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
    ("raw", "bytes"),
    ("hash", {"type": "fixed", "name": "Hash", "size": 2}),
    ("state", {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}),
    ("tags", {"type": "map", "values": {"type": "array", "items": MILLIS}}),
    ("how", ["null", "int", "string", record(("last", "string"), name="shop.Card")]),
    ("note", ["null", "string"]),
)


def test_every_type_is_a_column_of_its_own_type() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6000, UTC)
    value = {
        "id": 7,
        "price": Decimal("-12.50"),
        "long_price": Decimal("3.10"),
        "day": date(2026, 1, 2),
        "at": at,
        "at_us": at,
        "local": at.replace(tzinfo=None),
        "raw": b"\x00\xff",
        "hash": b"ab",
        "state": "PAID",
        "tags": {"a": [at]},
        "how": ("shop.Card", {"last": "4711"}),
        "note": None,
    }
    assert read(EVERYTHING, EVERYTHING, value) == value | {
        "long_price": "3.10",
        "tags": [("a", [at])],
        "how": {"int": None, "string": None, "Card": {"last": "4711"}},
    }


def test_three_versions_are_read_by_the_last() -> None:
    first = record(("id", "int"))
    second = record(("id", "int"), ("note", ["null", "string"], None))
    third = record(("id", "long"), ("total", "double", 0.5), ("note", ["null", "string"], None))
    assert [read(third, each, {"id": 1, "note": "x"}) for each in (first, second)] == [
        {"id": 1, "total": 0.5, "note": None},
        {"id": 1, "total": 0.5, "note": "x"},
    ]
    assert read(third, third, {"id": 2**40, "total": 1.0, "note": None}) == {"id": 2**40, "total": 1.0, "note": None}


def test_version_that_cannot_be_read_is_an_error_of_the_value() -> None:
    values = AvroValues(resolved(record(("id", "long"), ("must", "string"))))
    with pytest.raises(DecodeError, match="No default value for field must"):
        values.of_writer(resolved(record(("id", "long"))))(b"\x02")


def test_type_that_contains_itself_is_json_text_there() -> None:
    chain = record(("n", "int"), ("price", EVERYTHING["fields"][1]["type"]), ("next", ["null", "shop.R"]))
    value = {"n": 1, "price": Decimal("1.50"), "next": {"n": 2, "price": Decimal("2.50"), "next": None}}
    assert read(chain, chain, value) == value | {"next": '{"n":2,"price":"2.50","next":null}'}
    assert read(["null", chain], ["null", chain], value) == value | {"next": '{"n":2,"price":"2.50","next":null}'}


def test_reference_is_a_type_of_another_schema() -> None:
    item, cart = record(("sku", "bytes"), name="shop.Item"), record(("items", {"type": "array", "items": "shop.Item"}))
    values = AvroValues(resolved(cart, item))
    assert values.of_writer(resolved(cart, item))(b"\x02\x02x\x00") == {"items": [{"sku": b"x"}]}


def test_schema_that_stands_for_a_million_columns_is_refused() -> None:
    schema: Any = record(("x", "int"), name="R0")
    for level in range(1, 20):
        schema = record(("a", schema), ("b", f"R{level - 1}"), name=f"R{level}")
    with pytest.raises(SchemaError, match="more than 10000 columns"):
        AvroValues(resolved(schema))


def test_branches_of_one_short_name_keep_their_full_names() -> None:
    union = ["null", record(("x", "int"), name="a.R"), record(("y", "int"), name="b.R")]
    assert read(record(("u", union)), record(("u", union)), {"u": ("b.R", {"y": 5})}) == {
        "u": {"a_R": None, "b_R": {"y": 5}}
    }
