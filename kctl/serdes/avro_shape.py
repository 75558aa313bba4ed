"""Conversion of fastavro values by a schema, as a generated function.

Generated source needs about 60 ns for each field to convert. Closures would need as long as fastavro itself. The source
refers to names of the schema as objects and contains no text of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kctl.serdes.avro_schema import (
    NAMED,
    AvroSchema,
    branch_kind,
    branch_name,
    is_ambiguous,
    needs_names,
    others_than_null,
    record_fields,
)

Convert = Callable[[Any], Any]
Leaf = Convert | str | None
"""Conversion: a function, a Python expression of `x`, or None to keep the value."""


class Leaves(Protocol):
    def leaf(self, kind: str, schema: Any) -> Leaf:
        """Return the conversion of a type other than record and null. Inner values are converted first."""
        ...

    def record(self, name: str, *, is_top: bool) -> Leaf:
        """Return the conversion of an entire record, or None to convert field by field."""
        ...

    def union(self, branches: Mapping[str, Convert | None]) -> "Convert | dict[str, str]":
        """Return the conversion of a union with several types other than null.

        For values read by fastavro, return the key of each branch in an object with one entry.

        Args:
            branches: conversions by branch name.
        """
        ...


class Shape:
    """Conversion of values of a schema.

    Args:
        copies: copy records before changes, because default values are shared.
        is_unchecked: check types, because users wrote the values.
        is_part: the schema is part of a larger one, for which fastavro names branches.
    Attributes:
        names_branches: whether fastavro must add branch names to union values.
        convert: function that converts a value. None if values stay unchanged.
    """

    def __init__(
        self,
        schema: AvroSchema,
        leaves: Leaves,
        *,
        copies: bool = False,
        is_unchecked: bool = False,
        is_part: bool = False,
    ) -> None:
        self._names = schema.names
        self._leaves = leaves
        self._copies = copies
        self._is_unchecked = is_unchecked
        self._objects: dict[str, Any] = {"mapping": _mapping, "sequence": _sequence}
        self._records: dict[str, str | None] = {}
        self.names_branches = is_part or must_name_branches(schema)
        self._changing = _changing_types(schema.names, leaves, has_unions=self.names_branches)
        self._is_top = True
        self.convert = self._function(self._expression(schema.schema))

    def _expression(self, schema: Any) -> str | None:
        is_top, self._is_top = self._is_top, self._is_top and _is_optional(schema)
        if isinstance(schema, list):
            return self._union(schema)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in self._names or kind in NAMED:
            return self._named(kind if kind in self._names else schema["name"], is_top=is_top)
        if kind == "null":
            return None
        leaf = self._named_leaf(self._leaves.leaf(kind, schema))
        return self._container(kind, schema, leaf) if kind in ("array", "map") else leaf

    def _container(self, kind: str, schema: Any, leaf: str | None) -> str | None:
        inner = self._expression(schema["items" if kind == "array" else "values"])
        if inner is None:
            return leaf
        if kind == "array":
            made = f"[{inner} for x in {'sequence(x)' if self._is_unchecked else 'x'}]"
        else:
            made = f"{{k: {inner} for k, x in {'mapping(x)' if self._is_unchecked else 'x'}.items()}}"
        whole = self._define([f"return {made}"])
        return f"{whole}(x)" if leaf is None else self._define([f"x = {whole}(x)", f"return {leaf}"]) + "(x)"

    def _named_leaf(self, leaf: Leaf) -> str | None:
        return leaf if leaf is None or isinstance(leaf, str) else f"{self._name(leaf)}(x)"

    def _named(self, name: str, *, is_top: bool) -> str | None:
        schema = self._names[name]
        if "fields" not in schema:
            return self._named_leaf(self._leaves.leaf(schema["type"], schema))
        at_once = self._leaves.record(name, is_top=is_top)
        if at_once is not None:
            return self._named_leaf(at_once)
        if name not in self._changing:
            return None
        if name not in self._records:
            self._records[name] = function = self._reserve()
            self._define(self._record(schema), function)
        return f"{self._records[name]}(x)"

    def _record(self, schema: Any) -> list[str]:
        lines = ["v = dict(mapping(x))" if self._is_unchecked else "v = x.copy()" if self._copies else "v = x"]
        for field in schema["fields"]:
            inner = self._expression(field["type"])
            if inner is None:
                continue
            key = self._name(field["name"])
            if self._is_unchecked:
                lines.append(f"if {key} in v:")
            lines.append(f"{'    ' if self._is_unchecked else ''}x = v[{key}]; v[{key}] = {inner}")
        return [*lines, "return v"]

    def _union(self, branches: Sequence[Any]) -> str | None:
        others = others_than_null(branches)
        if len(others) > 1:
            inner = {branch_name(each): self._expression(each) for each in others}
            union = self._leaves.union({name: self._function(each) for name, each in inner.items()})
            if not isinstance(union, dict):
                return f"{self._name(union)}(x)"
            kinds = {branch_kind(each, self._names): branch_name(each) for each in others}
            named = [name for kind, name in kinds.items() if kind in NAMED]
            records = record_fields(others, self._names)
            if is_ambiguous(others, self._names):
                kinds = {kind: name for kind, name in kinds.items() if kind not in NAMED}
            special = self._named_branches(union, inner) if named and self.names_branches else ""
            if len(records) > 1:
                special += "" if self.names_branches else self._by_fields(union, inner, records)
                kinds = {kind: name for kind, name in kinds.items() if name not in records}
            return f"(None if x is None else {special}{self._by_class(union, inner, kinds)})"
        made = self._expression(others[0]) if others else None
        if self.names_branches and others and branch_name(others[0]) in self._names:
            unwrapped = "x if x.__class__ is not tuple else x[1]"
            made = f"return {unwrapped}" if made is None else f"x = {unwrapped}; return {made}"
            return f"None if x is None else {self._define([made])}(x)"
        return None if made is None else f"(None if x is None else {made})"

    def _named_branches(self, keys: Mapping[str, str], inner: Mapping[str, str | None]) -> str:
        """Return the first part of the expression, for values whose branch fastavro names."""
        made = "{x[0]: x[1]}"
        if any(key != name for name, key in keys.items()):
            made = f"{{{self._name(keys)}[x[0]]: x[1]}}"
        if any(each is not None for name, each in inner.items() if name in self._names):
            known = self._name({name: (key, self._function(inner[name])) for name, key in keys.items()})
            lines = [f"(k, f), x = {known}[x[0]], x[1]", "return {k: x if f is None else f(x)}"]
            made = f"{self._define(lines)}(x)"
        return f"{made} if x.__class__ is tuple else "

    def _by_fields(
        self, keys: Mapping[str, str], inner: Mapping[str, str | None], records: Mapping[str, frozenset[str]]
    ) -> str:
        if all(inner[name] is None for name in records):
            made = f"{{{self._name({fields: keys[name] for name, fields in records.items()})}[frozenset(x)]: x}}"
        else:
            known = {fields: (keys[name], self._function(inner[name])) for name, fields in records.items()}
            lines = [f"k, f = {self._name(known)}[frozenset(x)]", "return {k: x if f is None else f(x)}"]
            made = f"{self._define(lines)}(x)"
        return f"{made} if x.__class__ is dict else "

    def _by_class(self, keys: Mapping[str, str], inner: Mapping[str, str | None], kinds: Mapping[str, str]) -> str:
        """Return the last part of the expression, for values identified by their class.

        Args:
            kinds: branch names by type.
        """
        made, plain = "", {}
        for of_class, names in _CLASSES:
            name = next((kinds[each] for each in names if each in kinds), None)
            if name is None:
                continue
            convert = inner[name]
            if convert is None:
                plain[of_class] = keys[name]
            else:
                known = convert.removesuffix(f" if x.__class__ is {of_class.__name__} else x")
                made += f"{{{self._name(keys[name])}: {known}}} if x.__class__ is {self._name(of_class)} else "
        return f"{made}{{{self._name(plain)}[x.__class__]: x}}"

    # --- source -------------------------------------------------------------------------------------------------------

    def _name(self, value: object) -> str:
        name = self._reserve()
        self._objects[name] = value
        return name

    def _reserve(self) -> str:
        name = f"n{len(self._objects)}"
        self._objects[name] = None
        return name

    def _define(self, lines: Sequence[str], name: str | None = None) -> str:
        name = name or self._reserve()
        source = "".join(f"    {line}\n" for line in lines)
        exec(f"def {name}(x):\n{source}", self._objects)  # noqa: S102 - made of our own names and expressions only
        return name

    def _function(self, expression: str | None) -> Convert | None:
        if expression is None:
            return None
        made = self._objects.get(expression.removesuffix("(x)"))  # use the function itself, which saves a call
        if made is None:
            made = self._objects[self._define([f"return {expression}"])]
        found: Convert = made
        return found


def _is_optional(schema: Any) -> bool:
    return isinstance(schema, list) and len(others_than_null(schema)) < 2


def must_name_branches(schema: AvroSchema) -> bool:
    """Return whether fastavro must name branches, which costs a tenth of its time."""
    return any(needs_names(each, schema.names) for each in [schema.schema, *schema.names.values()])


def _changing_types(names: Mapping[str, Any], leaves: Leaves, *, has_unions: bool) -> set[str]:
    inner: dict[str, set[str]] = {}
    found: set[str] = set()
    for name, each in names.items():
        if "fields" in each:
            inner[name] = set()
            for field in each["fields"]:
                if _changes(field["type"], names, leaves, inner[name], has_unions):
                    found.add(name)
    while more := {name for name, others in inner.items() if name not in found and others & found}:
        found |= more
    return found


def _changes(schema: Any, names: Mapping[str, Any], leaves: Leaves, inner: set[str], has_unions: bool) -> bool:
    """Return whether a value is always converted, and add its records to `inner`."""
    if isinstance(schema, list):
        others = others_than_null(schema)
        is_named = len(others) > 1 or (has_unions and any(branch_name(each) in names for each in others))
        return any([is_named, *[_changes(each, names, leaves, inner, has_unions) for each in others]])
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in names or kind in NAMED:
        name = kind if kind in names else schema["name"]
        if "fields" in names[name]:
            inner.add(name)
            return leaves.record(name, is_top=False) is not None
        return leaves.leaf(names[name]["type"], names[name]) is not None
    if kind in ("array", "map"):
        part = schema["items" if kind == "array" else "values"]
        return any([_changes(part, names, leaves, inner, has_unions), leaves.leaf(kind, schema) is not None])
    return kind != "null" and leaves.leaf(kind, schema) is not None


_CLASSES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (bool, ("boolean",)),
    (int, ("long", "int", "double", "float")),
    (float, ("double", "float")),
    (bytes, ("bytes", "fixed")),
    (str, ("string", "bytes", "enum", "fixed")),  # default values of bytes are strings
    (list, ("array",)),
    (dict, ("map", "record", "error")),
)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, not {type(value).__name__}")
    return value


def _sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a JSON array, not {type(value).__name__}")
    return value
