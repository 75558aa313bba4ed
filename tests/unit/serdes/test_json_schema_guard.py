"""JsonSchemaGuard: schemas that would be checked without end are refused, recursive ones that people write are not."""

import json
from typing import Any

import pytest

from kctl.serdes.errors import EncodeError
from kctl.serdes.json_schema import JsonSchemaCodec
from kctl.serdes.json_schema_guard import JsonSchemaGuard

pytestmark = pytest.mark.slow


def doubling(levels: int, word: str = "allOf", reference: str = "#/$defs/d{}") -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": {"$anchor": "d0", "type": "integer"}}
    for level in range(1, levels + 1):
        below = {"$ref": reference.format(level - 1)}
        definitions[f"d{level}"] = {"$anchor": f"d{level}", word: [below, below]}
    return {"$ref": reference.format(levels), "$defs": definitions}


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "many": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "integer"}]}},
            },
        }
    },
}


def nested(levels: int, name: str) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {name: value}
    return value


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
@pytest.mark.parametrize("reference", ["#/$defs/d{}", "#d{}"])
def test_levels_that_double_end_with_an_error(word: str, reference: str) -> None:
    with pytest.raises(EncodeError, match="check the value too often"):
        JsonSchemaCodec(json.dumps(doubling(60, word, reference))).encode(3)


def test_doubling_in_another_document_ends_with_an_error() -> None:
    other = json.dumps(doubling(60, "allOf"))
    with pytest.raises(EncodeError, match="check the value too often"):
        JsonSchemaCodec('{"$ref": "other.json"}', {"other.json": other}).encode(3)


def test_schema_that_refers_to_itself_twice_for_the_same_value_ends_with_an_error() -> None:
    twice = {"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    with pytest.raises(EncodeError, match="check the value too often"):
        JsonSchemaCodec(json.dumps(twice)).encode(nested(60, "next"))
    assert JsonSchemaCodec(json.dumps(twice)).encode(nested(5, "next"))


@pytest.mark.slow
def test_few_levels_and_trees_are_checked_as_ever() -> None:
    assert JsonSchemaGuard.of({"": doubling(5)}) is None
    assert JsonSchemaCodec(json.dumps(doubling(5))).encode(3) == b"3"
    assert JsonSchemaGuard.of({"": TREE}) is not None
    codec = JsonSchemaCodec(json.dumps(TREE))
    assert codec.encode({**nested(200, "left"), "many": [1] * 50_000})
    with pytest.raises(EncodeError, match="does not fit the JSON Schema at /left/right"):
        codec.encode({"left": {"right": 5}})


def test_references_in_a_circle_end() -> None:
    circle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}}
    assert JsonSchemaCodec(json.dumps(circle)).encode([1]) == b"[1]"
