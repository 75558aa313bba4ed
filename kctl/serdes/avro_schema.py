"""Avro schemas as data: full names, resolved references, and no logical types."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED = ("record", "error", "enum", "fixed")
MOST_PRECISION = 1000
"""Maximum number of digits of a decimal. With more, it is read as bytes, as Avro does for invalid logical types."""
_AS_WRITTEN = ("default", "symbols", "aliases", "doc")


class AvroSchema(NamedTuple):
    """Schema with full names, and its named types by name."""

    schema: Any
    names: dict[str, Any]


def read_avro_schema(text: str, dependencies: Sequence[str] = ()) -> AvroSchema:
    """Return a schema.

    Args:
        dependencies: referenced schemas, each after the schemas that it references.
    Raises: ValueError, LookupError, TypeError, RecursionError: the schema is invalid.
    """
    names: dict[str, Any] = {}
    for each in dependencies:
        _collect_names(json.loads(each), "", names)
    return AvroSchema(_collect_names(json.loads(text), "", names), names)


def plain(schema: Any) -> Any:
    """Return a schema without logical types, because fastavro would convert them to objects that JSON does not have."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if isinstance(schema, dict):
        return {
            name: value if name in _AS_WRITTEN else plain(value)
            for name, value in schema.items()
            if name != "logicalType"
        }
    return schema


def whole(schema: Any, names: Mapping[str, Any], defined: set[str]) -> Any:
    """Return a schema with each name defined at its first use, including names of other schemas."""
    if isinstance(schema, str):
        return schema if schema not in names or schema in defined else whole(names[schema], names, defined)
    if isinstance(schema, list):
        return [whole(each, names, defined) for each in schema]
    if "name" in schema and schema["type"] in NAMED:
        if schema["name"] in defined:
            return schema["name"]
        defined.add(schema["name"])
    found = dict(schema)
    for part in ("items", "values"):
        if part in found:
            found[part] = whole(found[part], names, defined)
    if "fields" in found:
        found["fields"] = [{**each, "type": whole(each["type"], names, defined)} for each in found["fields"]]
    return found


def is_decimal(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or schema.get("logicalType") != "decimal":
        return False
    scale, precision = schema.get("scale", 0), schema.get("precision")
    return isinstance(scale, int) and isinstance(precision, int) and 0 <= scale <= precision <= MOST_PRECISION


def branch_name(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    kind: str = schema["type"]
    return schema["name"] if kind in NAMED else kind


def others_than_null(branches: Sequence[Any]) -> list[Any]:
    return [each for each in branches if branch_name(each) != "null"]


def needs_names(schema: Any, names: Mapping[str, Any]) -> bool:
    """Return whether a union has branches that the class of a fastavro value does not identify.

    Does not descend into named types.
    """
    if isinstance(schema, list):
        return is_ambiguous(schema, names) or any(needs_names(each, names) for each in schema)
    if not isinstance(schema, Mapping):
        return False
    inner = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
    return any(needs_names(each, names) for each in inner if each is not None)


def is_ambiguous(branches: Sequence[Any], names: Mapping[str, Any]) -> bool:
    """Return whether a named type of a union has the same class or fields as another branch.

    Records are distinguished by the names of their fields. Default values of bytes and fixed are strings.
    """
    kinds = [branch_kind(each, names) for each in branches]
    texts = [kind for kind in kinds if kind in ("string", "bytes", "enum", "fixed")]
    records = record_fields(branches, names)
    return (
        (len(texts) > 1 and any(kind in NAMED for kind in texts))
        or ("map" in kinds and len(records) > 0)
        or len(set(records.values())) < len(records)
    )


def record_fields(branches: Sequence[Any], names: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    records = [names[branch_name(each)] for each in branches if branch_kind(each, names) in ("record", "error")]
    return {each["name"]: frozenset(field["name"] for field in each["fields"]) for each in records}


def branch_kind(schema: Any, names: Mapping[str, Any]) -> str:
    kind: str = schema if isinstance(schema, str) else schema["type"]
    found: str = names[kind]["type"] if kind in names else kind
    return found


def _collect_names(schema: Any, space: str, names: dict[str, Any]) -> Any:
    if isinstance(schema, str):
        return schema if schema in PRIMITIVES or "." in schema or not space else _full(schema, space, names)
    if isinstance(schema, list):
        return [_collect_names(each, space, names) for each in schema]
    kind = schema["type"]
    if kind in NAMED:
        name, space = _full_name(schema, space)
        found = {**schema, "name": name}
        names[name] = found
        if "fields" in schema:
            found["fields"] = [
                {**field, "type": _collect_names(field["type"], space, names)} for field in schema["fields"]
            ]
        return found
    inner = {"array": "items", "map": "values"}.get(kind if isinstance(kind, str) else "")
    if inner is not None:
        return {**schema, inner: _collect_names(schema[inner], space, names)}
    if isinstance(kind, str) and kind in PRIMITIVES:
        return schema
    return _collect_names(kind, space, names)


def _full(name: str, space: str, names: Mapping[str, Any]) -> str:
    full = f"{space}.{name}"
    return full if full in names or name not in names else name


def _full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    name = schema["name"]
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", space)
    return (f"{space}.{name}" if space else name), space
