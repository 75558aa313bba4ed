"""AvroCodec: Avro's binary encoding to and from JSON values, by fastavro.

The JSON is Avro's own JSON encoding with three differences that keep it readable and lossless: a union of null and one
other type is written without the name of its branch; a decimal is a text such as "12.50"; NaN and infinities are texts
(json_text.py).
Bytes are texts of one character a byte, dates and timestamps stay numbers, as in Avro's encoding.

A schema that needs none of this costs nothing beside fastavro. Source: Avro 1.12 specification, "JSON encoding".
Shown by tests/unit/serdes/test_avro.py.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any

from kctl.serdes.avro_guard import Guard
from kctl.serdes.errors import DecodeError, EncodeError, SchemaError
from kctl.serdes.libraries import import_library

Convert = Callable[[Any], Any]
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL = "decimal"
MOST_PRECISION = 1000
"""Digits of a decimal; one that claims more is bytes, as Avro has it for every invalid logical type."""


class AvroCodec:
    """One writer's schema.

    Args:
        text: the schema.
        dependencies: texts of the schemas that it refers to, each after those that it needs.
        reader: the schema to read by, where it is another one (schema evolution).
    Raises: SchemaError: a schema is not valid; LibraryMissingError.
    """

    def __init__(self, text: str, dependencies: Sequence[str] = (), reader: str | None = None) -> None:
        self._fastavro = import_library("fastavro", "avro")
        try:
            self._prepare(text, dependencies, reader)
        except RecursionError:
            raise SchemaError("the Avro schema is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for a hostile schema is not documented
            raise SchemaError(f"not a valid Avro schema: {type(e).__name__}: {e}"[:300]) from None

    def _prepare(self, text: str, dependencies: Sequence[str], reader: str | None) -> None:
        names: dict[str, Any] = {}
        self._schema, schema = self._parse(text, dependencies, names)
        self._guard = Guard.of(schema, names)
        self._reader, read, read_names = None, schema, names
        if reader is not None:
            read_names = {}
            self._reader, read = self._parse(reader, (), read_names)
        shape = _Shape(read, read_names)
        self._to_json, self._names_branches = shape.to_json, shape.names_branches
        self._from_json = _Shape(schema, names).from_json

    def _parse(self, text: str, dependencies: Sequence[str], names: dict[str, Any]) -> tuple[Any, Any]:
        """Return a schema as fastavro wants it, without logical types, and as it was written; fill in its names."""
        for each in dependencies:
            _collect_names(json.loads(each), "", names)
        schema = _collect_names(json.loads(text), "", names)
        return self._fastavro.parse_schema(_plain(_whole(schema, names, set()))), schema

    def decode(self, data: bytes) -> Any:
        """Return the value as JSON. Raises: DecodeError: the bytes are not of this schema, or more than that."""
        if self._guard is not None:
            self._guard.check(data)
        source = BytesIO(data)
        names = self._names_branches
        try:
            value = self._fastavro.schemaless_reader(
                source, self._schema, self._reader, return_record_name=names, return_named_type=names
            )
            if self._to_json is not None:
                value = self._to_json(value)
        except RecursionError:
            raise DecodeError("the value is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for damaged bytes is not documented
            raise DecodeError(f"not Avro of this schema: {str(e) or type(e).__name__}"[:300]) from None
        if source.tell() != len(data):
            raise DecodeError(f"not Avro of this schema: {len(data) - source.tell()} bytes follow the value")
        return value

    def encode(self, value: Any) -> bytes:
        """Return a JSON value as Avro. Raises: EncodeError: it does not fit the schema."""
        out = BytesIO()
        try:
            if self._from_json is not None:
                value = self._from_json(value)
            self._fastavro.schemaless_writer(out, self._schema, value, strict_allow_default=True)
        except RecursionError:
            raise EncodeError("the value is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for a wrong value is not documented
            raise EncodeError(f"the value does not fit the Avro schema: {str(e) or type(e).__name__}"[:300]) from None
        return out.getvalue()


def _plain(schema: Any) -> Any:
    """Return a schema without its logical types, which fastavro would turn into objects that JSON has not."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if isinstance(schema, dict):
        return {
            name: value if name in ("default", "symbols", "aliases", "doc") else _plain(value)
            for name, value in schema.items()
            if name != "logicalType"
        }
    return schema


def _whole(schema: Any, names: Mapping[str, Any], defined: set[str]) -> Any:
    """Return a schema in which each name is defined where it is first used, also those of other schemas."""
    if isinstance(schema, str):
        return schema if schema not in names or schema in defined else _whole(names[schema], names, defined)
    if isinstance(schema, list):
        return [_whole(each, names, defined) for each in schema]
    if "name" in schema and schema["type"] in ("record", "error", "enum", "fixed"):
        if schema["name"] in defined:
            return schema["name"]
        defined.add(schema["name"])
    found = dict(schema)
    for part in ("items", "values"):
        if part in found:
            found[part] = _whole(found[part], names, defined)
    if "fields" in found:
        found["fields"] = [{**each, "type": _whole(each["type"], names, defined)} for each in found["fields"]]
    return found


def _collect_names(schema: Any, space: str, names: dict[str, Any]) -> Any:
    """Return a schema in which names are full; note each named type under its name."""
    if isinstance(schema, str):
        return schema if schema in _PRIMITIVES or "." in schema or not space else _full(schema, space, names)
    if isinstance(schema, list):
        return [_collect_names(each, space, names) for each in schema]
    kind = schema["type"]
    if kind in ("record", "error", "enum", "fixed"):
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
    if isinstance(kind, str) and kind in _PRIMITIVES:
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


class _Shape:
    """What must be converted between fastavro's values and JSON; None where nothing must."""

    def __init__(self, schema: Any, names: Mapping[str, Any]) -> None:
        self._names = names
        self.names_branches = any(_has_branches(each) for each in [schema, *names.values()])
        self._to: dict[str, list[Convert | None]] = {}
        self._from: dict[str, list[Convert | None]] = {}
        self._open: set[str] = set()
        self.to_json = self._convert(schema, _TO)
        self.from_json = self._convert(schema, _FROM)

    def _convert(self, schema: Any, way: "_Way") -> Convert | None:
        if isinstance(schema, list):
            return self._union(schema, way)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in self._names or (not isinstance(schema, str) and kind in ("record", "error", "enum", "fixed")):
            return self._named(kind if kind in self._names else schema["name"], way)
        if kind == "bytes":
            return way.decimal(schema) if _is_decimal(schema) else way.bytes
        if kind in ("float", "double"):
            return way.number
        if kind in ("int", "long"):
            return way.integer
        if kind == "array":
            items = self._convert(schema["items"], way)
            return None if items is None else lambda value: [items(each) for each in _sequence(value)]
        if kind == "map":
            values = self._convert(schema["values"], way)
            return None if values is None else lambda value: {k: values(v) for k, v in _mapping(value).items()}
        return None

    def _named(self, name: str, way: "_Way") -> Convert | None:
        schema = self._names[name]
        kind = schema["type"]
        if kind == "fixed":
            return way.decimal(schema) if _is_decimal(schema) else way.bytes
        if kind == "enum":
            return None
        made = self._to if way is _TO else self._from
        if name in self._open:  # it refers to itself: looked up when the value is there
            holder = made[name]
            return lambda value: value if holder[0] is None else holder[0](value)
        if name in made:
            return made[name][0]
        holder = made[name] = [None]
        self._open.add(name)
        converts = {field["name"]: self._convert(field["type"], way) for field in schema["fields"]}
        self._open.discard(name)
        needed = {field: convert for field, convert in converts.items() if convert is not None}
        if needed:
            holder[0] = lambda value: _fields(value, needed)
        return holder[0]

    def _union(self, branches: Sequence[Any], way: "_Way") -> Convert | None:
        others = [each for each in branches if each != "null"]
        if len(others) > 1:
            return _Union({_branch_name(each): self._convert(each, way) for each in branches}).converter(way)
        convert = self._convert(others[0], way) if others else None
        if way is _TO and self.names_branches and others and _branch_name(others[0]) in self._names:
            inner = convert or (lambda value: value)
            return lambda value: inner(value[1]) if isinstance(value, tuple) else value
        if convert is None:
            return None
        return lambda value: None if value is None else convert(value)


class _Union:
    """A union of several types besides null: JSON names the branch."""

    def __init__(self, branches: Mapping[str, Convert | None]) -> None:
        self._branches = branches

    def converter(self, way: "_Way") -> Convert:
        return self._to_json if way is _TO else self._from_json

    def _to_json(self, value: Any) -> Any:
        if value is None:
            return None
        name, inner = value if isinstance(value, tuple) else (self._branch_of(value), value)
        convert = self._branches[name]
        return {name: inner if convert is None else convert(inner)}

    def _from_json(self, value: Any) -> Any:
        if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in self._branches:
            return value  # without a branch: fastavro takes the first that fits
        name, inner = next(iter(value.items()))
        convert = self._branches[name]
        inner = inner if convert is None else convert(inner)
        return inner if name in _PRIMITIVES or name in ("array", "map") else (name, inner)

    def _branch_of(self, value: Any) -> str:
        for kind, names in _BRANCHES:
            if isinstance(value, kind):
                return next(name for name in names if name in self._branches)
        raise ValueError(f"no branch for {type(value).__name__}")


_BRANCHES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (bool, ("boolean",)),
    (int, ("long", "int", "double", "float")),
    (float, ("double", "float")),
    (bytes, ("bytes",)),
    (str, ("string",)),
    (list, ("array",)),
    (dict, ("map",)),
)


class _Way:
    """One of the two directions of a conversion."""

    def __init__(
        self,
        of_bytes: Convert,
        decimal: Callable[[Any], Convert],
        number: Convert | None = None,
        integer: Convert | None = None,
    ) -> None:
        self.bytes = of_bytes
        self.number = number
        self.integer = integer
        self.decimal = decimal


def _decimal_to_json(schema: Mapping[str, Any]) -> Convert:
    from decimal import Decimal

    scale = schema.get("scale", 0)

    def convert(value: bytes) -> str:
        if len(value) > MOST_PRECISION:
            raise ValueError(f"a decimal of {len(value)} bytes")
        return format(Decimal(int.from_bytes(value, signed=True)).scaleb(-scale, _exact()), "f")

    return convert


def _decimal_from_json(schema: Mapping[str, Any]) -> Convert:
    from decimal import Decimal

    scale, precision, size = schema.get("scale", 0), schema["precision"], schema.get("size")

    def convert(value: Any) -> bytes:
        given = Decimal(value if isinstance(value, str) else str(value))
        unscaled = given.scaleb(scale, _exact())
        if not given.is_finite() or unscaled != unscaled.to_integral_value() or unscaled.adjusted() >= precision:
            raise ValueError(f"{value!r} is not a decimal({precision}, {scale})")
        number = int(unscaled)
        return number.to_bytes(size if size is not None else number.bit_length() // 8 + 1, signed=True)

    return convert


def _exact() -> Any:
    from decimal import Context

    return Context(prec=100_000, Emax=999_999, Emin=-999_999)


def _number_from_json(value: Any) -> Any:
    return _NOT_FINITE[value] if isinstance(value, str) else value


def _integer_from_json(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"a whole number is expected, not {value!r}"[:80])  # fastavro would cut a fraction off
    return value


def _bytes_to_json(value: bytes) -> str:
    return value.decode("latin-1")


def _bytes_from_json(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"bytes are a text of one character a byte, not {type(value).__name__}")
    return value.encode("latin-1")


_TO = _Way(_bytes_to_json, _decimal_to_json)
_FROM = _Way(_bytes_from_json, _decimal_from_json, _number_from_json, _integer_from_json)


def _fields(value: Any, needed: Mapping[str, Convert]) -> Any:
    found = dict(_mapping(value))
    for name, convert in needed.items():
        if name in found:
            found[name] = convert(found[name])
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"an object is expected, not {type(value).__name__}")
    return value


def _sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"an array is expected, not {type(value).__name__}")
    return value


def _is_decimal(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or schema.get("logicalType") != _DECIMAL:
        return False
    scale, precision = schema.get("scale", 0), schema.get("precision")
    return isinstance(scale, int) and isinstance(precision, int) and 0 <= scale <= precision <= MOST_PRECISION


def _branch_name(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    kind: str = schema["type"]
    return schema["name"] if kind in ("record", "error", "enum", "fixed") else kind


def _has_branches(schema: Any) -> bool:
    """Return whether a union of several types besides null is in a schema; named types are looked at by themselves."""
    if isinstance(schema, list):
        return len([each for each in schema if each != "null"]) > 1 or any(map(_has_branches, schema))
    if not isinstance(schema, Mapping):
        return False
    inner = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
    return any(_has_branches(each) for each in inner if each is not None)
