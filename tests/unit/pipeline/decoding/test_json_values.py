"""JsonValues: types of JSON Schemas, values that fit and that do not, and schemas that have no type."""

import json
from typing import Any

import pyarrow as pa
import pytest

from kctl.pipeline.decoding.json_values import JsonValues
from kctl.serdes.errors import DecodeError, SchemaError
from kctl.serdes.registry import JSON, Schema
from kctl.serdes.schema_store import Resolved

ITEM = {"type": "object", "properties": {"sku": {"type": "string"}}}
ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "total": {"type": "number"},
        "paid": {"type": ["null", "boolean"]},
        "note": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/text"}]},
        "items": {"type": "array", "items": {"$ref": "item.json"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "next": {"$ref": "#"},
    },
    "$defs": {"text": {"type": "string"}},
}


def values_of(schema: Any) -> JsonValues:
    return JsonValues(Resolved(Schema(JSON, json.dumps(schema)), (("item.json", Schema(JSON, json.dumps(ITEM))),)))


def read(schema: Any, value: Any) -> Any:
    values = values_of(schema)
    found = values.of_writer(Resolved(Schema(JSON, "{}")))(json.dumps(value).encode())
    return pa.array([found], values.type).to_pylist()[0]


def test_every_type_is_a_column_of_its_own_type() -> None:
    value = {
        "id": 7.0,
        "total": 3,
        "paid": None,
        "note": "grüß",
        "items": [{"sku": "a", "more": 1}, None],
        "counts": {"x": 1, "y": None},
        "any": {"b": [1]},
        "either": 5,
        "next": {"id": 8},
        "unknown": 1,
    }
    assert read(ORDER, value) == {
        "id": 7,
        "total": 3.0,
        "paid": None,
        "note": "grüß",
        "items": [{"sku": "a"}, None],
        "counts": [("x", 1), ("y", None)],
        "any": '{"b":[1]}',
        "either": "5",
        "next": '{"id":8}',
    }
    assert read(ORDER, None) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"id": "x"}, "at /id: expected an integer, found a string"),
        ({"id": True}, "at /id: expected an integer, found a boolean"),
        ({"id": 2**63}, "at /id: expected a 64-bit integer"),
        ({"total": True}, "at /total: expected a number"),
        ({"items": [{"sku": 3}]}, "at /items/0/sku: expected a string, found 3"),
        ({"counts": []}, "at /counts: expected an object, found an array"),
        ([], "at /: expected an object, found an array"),
    ],
)
def test_value_that_does_not_fit_is_an_error_with_its_place(value: Any, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        read(ORDER, value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_bytes_that_are_not_json_are_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        values_of(ORDER).of_writer(Resolved(Schema(JSON, "{}")))(data)


def test_schema_that_stands_for_a_million_columns_is_refused() -> None:
    definitions: dict[str, Any] = {"d0": {"type": "integer"}}
    for level in range(1, 20):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"type": "object", "properties": {"a": below, "b": below}}
    with pytest.raises(SchemaError, match="more than 10000 columns"):
        values_of({"$ref": "#/$defs/d19", "$defs": definitions})


def test_references_in_a_circle_are_text() -> None:
    circle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert read(circle, [1]) == "[1]"
