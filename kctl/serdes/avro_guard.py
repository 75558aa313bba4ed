"""Guard: check of Avro bytes before fastavro reads them, for schemas with which few bytes can exhaust resources.

Recursive and deep schemas can crash the process, because fastavro recurses in C without a limit. If values need no
bytes, an array of ten bytes can have a billion items, and records whose fields double at each level have as many
values.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kctl.serdes.errors import DecodeError

MOST_DEPTH = 500
MOST_LEVELS = 32
"""Maximum number of nesting levels of a schema that needs no guard."""
MOST_VALUES, MOST_VALUES_A_BYTE = 100_000, 8
"""Limit of values in data: a base, and a number for each byte."""
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class Guard:
    def __init__(self, schema: Any, names: Mapping[str, Any]) -> None:
        self._schema = schema
        self._names = names

    @classmethod
    def of(cls, schema: Any, names: Mapping[str, Any]) -> "Guard | None":
        return cls(schema, names) if _facts(schema, names, {}).is_risky else None

    def check(self, data: bytes) -> None:
        """Raise DecodeError if the bytes are nested too deeply, have too many values, or are incomplete."""
        _Walk(data, self._names).value(self._schema, 0)


class _Walk:
    def __init__(self, data: bytes, names: Mapping[str, Any]) -> None:
        self._data = data
        self._names = names
        self._at = 0
        self._values = 0
        self._most_values = MOST_VALUES + MOST_VALUES_A_BYTE * len(data)

    def value(self, schema: Any, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise DecodeError(f"the value is nested more than {MOST_DEPTH} levels deep")
        self._values += 1
        if self._values > self._most_values:
            raise DecodeError(f"the {len(self._data)} bytes contain more than {self._most_values} values")
        if isinstance(schema, list):
            branch = self._number()
            if not 0 <= branch < len(schema):
                raise DecodeError(f"the bytes do not fit the Avro schema: branch {branch} of a union of {len(schema)}")
            self.value(schema[branch], depth + 1)
            return
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in self._names:
            schema = self._names[kind]
            kind = schema["type"]
        if kind in ("record", "error"):
            for field in schema["fields"]:
                self.value(field["type"], depth + 1)
        elif kind in ("array", "map"):
            self._blocks(schema["items"] if kind == "array" else schema["values"], depth, is_map=kind == "map")
        elif kind in ("bytes", "string"):
            self._pass(self._number())
        elif kind in ("int", "long", "enum"):
            self._number()
        else:
            self._pass(schema["size"] if kind == "fixed" else _SIZES[kind])

    def _blocks(self, items: Any, depth: int, *, is_map: bool) -> None:
        while count := self._number():
            if count < 0:
                count = -count
                self._number()
            for _ in range(count):
                if is_map:
                    self._pass(self._number())
                self.value(items, depth + 1)

    def _pass(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._at:
            raise DecodeError(f"not Avro of this schema: {size} bytes are claimed at {self._at} of {len(self._data)}")
        self._at += size

    def _number(self) -> int:
        raw = shift = 0
        data = self._data
        while True:
            if self._at >= len(data) or shift > 63:
                raise DecodeError(f"not Avro of this schema: a number is cut at {self._at} of {len(data)}")
            byte = data[self._at]
            self._at += 1
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (raw >> 1) ^ -(raw & 1)
            shift += 7


class _Facts(NamedTuple):
    """Properties of a type.

    Attributes:
        levels: nesting levels.
        is_empty: whether its values need no bytes.
        is_risky: whether it needs a guard.
    """

    levels: int
    is_empty: bool
    is_risky: bool


def _facts(schema: Any, names: Mapping[str, Any], seen: dict[str, _Facts | None]) -> _Facts:
    """Return the facts of a type.

    Args:
        seen: facts of named types. None for types in progress.
    """
    if isinstance(schema, list):
        branches = [_facts(each, names, seen) for each in schema]
        levels = max((each.levels for each in branches), default=0)
        return _Facts(levels, False, any(each.is_risky for each in branches))
    kind = schema if isinstance(schema, str) else schema["type"]
    name = kind if kind in names else schema["name"] if not isinstance(schema, str) and "name" in schema else ""
    if name in seen:
        return seen[name] or _Facts(1, False, True)
    schema = names.get(name, schema)
    if name:
        seen[name] = None
    found = _facts_of(schema, names, seen)
    if name:
        seen[name] = found
    return found


def _facts_of(schema: Any, names: Mapping[str, Any], seen: dict[str, _Facts | None]) -> _Facts:
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in ("array", "map"):
        item = _facts(schema["items" if kind == "array" else "values"], names, seen)
        levels = item.levels + 1
        return _Facts(levels, False, item.is_risky or levels > MOST_LEVELS or (item.is_empty and kind == "array"))
    if kind in ("record", "error"):
        fields = [_facts(field["type"], names, seen) for field in schema["fields"]]
        levels = max((each.levels for each in fields), default=0) + 1
        is_risky = levels > MOST_LEVELS or any(each.is_risky or each.is_empty for each in fields)
        return _Facts(levels, all(each.is_empty for each in fields), is_risky)
    return _Facts(1, kind == "null" or (kind == "fixed" and schema["size"] == 0), False)
