"""What must be converted between fastavro's values and others, by the schema, as one function made for it.

`Leaves` say what becomes of a value of each type, and how the branches of a union are named. The function is made as
source: a record with fields to convert costs some 60 ns a field, where a walk by closures costs as much as fastavro's
reading itself. Nothing of a schema is in the source, its names are objects that the source refers to.
Shown by tests/unit/serdes/test_avro.py; benchmarks/bench_decode.py measures it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kctl.serdes.avro_schema import NAMED, AvroSchema, branch_name, has_branches, others_than_null

Convert = Callable[[Any], Any]
Leaf = Convert | str | None
"""A function; or Python's expression of `x`; or None: the value stays as it is."""


class Leaves(Protocol):
    """What becomes of values."""

    def leaf(self, kind: str, schema: Any) -> Leaf:
        """Return what converts a value of a type, those inside of it converted before; never of a record or null."""
        ...

    def record(self, name: str, *, is_top: bool) -> Leaf:
        """Return what converts a record at once, with all that is in it; None: field by field."""
        ...

    def union(self, branches: Mapping[str, Convert | None]) -> "Convert | dict[str, str]":
        """Return what converts a value of a union of several types besides null.

        Of a value that fastavro has read that is how an object names the branch, which is its only entry.

        Args: branches: what converts those of each branch, by its name.
        """
        ...


class Shape:
    """The conversion of values of a schema.

    Args:
        schema: by which they were read, or are to be written.
        copies: records may be of others, as defaults are, and are not changed in place.
        is_unchecked: values may be anything, as those that users write.
        is_part: of a larger schema with unions of several types, so that fastavro names branches in any case.
    Attributes:
        names_branches: whether fastavro must name the branches of unions.
        convert: what converts a value; None where nothing must be converted.
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
        self.names_branches = is_part or any_branches(schema)
        self._changing = _changing_types(schema.names, leaves, has_unions=self.names_branches)
        self._is_top = True
        self.convert = self._function(self._expression(schema.schema))

    def _expression(self, schema: Any) -> str | None:
        """Return the expression of `x` that converts a value; None where nothing must be."""
        is_top, self._is_top = self._is_top, self._is_top and _is_optional(schema)
        if isinstance(schema, list):
            return self._union(schema)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in self._names or kind in NAMED:
            return self._named(kind if kind in self._names else schema["name"], is_top=is_top)
        if kind == "null":
            return None
        leaf = self._named_leaf(self._leaves.leaf(kind, schema))
        if kind not in ("array", "map"):
            return leaf
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
            converts = {branch_name(each): self._function(self._expression(each)) for each in others}
            union = self._leaves.union(converts)
            return self._read_union(union, converts) if isinstance(union, dict) else f"{self._name(union)}(x)"
        inner = self._expression(others[0]) if others else None
        if self.names_branches and others and branch_name(others[0]) in self._names:
            unwrapped = "x if x.__class__ is not tuple else x[1]"
            made = f"return {unwrapped}" if inner is None else f"x = {unwrapped}; return {inner}"
            return f"None if x is None else {self._define([made])}(x)"
        return None if inner is None else f"(None if x is None else {inner})"

    def _read_union(self, keys: Mapping[str, str], converts: Mapping[str, Convert | None]) -> str:
        """Return the expression for a value whose branch fastavro names, or its class does."""
        of_class = {kind: next((each for each in names if each in keys), None) for kind, names in _CLASSES}
        by_class = {kind: (keys[name], converts[name]) for kind, name in of_class.items() if name is not None}
        if not any(converts.values()):
            key = self._name({kind: key for kind, (key, _) in by_class.items()})
            named = "{x[0]: x[1]}"
            if any(key != name for name, key in keys.items()):
                named = f"{{{self._name(keys)}[x[0]]: x[1]}}"
            return f"(None if x is None else {named} if x.__class__ is tuple else {{{key}[x.__class__]: x}})"
        known = self._name({name: (key, converts[name]) for name, key in keys.items()})
        lines = [
            "if x is None: return None",
            f"if x.__class__ is tuple: (k, f), x = {known}[x[0]], x[1]",
            f"else: k, f = {self._name(by_class)}[x.__class__]",
            "return {k: x if f is None else f(x)}",
        ]
        return f"{self._define(lines)}(x)"

    # --- source -----------------------------------------------------------------------------------------------------

    def _name(self, value: object) -> str:
        name = self._reserve()
        self._objects[name] = value
        return name

    def _reserve(self) -> str:
        name = f"n{len(self._objects)}"
        self._objects[name] = None
        return name

    def _define(self, lines: Sequence[str], name: str | None = None) -> str:
        """Define a function of `x`, and return its name."""
        name = name or self._reserve()
        source = "".join(f"    {line}\n" for line in lines)
        exec(f"def {name}(x):\n{source}", self._objects)  # noqa: S102 - made of our own names and expressions only
        return name

    def _function(self, expression: str | None) -> Convert | None:
        if expression is None:
            return None
        found: Convert = self._objects[self._define([f"return {expression}"])]
        return found


def _is_optional(schema: Any) -> bool:
    return isinstance(schema, list) and len(others_than_null(schema)) < 2


def any_branches(schema: AvroSchema) -> bool:
    """Return whether a schema has a union of several types besides null anywhere."""
    return any(has_branches(each) for each in [schema.schema, *schema.names.values()])


def _changing_types(names: Mapping[str, Any], leaves: Leaves, *, has_unions: bool) -> set[str]:
    """Return the names of the records that have something to convert, also in those that they have."""
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
    """Return whether a value is converted in any case; note the records in it."""
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
    (bytes, ("bytes",)),
    (str, ("string", "bytes")),  # bytes that are a default are a text
    (list, ("array",)),
    (dict, ("map",)),
)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"an object is expected, not {type(value).__name__}")
    return value


def _sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"an array is expected, not {type(value).__name__}")
    return value
