"""JsonSchemaGuard: limit on the work of validation, for schemas with exponential cost.

If each level of a schema references the next one twice, or a schema references itself twice for the same value, the
number of checks doubles at each level. jsonschema-rs would not end and cannot be interrupted. The guard counts an upper
bound of the checks without evaluating them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kctl.serdes.errors import EncodeError

MOST_EXPANDED = 10_000
"""Maximum number of expanded subschemas of a schema that needs no guard."""
MOST_CHECKS, MOST_CHECKS_A_VALUE = 100_000, 100
"""Limit of checks: a base, and a number for each value."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_OF_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")
Schema = Mapping[str, Any]


class JsonSchemaGuard:
    """Guard of one schema.

    Args:
        documents: the schema under an empty name, and referenced schemas by name.
    """

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._named: dict[str, Any] = {}
        self._home: dict[int, str] = {}
        for name, document in documents.items():
            self._note_names(document, name)

    @classmethod
    def of(cls, documents: Mapping[str, Any]) -> "JsonSchemaGuard | None":
        guard = cls(documents)
        return guard if guard._is_risky(documents[""]) else None

    def check(self, value: Any) -> None:
        """Raise EncodeError if a validation would need too many checks."""
        left = MOST_CHECKS + MOST_CHECKS_A_VALUE * _count_values(value)
        waiting: list[tuple[Any, Any, frozenset[int]]] = [(self._documents[""], value, frozenset())]
        while waiting:
            schema, instance, above = waiting.pop()
            left -= 1
            if left < 0:
                raise EncodeError(
                    "the JSON Schema would check the value too often: its levels double at each reference"
                )
            if not isinstance(schema, Mapping) or id(schema) in above:  # references itself for the same value
                continue
            inside = above | {id(schema)}
            waiting += [(each, instance, inside) for each in self._in_place(schema)]
            waiting += [(each, child, frozenset()) for each, child in _of_children(schema, instance)]

    def _is_risky(self, root: Any) -> bool:
        sizes: dict[int, int | None] = {}
        waiting: list[tuple[Any, bool]] = [(root, False)]
        while waiting:
            schema, is_done = waiting.pop()
            if not isinstance(schema, Mapping):
                continue
            inner = [each for each in [*self._in_place(schema), *_children(schema)] if isinstance(each, Mapping)]
            if is_done:
                size = 1 + sum(sizes[id(each)] or 0 for each in inner)
                if size > MOST_EXPANDED:
                    return True
                sizes[id(schema)] = size
            elif id(schema) not in sizes:
                sizes[id(schema)] = None
                waiting.append((schema, True))
                waiting += [(each, False) for each in inner]
            elif sizes[id(schema)] is None:
                return True
        return False

    def _in_place(self, schema: Schema) -> Iterator[Any]:
        for word in _REFERENCES:
            if isinstance(schema.get(word), str):
                yield self._referred(schema[word], self._home.get(id(schema), ""))
        for word in _LISTS:
            yield from schema[word] if isinstance(schema.get(word), list) else ()
        for word in _SINGLE:
            yield schema.get(word)
        for word in _BY_NAME:
            yield from schema[word].values() if isinstance(schema.get(word), Mapping) else ()

    def _referred(self, reference: str, home: str) -> Any:
        if reference in self._named:
            return self._named[reference]
        document, _, pointer = reference.partition("#")
        if document:
            home = document if document in self._documents else document.rpartition("/")[2]
        found = self._named.get(document, self._documents.get(home))
        if pointer and not pointer.startswith("/"):
            return self._named.get(f"#{pointer}")
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name[:9]) < len(found):
                found = found[int(name[:9])]
            else:
                found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _note_names(self, document: Any, home: str) -> None:
        waiting = [document]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Mapping):
                self._home[id(each)] = home
                for word in ("$id", "id"):
                    if isinstance(each.get(word), str):
                        self._named.setdefault(each[word], each)
                for word in ("$anchor", "$dynamicAnchor"):
                    if isinstance(each.get(word), str):
                        self._named.setdefault(f"#{each[word]}", each)
                waiting += each.values()
            elif isinstance(each, list):
                waiting += each


def _children(schema: Schema) -> Iterator[Any]:
    for word in ("properties", "patternProperties"):
        yield from schema[word].values() if isinstance(schema.get(word), Mapping) else ()
    for word in (*_OF_PROPERTIES, "propertyNames"):
        yield schema.get(word)
    for word in (*_OF_ITEMS, "prefixItems"):
        yield from schema[word] if isinstance(schema.get(word), list) else [schema.get(word)]


def _of_children(schema: Schema, instance: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(instance, Mapping):
        named = schema.get("properties")
        if isinstance(named, Mapping):
            yield from ((named[name], child) for name, child in instance.items() if name in named)
        patterns = schema.get("patternProperties")
        others = [*(patterns.values() if isinstance(patterns, Mapping) else ()), *map(schema.get, _OF_PROPERTIES)]
        yield from ((each, child) for each in others if each is not None for child in instance.values())
    elif isinstance(instance, list):
        for word in (*_OF_ITEMS, "prefixItems"):
            each = schema.get(word)
            if isinstance(each, list):
                yield from zip(each, instance, strict=False)
            elif each is not None:
                yield from ((each, child) for child in instance)


def _count_values(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return count
