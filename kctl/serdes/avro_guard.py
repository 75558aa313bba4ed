"""Guard: a walk over Avro bytes before fastavro reads them, for the schemas whose bytes could be a bomb.

Two kinds of schema let a few bytes ask for much: recursive ones (fastavro recurses in C without a bound, and the
process would crash) and arrays of items of no bytes (a billion of them in ten bytes). All others need no guard, since
each value in them takes bytes of its own. Shown by tests/unit/serdes/test_avro_guard.py.
"""

from collections.abc import Mapping
from typing import Any

from kctl.serdes.errors import DecodeError

MOST_DEPTH = 500
MOST_EMPTY_ITEMS = 100_000
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class Guard:
    """The guard of one schema."""

    def __init__(self, schema: Any, names: Mapping[str, Any]) -> None:
        self._schema = schema
        self._names = names

    @classmethod
    def of(cls, schema: Any, names: Mapping[str, Any]) -> "Guard | None":
        """Return the guard that a schema needs, or None."""
        return cls(schema, names) if _is_risky(schema, names, (), {}) else None

    def check(self, data: bytes) -> None:
        """Walk over the bytes. Raises: DecodeError: too deep, too many empty items, or the bytes end too early."""
        _Walk(data, self._names).value(self._schema, 0)


class _Walk:
    def __init__(self, data: bytes, names: Mapping[str, Any]) -> None:
        self._data = data
        self._names = names
        self._at = 0
        self._items = 0

    def value(self, schema: Any, depth: int) -> None:
        """Pass over one value."""
        if depth > MOST_DEPTH:
            raise DecodeError(f"the value is nested more than {MOST_DEPTH} levels deep")
        if isinstance(schema, list):
            branch = self._number()
            if not 0 <= branch < len(schema):
                raise DecodeError(f"not Avro of this schema: branch {branch} of a union of {len(schema)}")
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
                before = self._at
                if is_map:
                    self._pass(self._number())
                self.value(items, depth + 1)
                if self._at == before:
                    self._items += 1
                    if self._items > MOST_EMPTY_ITEMS:
                        raise DecodeError(f"an array has more than {MOST_EMPTY_ITEMS} items of no bytes")

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


def _is_risky(schema: Any, names: Mapping[str, Any], above: tuple[str, ...], seen: dict[str, bool]) -> bool:
    if isinstance(schema, list):
        return any(_is_risky(each, names, above, seen) for each in schema)
    kind = schema if isinstance(schema, str) else schema["type"]
    name = kind if kind in names else schema["name"] if not isinstance(schema, str) and "name" in schema else ""
    if name in above:
        return True
    if name in seen:
        return seen[name]
    schema = names.get(name, schema)
    if isinstance(schema, str):
        return False
    if schema["type"] == "array" and _least_bytes(schema["items"], names, ()) == 0:
        return True
    inner = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
    within = (*above, name) if name else above
    found = any(_is_risky(each, names, within, seen) for each in inner if each is not None)
    if name:
        seen[name] = found
    return found


def _least_bytes(schema: Any, names: Mapping[str, Any], above: tuple[str, ...]) -> int:
    """Return 0 for a type whose values may take no bytes, else at least 1."""
    if isinstance(schema, list):
        return 1
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in names:
        schema = names[kind]
        kind = schema["type"]
    if kind in ("record", "error"):
        name = schema["name"]
        if name in above:
            return 1
        return sum(_least_bytes(field["type"], names, (*above, name)) for field in schema["fields"])
    if kind == "fixed":
        return int(schema["size"])
    return 0 if kind == "null" else 1
