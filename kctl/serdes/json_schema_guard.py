"""JsonSchemaGuard: limit on the work of validation, for schemas with exponential cost.

If each level of a schema references the next one twice, or a schema references itself twice for the same value, the
number of checks doubles at each level. jsonschema-rs would not end and cannot be interrupted. The guard counts an upper
bound of the checks without evaluating them. Where a reference may mean several schemas, it counts all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.serdes.errors import EncodeError

MOST_EXPANDED = 10_000
"""Maximum number of expanded subschemas of a schema that needs no guard."""
MOST_CHECKS, MOST_CHECKS_A_VALUE = 100_000, 100
"""Limit of checks: a base, and a number for each value."""
MOST_CANDIDATES = 100
"""Maximum number of schemas that a reference may mean."""
_BUILT_IN = ("http://json-schema.org/draft-04/", "http://json-schema.org/draft-06/", "http://json-schema.org/draft-07/")
"""Metaschemas of jsonschema-rs that no schema can extend."""
_MISSING = object()
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_OF_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")
Schema = Mapping[str, Any]


class _Unknown(NamedTuple):
    """Schema that the guard cannot find. Its checks are not counted, so the value is refused."""

    reference: str


class JsonSchemaGuard:
    """Guard of one schema.

    Args:
        documents: the schema under an empty name, and referenced schemas by name.
    """

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._resources: list[Any] = []
        """Documents, and subschemas with an ID."""
        self._named: dict[str, list[Any]] = {}
        """Resources by the end of their name or ID, because the base of an ID is not exactly known."""
        self._anchors: dict[str, list[Any]] = {}
        self._recursive: list[Any] = []
        self._homes: dict[int, tuple[Any, ...]] = {}
        """Resources around each schema."""
        self._known: dict[int, dict[str, Sequence[Any]]] = {}
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
                raise EncodeError("the JSON Schema is too complex: the number of checks doubles at each reference")
            if isinstance(schema, _Unknown):
                raise EncodeError(
                    f"the checks of the JSON Schema cannot be counted: what {schema.reference!r} refers to is unknown"
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
            every = [*self._in_place(schema), *_children(schema)]
            if any(isinstance(each, _Unknown) for each in every):
                return True
            inner = [each for each in every if isinstance(each, Mapping)]
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
                yield from self._referred(schema[word], word, schema)
        for word in _LISTS:
            yield from schema[word] if isinstance(schema.get(word), list) else ()
        for word in _SINGLE:
            yield schema.get(word)
        for word in _BY_NAME:
            yield from schema[word].values() if isinstance(schema.get(word), Mapping) else ()

    def _referred(self, reference: str, word: str, schema: Schema) -> Sequence[Any]:
        """Return all schemas that the reference may mean, or an _Unknown."""
        known = self._known.setdefault(id(schema), {})
        if word not in known:
            known[word] = self._candidates(reference, word, self._homes.get(id(schema), ()))
        return known[word]

    def _candidates(self, reference: str, word: str, homes: Sequence[Any]) -> Sequence[Any]:
        uri, _, fragment = reference.partition("#")
        if uri:
            last = _last_segment(uri)
            homes = [*self._named.get(last, ()), *self._named.get("", ())] if last else self._resources
        found = self._anchors.get(fragment, ())
        if not fragment or fragment.startswith("/"):
            if len(homes) > MOST_CANDIDATES:
                return [_Unknown(reference)]
            found = [each for home in homes if (each := _pointed(home, unquote(fragment))) is not _MISSING]
        if word == "$recursiveRef":
            found = [*found, *self._recursive]
        if not found and uri.startswith(_BUILT_IN):
            return ()
        unique = list({id(each): each for each in found}.values())
        return unique if 0 < len(unique) <= MOST_CANDIDATES else [_Unknown(reference)]

    def _note_names(self, document: Any, name: str) -> None:
        self._resources.append(document)
        for key in {name, _last_segment(name)} if name else ():
            self._named.setdefault(key, []).append(document)
        waiting: list[tuple[Any, tuple[Any, ...]]] = [(document, (document,))]
        while waiting:
            each, homes = waiting.pop()
            if isinstance(each, Mapping):
                ids = [each[word] for word in ("$id", "id") if isinstance(each.get(word), str)]
                for uri, _, fragment in (one.partition("#") for one in ids):
                    if uri:
                        self._resources.append(each)
                        self._named.setdefault(_last_segment(uri), []).append(each)
                        homes = (*homes, each)
                    self._anchors.setdefault(fragment, []).append(each)
                for word in ("$anchor", "$dynamicAnchor"):
                    if isinstance(each.get(word), str):
                        self._anchors.setdefault(each[word], []).append(each)
                if each.get("$recursiveAnchor") is True:
                    self._recursive.append(each)
                self._homes[id(each)] = homes
                waiting += [(one, homes) for one in each.values()]
            elif isinstance(each, list):
                waiting += [(one, homes) for one in each]


def _last_segment(uri: str) -> str:
    """Return the end of the path, or nothing if resolving the URI against a base may give any end."""
    try:
        last = unquote(urlsplit(uri).path).rpartition("/")[2]
    except ValueError:
        return ""
    return "" if last in {".", ".."} else last


def _pointed(found: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and len(name) < 9 and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            return _MISSING
    return found


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
        if "propertyNames" in schema:
            yield from ((schema["propertyNames"], name) for name in instance)
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
