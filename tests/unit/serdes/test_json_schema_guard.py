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


def in_subschema(schema: dict[str, Any], **root: Any) -> dict[str, Any]:
    return {"$ref": "http://x/sub", "$defs": {"sub": {"$id": "http://x/sub", **schema}}, **root}


def by_id(own: str, reference: str) -> dict[str, Any]:
    schema = doubling(60, reference=reference)
    for level, each in enumerate(schema["$defs"].values()):
        each["$id"] = own.format(level)
    return {"$id": "http://x/a/root", **schema}


def with_decoys(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with an ID that draft 7 ignores, around harmless definitions of the same names."""
    for each in schema["$defs"].values():
        decoys: list[object] = [
            {**below, "$id": "http://x/decoy", "$defs": dict.fromkeys(schema["$defs"], True)}
            for below in each.get("allOf", ())
        ]
        each["allOf"] = decoys or [True]
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


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
    with pytest.raises(EncodeError, match="the JSON Schema is too complex"):
        JsonSchemaCodec(json.dumps(doubling(60, word, reference))).encode(3)


def test_doubling_in_another_document_ends_with_an_error() -> None:
    other = json.dumps(doubling(60, "allOf"))
    with pytest.raises(EncodeError, match="the JSON Schema is too complex"):
        JsonSchemaCodec('{"$ref": "other.json"}', {"other.json": other}).encode(3)


@pytest.mark.parametrize(
    "schema",
    [
        doubling(60, reference="#/$defs/%64{}"),
        doubling(60, reference="#/%24defs%2Fd{}"),
        by_id("http://x/a/l{}", "l{}"),
        by_id("l{}", "./l{}"),
        by_id("http://x/a/l{}", "../a/%6C{}"),
        by_id("?{}", "root?{}"),
        in_subschema(doubling(60)),
        in_subschema(doubling(60), **{"$id": "http://x/root"}),
        with_decoys(doubling(60)),
        {"propertyNames": {"$ref": "#/$defs/d60"}, "$defs": doubling(60)["$defs"]},
    ],
    ids=["percent", "percent-slash", "relative", "dots", "up", "query", "sub", "sub-of-id", "ignored-id", "names"],
)
def test_doubling_behind_any_form_of_reference_ends_with_an_error(schema: dict[str, Any]) -> None:
    guard = JsonSchemaGuard.of({"": json.loads(json.dumps(schema))})
    assert guard is not None
    with pytest.raises(EncodeError, match="the JSON Schema is too complex"):
        guard.check({"name": 3})


def test_reference_that_the_guard_cannot_follow_ends_with_an_error() -> None:
    guard = JsonSchemaGuard.of({"": {"properties": {"a": {"$ref": "#/$defs/0000000001"}}}})
    assert guard is not None
    with pytest.raises(EncodeError, match="cannot be counted: what '#/\\$defs/0000000001' refers to is unknown"):
        guard.check({"a": 3})
    guard.check({"b": 3})


@pytest.mark.parametrize(
    ("schema", "others"),
    [
        ({"$id": "http://x/root.json", "$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}, {}),
        ({"$id": "http://x/root.json", "properties": {"a": {"$ref": "http://x/root.json"}}}, {}),
        ({"$ref": "other.json#/definitions/a~1b"}, {"other.json": '{"definitions": {"a/b": {"type": "string"}}}'}),
        ({"$id": "http://x/y/root.json", "$ref": "other.json"}, {"other.json": '{"type": "string"}'}),
        ({"$ref": "http://x/other.json"}, {"http://x/other.json": '{"$id": "http://y/z", "type": "string"}'}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "http://json-schema.org/draft-07/schema#"}, {}),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, {}),
    ],
)
def test_usual_references_are_followed(schema: dict[str, Any], others: dict[str, str]) -> None:
    codec = JsonSchemaCodec(json.dumps(schema), others)
    value = {} if "draft-07" in schema.get("$ref", "") else "x"
    assert codec.encode(value) == json.dumps(value).encode()


def test_schema_that_refers_to_itself_twice_for_the_same_value_ends_with_an_error() -> None:
    twice = {"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    with pytest.raises(EncodeError, match="the JSON Schema is too complex"):
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
