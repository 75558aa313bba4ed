"""AvroValues: Avro values as Arrow types, which match Spark's Avro reader if it supports the type.

A union of several non-null types is a struct with one field for each branch. Recursive types and records without fields
are JSON strings, and decimals of more than 38 digits are strings.
"""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from kctl.pipeline.decoding.value_reader import Read, TypeBudget, list_of
from kctl.serdes.avro import TO_JSON, unscaled_of
from kctl.serdes.avro_reader import AvroReader
from kctl.serdes.avro_schema import (
    NAMED,
    AvroSchema,
    branch_name,
    is_decimal,
    others_than_null,
)
from kctl.serdes.avro_shape import Convert, Leaf, Shape, must_name_branches
from kctl.serdes.errors import SchemaError
from kctl.serdes.json_text import show_json
from kctl.serdes.schema_store import Resolved

MOST_DIGITS = 38
"""Maximum precision of a decimal in Spark and in Parquet readers."""
_EXACT = Context(prec=MOST_DIGITS * 2)
_TYPES = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("us"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
_MILLISECONDS = ("timestamp-millis", "local-timestamp-millis")


class AvroValues:
    """Reader of values with one Avro schema.

    Attributes:
        type: Arrow type of all values.

    Raises: SchemaError: the schema is invalid. LibraryMissingError.
    """

    def __init__(self, reader: Resolved) -> None:
        self._text = reader.schema.text
        self._dependencies = [each.text for _, each in reader.dependencies]
        schema = AvroReader(self._text, TO_JSON, self._dependencies).schema
        try:
            self._leaves = _Leaves(schema)
            self.type = self._leaves.type_of(schema.schema, 0)
        except RecursionError:
            raise SchemaError("the Avro schema is nested too deeply") from None

    def of_writer(self, writer: Resolved) -> Read:
        dependencies = [each.text for _, each in writer.dependencies]
        return AvroReader(writer.schema.text, self._leaves, dependencies, self._text, self._dependencies).read


class _Leaves:
    """Arrow types of a schema, and the conversions of its values."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._recursive = _recursive_types(schema.names)
        self._budget = TypeBudget("Avro")

    # --- types ------------------------------------------------------------------------------------------------------

    def type_of(self, schema: Any, level: int) -> pa.DataType:
        self._budget.spend(level)
        if isinstance(schema, list):
            return self._union_type(schema, level)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in self._schema.names or kind in NAMED:
            return self._named_type(kind if kind in self._schema.names else schema["name"], level)
        if kind == "array":
            return list_of(self.type_of(schema["items"], level + 1))
        if kind == "map":
            return pa.map_(pa.string(), self.type_of(schema["values"], level + 1))
        return _scalar_type(kind, schema)

    def _named_type(self, name: str, level: int) -> pa.DataType:
        schema = self._schema.names[name]
        if "fields" not in schema:
            return _scalar_type(schema["type"], schema)
        if not schema["fields"] or (level and name in self._recursive):
            return pa.string()
        return pa.struct([pa.field(each["name"], self.type_of(each["type"], level + 1)) for each in schema["fields"]])

    def _union_type(self, branches: Sequence[Any], level: int) -> pa.DataType:
        others = others_than_null(branches)
        if len(others) < 2:
            return self.type_of(others[0], level) if others else pa.string()
        keys = self.union({branch_name(each): None for each in others})
        return pa.struct([pa.field(keys[branch_name(each)], self.type_of(each, level + 1)) for each in others])

    # --- values -----------------------------------------------------------------------------------------------------

    def leaf(self, kind: str, schema: Any) -> Leaf:
        if kind in ("bytes", "fixed"):
            if not is_decimal(schema):
                return 'x if x.__class__ is bytes else x.encode("latin-1")'
            return (
                _decimal(schema.get("scale", 0)) if schema["precision"] <= MOST_DIGITS else TO_JSON.leaf(kind, schema)
            )
        if kind == "long" and isinstance(schema, Mapping) and schema.get("logicalType") in _MILLISECONDS:
            return "x * 1000"
        return "list(x.items())" if kind == "map" else None

    def union(self, branches: Mapping[str, Convert | None]) -> dict[str, str]:
        short = {name: name.rpartition(".")[2] for name in branches}
        is_unique = len({each.lower() for each in short.values()}) == len(short)
        return short if is_unique else {name: name.replace(".", "_") for name in branches}

    def record(self, name: str, *, is_top: bool) -> Leaf:
        if self._schema.names[name]["fields"] and (is_top or name not in self._recursive):
            return None
        part = self._schema._replace(schema=name)
        to_json = Shape(part, TO_JSON, copies=True, is_part=must_name_branches(self._schema)).convert
        return lambda value: show_json(value if to_json is None else to_json(value))


def _scalar_type(kind: str, schema: Any) -> pa.DataType:
    if not isinstance(schema, Mapping):
        return _TYPES[kind]
    if kind in ("bytes", "fixed") and is_decimal(schema):
        precision = schema["precision"]
        return pa.decimal128(precision, schema.get("scale", 0)) if precision <= MOST_DIGITS else pa.string()
    return _LOGICAL.get((kind, str(schema.get("logicalType"))), _TYPES[kind])


def _decimal(scale: int) -> Convert:
    def convert(value: bytes | str) -> Decimal:
        return Decimal(unscaled_of(value)).scaleb(-scale, _EXACT)

    return convert


def _recursive_types(names: Mapping[str, Any]) -> set[str]:
    """Return the names of types on a cycle or between two cycles."""
    inner = {name: _named_in(each.get("fields", ()), names) for name, each in names.items()}
    outer: dict[str, set[str]] = {name: set() for name in names}
    for name, others in inner.items():
        for each in others:
            outer[each].add(name)
    return _on_cycles(inner, outer) & _on_cycles(outer, inner)


def _on_cycles(inner: Mapping[str, set[str]], outer: Mapping[str, set[str]]) -> set[str]:
    """Return the names that lead to a cycle. They remain after repeatedly removing names without references."""
    left = {name: len(others) for name, others in inner.items()}
    ends = [name for name, count in left.items() if not count]
    while ends:
        name = ends.pop()
        del left[name]
        for each in outer[name]:
            left[each] -= 1
            if not left[each]:
                ends.append(each)
    return set(left)


def _named_in(schema: Any, names: Mapping[str, Any]) -> set[str]:
    if isinstance(schema, str):
        return {schema} if schema in names else set()
    if isinstance(schema, Mapping):
        if schema.get("type") in NAMED and "name" in schema:
            return {schema["name"]}
        return set().union(*(_named_in(schema[part], names) for part in ("type", "items", "values") if part in schema))
    return set().union(*(_named_in(each, names) for each in schema))
