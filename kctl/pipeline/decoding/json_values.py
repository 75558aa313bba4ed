"""JsonValues: JSON values with a JSON Schema as Arrow types.

Objects with properties are structs, and objects with one value type are maps. Recursive objects, and schemas with
several types or any type, are JSON strings. Values that do not fit their type are errors. Other rules of the schema are
not checked, and properties outside of the schema are dropped.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kctl.pipeline.decoding.value_reader import Read, TypeBudget, list_of
from kctl.serdes.errors import DecodeError, SchemaError
from kctl.serdes.json_text import parse_json, show_json
from kctl.serdes.schema_store import Resolved

Convert = Callable[[Any, str], Any]
"""Function that converts a value. The second argument is its place, for errors."""
_SCALARS: dict[str, tuple[pa.DataType, tuple[type, ...]]] = {
    "string": (pa.string(), (str,)),
    "integer": (pa.int64(), (int,)),
    "number": (pa.float64(), (int, float)),
    "boolean": (pa.bool_(), (bool,)),
}
_DECIDE = ("oneOf", "anyOf", "allOf", "not", "if", "patternProperties")
_REFERENCES = 20
"""Maximum length of a chain of references."""


class JsonValues:
    """Reader of values with one JSON Schema.

    Attributes:
        type: Arrow type of all values.

    Raises: SchemaError: the schema is invalid.
    """

    def __init__(self, reader: Resolved) -> None:
        try:
            self._root = json.loads(reader.schema.text)
            self._others = {name: json.loads(each.text) for name, each in reader.dependencies}
        except (ValueError, RecursionError):
            raise SchemaError("the JSON Schema is not valid JSON") from None
        self._budget = TypeBudget("JSON")
        self._open: list[Any] = []
        self.type, self._convert = self._of(self._root, self._root, 0)

    def of_writer(self, _writer: Resolved) -> Read:
        return self._read

    def _read(self, data: bytes) -> Any:
        try:
            value = parse_json(data)
            return None if value is None else self._convert(value, "")
        except RecursionError:
            raise DecodeError("the value is nested too deeply") from None
        except (ValueError, ArithmeticError) as e:
            raise DecodeError(f"the value is not valid JSON: {e}"[:300]) from None

    def _of(self, schema: Any, root: Any, level: int) -> tuple[pa.DataType, Convert]:
        self._budget.spend(level)
        referred, root = self._referred(schema, root)
        schema = _without_null(referred)
        if not isinstance(schema, Mapping) or any(referred is each for each in self._open):
            return pa.string(), _json_text
        if "$ref" in schema:
            return self._of(schema, root, level + 1)
        if any(word in schema for word in _DECIDE):
            return pa.string(), _json_text
        kind = schema.get("type")
        kind = "object" if kind is None and "properties" in schema else kind
        if isinstance(kind, str) and kind in _SCALARS:
            return _scalar(kind)
        self._open.append(referred)
        try:
            return self._container(kind, schema, root, level)
        finally:
            self._open.pop()

    def _container(self, kind: Any, schema: Mapping[str, Any], root: Any, level: int) -> tuple[pa.DataType, Convert]:
        if kind == "object":
            return self._object(schema, root, level)
        items = schema.get("items")
        if kind == "array" and isinstance(items, Mapping) and "prefixItems" not in schema:
            return self._array(items, root, level)
        return pa.string(), _json_text

    def _object(self, schema: Mapping[str, Any], root: Any, level: int) -> tuple[pa.DataType, Convert]:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(properties, Mapping) and properties:
            return self._struct(properties, root, level)
        return self._map(others, root, level) if isinstance(others, Mapping) else (pa.string(), _json_text)

    def _struct(self, properties: Mapping[str, Any], root: Any, level: int) -> tuple[pa.DataType, Convert]:
        made = {name: self._of(each, root, level + 1) for name, each in properties.items()}
        converts = [(name, convert) for name, (_, convert) in made.items()]

        def read(value: Any, place: str) -> Any:
            if not isinstance(value, dict):
                raise _misfit(value, "an object", place)
            return {
                name: convert(value[name], f"{place}/{name}")
                for name, convert in converts
                if value.get(name) is not None
            }

        return pa.struct([pa.field(name, type_) for name, (type_, _) in made.items()]), read

    def _map(self, values: Mapping[str, Any], root: Any, level: int) -> tuple[pa.DataType, Convert]:
        of_values, convert = self._of(values, root, level + 1)

        def read_map(value: Any, place: str) -> Any:
            if not isinstance(value, dict):
                raise _misfit(value, "an object", place)
            return [(name, None if each is None else convert(each, f"{place}/{name}")) for name, each in value.items()]

        return pa.map_(pa.string(), of_values), read_map

    def _array(self, items: Mapping[str, Any], root: Any, level: int) -> tuple[pa.DataType, Convert]:
        of_items, convert = self._of(items, root, level + 1)

        def read(value: Any, place: str) -> Any:
            if not isinstance(value, list):
                raise _misfit(value, "an array", place)
            return [None if each is None else convert(each, f"{place}/{number}") for number, each in enumerate(value)]

        return list_of(of_items), read

    def _referred(self, schema: Any, root: Any) -> tuple[Any, Any]:
        for _ in range(_REFERENCES):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str):
                return schema, root
            document, _, pointer = reference.partition("#")
            if document:
                root = self._others.get(document, self._others.get(document.rpartition("/")[2]))
            schema = _at(root, pointer)
        return None, root


def _at(document: Any, pointer: str) -> Any:
    found = document
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if not pointer or pointer.startswith("/") else None


def _without_null(schema: Any) -> Any:
    """Return a schema without null as an alternative, because every column is nullable."""
    if not isinstance(schema, Mapping):
        return schema
    kinds = schema.get("type")
    if isinstance(kinds, Sequence) and not isinstance(kinds, str):
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}
    for word in ("oneOf", "anyOf"):
        branches = schema.get(word)
        if isinstance(branches, list) and len(branches) == 2 and {"type": "null"} in branches:
            return next((each for each in branches if each != {"type": "null"}), schema)
    return schema


def _scalar(kind: str) -> tuple[pa.DataType, Convert]:
    type_, classes = _SCALARS[kind]
    article = f"an {kind}" if kind == "integer" else f"a {kind}"

    def read(value: Any, place: str) -> Any:
        given = int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value
        if not isinstance(given, classes) or (isinstance(given, bool) and kind != "boolean"):
            raise _misfit(value, article, place)
        if kind == "number":
            return float(value)
        if kind == "integer" and abs(int(value)) >= 2**63:
            raise _misfit(value, "a 64-bit integer", place)
        return int(value) if kind == "integer" else value

    return type_, read


def _json_text(value: Any, _place: str) -> str:
    return show_json(value)


def _misfit(value: Any, wanted: str, place: str) -> DecodeError:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    found = names.get(type(value)) or (str(value)[:30] if isinstance(value, int | float) else type(value).__name__)
    return DecodeError(f"the value does not match the JSON Schema at {place or '/'}: expected {wanted}, found {found}")
